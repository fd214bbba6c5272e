//go:build !unix

package effects

import "os/exec"

// inGroup: the command alone is ended.
func inGroup(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
