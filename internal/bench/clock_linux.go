package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of the calling thread.
func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return time.Since(started)
	}
	return time.Duration(ts.Nano())
}

var started = time.Now()
