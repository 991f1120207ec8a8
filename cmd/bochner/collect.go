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

// A command that is over at once collects no garbage: until the first look at the heap there may be this much of it, in
// percent of the 4 MiB from which on Go collects.
const firstGarbage = 400

// lookAfter is the time between looks at the heap.
const lookAfter = 100 * time.Millisecond

// collectOften makes the garbage collector thrifty once the heap is large, and leaves it out at the start, unless GOGC
// says how often it is to run.
func collectOften() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(firstGarbage)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		time.Sleep(lookAfter)
		debug.SetGCPercent(usual)
		for range time.Tick(lookAfter) {
			if metrics.Read(live); live[0].Value.Kind() != metrics.KindUint64 {
				return
			}
			if live[0].Value.Uint64() >= largeHeap {
				debug.SetGCPercent(largeGarbage)
				return
			}
		}
	}()
}
