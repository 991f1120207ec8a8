package command

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	limits "github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Short commands skip garbage collection: until the first check, the heap may grow by this
// percentage of the 4 MiB at which Go starts to collect.
const firstGarbage = 400

// lookAfter is the interval between checks of the heap.
const lookAfter = 100 * time.Millisecond

// collectOften lowers GOGC once the heap is large ([memory.LargeHeap]), and disables collection at
// the start, unless GOGC is set.
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
