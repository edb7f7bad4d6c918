//go:build !linux

package bench

import "time"

var started = time.Now()

// threadTime is wall time: the system does not tell a thread's own.
func threadTime() time.Duration { return time.Since(started) }
