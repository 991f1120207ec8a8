//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakMiB returns the most memory that a process which has ended held at once.
func peakMiB(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(usage.Maxrss) / (1 << 20) // bytes there, kilobytes elsewhere
	}
	return float64(usage.Maxrss) / (1 << 10)
}
