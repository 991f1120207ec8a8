//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package memory

import (
	"runtime"
	"syscall"
)

// Peak returns the most memory that the process has held at once, in bytes.
func Peak() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(usage.Maxrss) << 10
}

// available is not known here.
func available() int64 { return 0 }
