//go:build !unix

package main

import "os"

// peakMiB is 0: the system does not report it.
func peakMiB(*os.ProcessState) float64 { return 0 }
