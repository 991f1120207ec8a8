package datasets

// CostEstimator is a spec that knows what it costs to fit it to rows of a shape, and to map them; planning uses
// it, and so does a fit, before it asks for memory.
type CostEstimator interface {
	Cost(shape Shape) Cost
}

// Cost is what a fit takes. What a fit does must not depend on a small difference of operations.
type Cost struct {
	Flops            float64 // floating-point operations, about
	Bytes            int64   // memory held at once; of a step with the rows that come out, as far as they are held
	OutputWidth      int     // columns that come out of a transformer, -1 where nothing tells
	WidthEstimated   bool    // whether only fitting tells the width, and it is a guess
	NonZeros         float64 // entries of a row that comes out that are not 0, where it is sparse; 0 where it is dense
	CheapToRecompute bool    // of a step: whether making features again takes less than a fit gains that mostly reads them in single precision; see [Float32Source]
	Passes           int     // readings of the rows, but for a look at the first block; 0 for several, or where nothing tells
}

// Add returns the work of both, and the memory of what takes more.
func (c Cost) Add(other Cost) Cost {
	c.Flops += other.Flops
	c.Bytes = max(c.Bytes, other.Bytes)
	return c
}

// Scale returns so many times the work, with the memory of one.
func (c Cost) Scale(n float64) Cost {
	c.Flops *= n
	return c
}
