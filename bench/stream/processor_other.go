//go:build !unix

package main

// cpuSeconds is not implemented here and returns 0.
func cpuSeconds() float64 { return 0 }
