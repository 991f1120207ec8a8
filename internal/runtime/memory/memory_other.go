//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package memory

import "runtime"

// Peak returns the memory that the Go runtime has obtained from the system, which it rarely
// returns.
func Peak() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys)
}

// available is not known here.
func available() int64 { return 0 }
