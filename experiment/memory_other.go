//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package experiment

import "runtime"

// peakMemory returns what the Go runtime has obtained from the system, which it seldom gives back.
func peakMemory() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys)
}

// availableMemory is not known here.
func availableMemory() int64 { return 0 }
