package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// From largeHeap on, garbage may be a quarter of what is in use and no longer as much again. What
// fills a large heap here is numbers, which the collector does not look into, so that collecting more
// often takes little time.
const (
	largeHeap    = 256 << 20
	largeGarbage = 25 // percent
)

// collectOften makes the garbage collector thrifty once the heap is large, unless GOGC says how often
// it is to run.
func collectOften() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for range time.Tick(100 * time.Millisecond) {
		if metrics.Read(live); live[0].Value.Kind() != metrics.KindUint64 {
			return
		}
		if live[0].Value.Uint64() >= largeHeap {
			debug.SetGCPercent(largeGarbage)
			return
		}
	}
}
