//go:build !unix

package main

import "time"

var start = time.Now()

// processor returns the wall time since the start, because CPU time is not available.
func processor() time.Duration { return time.Since(start) }
