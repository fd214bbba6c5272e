//go:build !unix

package worker

import "os/exec"

func newProcess(Config, string, *ring) (member, error) { return nil, ErrNotUnix }

// inGroup: the command alone is ended.
func inGroup(*exec.Cmd) {}
