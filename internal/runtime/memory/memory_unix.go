//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package memory

import (
	"runtime"
	"syscall"
)

// Peak returns the peak resident memory of the process, in bytes.
func Peak() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // ru_maxrss is in bytes on Darwin, in KiB elsewhere
	}
	return int64(usage.Maxrss) << 10
}

// available is not known here.
func available() int64 { return 0 }
