//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package experiment

import (
	"runtime"
	"syscall"
)

// peakMemory returns the most memory that the process has held at once, in bytes.
func peakMemory() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(usage.Maxrss) << 10
}

// availableMemory is not known here.
func availableMemory() int64 { return 0 }
