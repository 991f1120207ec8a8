//go:build unix

package bench_test

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process. Unlike the time on the clock it does not count what other programs
// on a busy machine take.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
