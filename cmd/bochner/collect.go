package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	limits "github.com/bochner-ml/bochner/internal/memory"
)

// A command that is over at once collects no garbage: until the first look at the heap there may be this much of it, in
// percent of the 4 MiB from which on Go collects.
const firstGarbage = 400

// lookAfter is the time between looks at the heap.
const lookAfter = 100 * time.Millisecond

// collectOften makes the garbage collector thrifty once the heap is large, as [memory.LargeHeap] says, and leaves it out at
// the start, unless GOGC says how often it is to run.
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
			if live[0].Value.Uint64() >= limits.LargeHeap {
				debug.SetGCPercent(limits.LargeGarbage)
				return
			}
		}
	}()
}
