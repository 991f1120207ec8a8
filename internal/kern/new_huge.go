package kern

// NewHuge returns n zeros for random access, in huge pages where available, which reduces TLB
// misses.
func NewHuge(n int) []float64 { return newScratch(max(n, 1)).words[:n] }
