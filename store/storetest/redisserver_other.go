//go:build !linux

package storetest

import "syscall"

// dieWithParent: this system cannot be asked to; servers end with their tests.
func dieWithParent() *syscall.SysProcAttr { return nil }
