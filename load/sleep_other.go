//go:build !linux

package load

import "time"

// doze is how long before its time a request is waited for by looking at the clock.
const doze = 200 * time.Microsecond

func nap(d time.Duration) { time.Sleep(d) }
