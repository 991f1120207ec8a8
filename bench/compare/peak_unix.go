//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakMiB returns the peak memory of a finished process in MiB.
func peakMiB(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(usage.Maxrss) / (1 << 20) // ru_maxrss is in bytes on Darwin, in KiB elsewhere
	}
	return float64(usage.Maxrss) / (1 << 10)
}
