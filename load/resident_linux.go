package load

import (
	"os"
	"strconv"
	"strings"
)

// resident is the bytes of memory that this process has, 0 if that cannot be read.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
