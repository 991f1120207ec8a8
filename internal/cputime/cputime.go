// Package cputime is the clock of benchmarks: how long the processors have worked for this program. Unlike the time on the
// wall it does not count what other programs on a busy machine take.
package cputime

import "time"

// began is when the program did.
var began = time.Now()

// Time is the processor time of this process, in all its threads, and the time since its start where the system does not
// tell it.
func Time() time.Duration {
	if used, ok := used(); ok {
		return used
	}
	return time.Since(began)
}
