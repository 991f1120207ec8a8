//go:build !unix

package main

import "os"

// peakMiB is 0: the system does not tell.
func peakMiB(*os.ProcessState) float64 { return 0 }
