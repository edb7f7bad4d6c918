//go:build linux

package kernel

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Burst writes n frames to a device of the session, again from the first after the
// last, and returns the CPU time that this took: all that the kernel does with a
// frame up to the end of its trip happens within the write. Nothing is traced on
// devices other than the session's own.
func (s *Session) Burst(device string, frames [][]byte, n int) (time.Duration, error) {
	d := s.devs[device]
	if d == nil {
		return 0, fmt.Errorf("kernel: no device %q", device)
	}
	if len(frames) == 0 {
		return 0, fmt.Errorf("kernel: no frames")
	}
	start := threadTime()
	for i, at := 0, 0; i < n; i++ {
		f := frames[at]
		if at++; at == len(frames) {
			at = 0
		}
		_, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(d.fd), uintptr(unsafe.Pointer(unsafe.SliceData(f))), uintptr(len(f)))
		if e != 0 {
			return 0, fmt.Errorf("%w: %w", errRefused, e)
		}
	}
	return threadTime() - start, nil
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
