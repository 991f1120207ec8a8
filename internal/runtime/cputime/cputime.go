// Package cputime measures the CPU time of this process. Unlike wall time it
// excludes other programs.
package cputime

import "time"

// began is when the program did.
var began = time.Now()

// Time returns the CPU time of all threads of this process, or the time since its start if
// unavailable.
func Time() time.Duration {
	if used, ok := used(); ok {
		return used
	}
	return time.Since(began)
}
