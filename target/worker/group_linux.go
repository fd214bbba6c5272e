package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// extinct says whether nobody of a group runs any more. Zombies do not count: in a
// container whose first process does not reap them they stay for ever.
func extinct(group int) bool {
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return true
	}
	return everyThread(group, "ZX")
}

// standsStill says whether every thread of a group has stopped, or is dead. The
// signal alone stops nobody: a thread on another processor goes on for a moment.
func standsStill(group int) bool { return everyThread(group, "TtZX") }

// everyThread says whether each thread of a group is in one of the states, which
// are letters of proc(5).
func everyThread(group int, states string) bool {
	leaders, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range leaders {
		state, of, ok := readStat(path)
		if !ok || of != group {
			continue
		}
		if !strings.Contains(states, state) {
			return false
		}
		threads, _ := filepath.Glob(filepath.Dir(path) + "/task/[0-9]*/stat")
		for _, path := range threads {
			if state, _, ok := readStat(path); ok && !strings.Contains(states, state) {
				return false
			}
		}
	}
	return true
}

// readStat takes state and process group from "PID (NAME) STATE PPID GROUP …"; the
// name may hold anything. ok is false if the process has gone meanwhile.
func readStat(path string) (state string, group int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 3 {
		return "", 0, false
	}
	group, err = strconv.Atoi(fields[2])
	return fields[0], group, err == nil
}
