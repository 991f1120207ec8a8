package datasets

// CostEstimator is a spec that estimates the cost of a fit to rows of the given shape. Plans and
// checks of memory use it.
type CostEstimator interface {
	Cost(shape Shape) Cost
}

// Cost is an estimated cost. A fit must not branch on small differences of Flops.
type Cost struct {
	Flops          float64 // approximate floating-point operations
	Bytes          int64   // peak memory; of a step including its output rows that are stored
	OutputWidth    int     // columns of the output of a transformer; -1 if unknown
	WidthEstimated bool    // whether OutputWidth is an estimate
	NonZeros       float64 // nonzeros per row of a sparse output; 0 for a dense output
	// whether recomputing the features of a step costs less than a fit saves that reads them in
	// float32; see [Float32Source]
	CheapToRecompute bool
	Float32          bool // whether the fit reads mostly the float32 rows of a [Float32Source], without loss of accuracy
	Passes           int  // passes over the rows, excluding the first block; 0 if several or unknown
}

// Add returns the sum of the operations and the maximum of the memory.
func (c Cost) Add(other Cost) Cost {
	c.Flops += other.Flops
	c.Bytes = max(c.Bytes, other.Bytes)
	return c
}

// Scale returns c with n times the operations and the same memory.
func (c Cost) Scale(n float64) Cost {
	c.Flops *= n
	return c
}
