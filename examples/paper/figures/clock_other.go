//go:build !unix

package main

import "time"

var start = time.Now()

// processor is the time since the start, where the system is not asked for more.
func processor() time.Duration { return time.Since(start) }
