//go:build !linux

package load

// resident is not known here.
func resident() int64 { return 0 }
