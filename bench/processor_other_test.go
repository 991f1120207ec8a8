//go:build !unix

package bench_test

import "time"

var began = time.Now()

// processorTime is the time on the clock, where there is no better one.
func processorTime() time.Duration { return time.Since(began) }
