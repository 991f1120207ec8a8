package cputime

import (
	"testing"
	"time"
)

func TestWorkTakesProcessorTime(t *testing.T) {
	start, x := Time(), 1.0
	for at := time.Now(); time.Since(at) < 20*time.Millisecond; {
		for range 1000 {
			x = x*1.0000001 + 1e-9
		}
	}
	if x <= 1 || Time() <= start {
		t.Fatalf("from %v to %v", start, Time())
	}
}
