package memory

import (
	"math"
	"os"
	"strconv"
)

// From LargeHeap on, garbage is limited to LargeGarbage percent of live memory instead of 100
// percent. Large heaps consist of numeric arrays, which the collector does not scan, so more
// frequent collections are cheap.
const (
	LargeHeap    = 256 << 20
	LargeGarbage = 25
)

// program is the memory of the command without its data.
const program = 35 << 20

// Most returns an upper bound of the memory of a command whose data take the given bytes: with the
// program itself and uncollected garbage, by GOGC if it is set.
func Most(bytes int64) int64 {
	live := float64(bytes)
	most := max(2*min(live, LargeHeap), live*(1+LargeGarbage/100.0))
	switch percent, err := strconv.Atoi(os.Getenv("GOGC")); {
	case err == nil && percent >= 0:
		most = live * (1 + float64(percent)/100)
	case os.Getenv("GOGC") == "off":
		return math.MaxInt64
	}
	return int64(min(most+program, math.MaxInt64/2))
}
