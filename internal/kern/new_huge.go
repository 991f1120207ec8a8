package kern

// NewHuge returns n zeros that are to be read in no order: in huge pages where the system has them,
// so that finding an address takes no longer than finding what is there.
func NewHuge(n int) []float64 { return newScratch(max(n, 1)).words[:n] }
