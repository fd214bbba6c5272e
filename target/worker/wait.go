package worker

import "time"

const (
	// endsWithin is far more than the kernel needs to end, stop or clear away a
	// group, unless a process hangs in a driver.
	endsWithin = 5 * time.Second
	// lookEvery is the pause between two looks.
	lookEvery = 2 * time.Millisecond
)

// within looks until something is so, and returns whether it came to be in time.
func within(d time.Duration, so func() bool) bool {
	for late := time.Now().Add(d); !so(); time.Sleep(lookEvery) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}
