package load

import (
	"runtime"
	"syscall"
	"time"
)

// doze is the kernel's own slack with a sleep: a thread is woken up to so much after
// its time.
const doze = 60 * time.Microsecond

// nap sleeps for a short time, exactly: a Go timer is up to a millisecond late, since
// the poller that waits for it counts in milliseconds. Who runs on this processor goes
// first. Spinning would be exact too, but takes the time from the target, and whoever
// spins is whom a busy machine makes wait.
func nap(d time.Duration) {
	runtime.Gosched()
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
