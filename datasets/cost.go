package datasets

// Coster is a spec that knows what it costs to fit it to rows of a shape, and to map them; planning uses
// it, and so does a fit, before it asks for memory.
type Coster interface {
	Cost(shape Shape) Cost
}

// Cost is an estimate of work. Times follow from its operations, and what is found out about times changes them: what a fit
// does must not depend on a small difference.
type Cost struct {
	Flops  float64 // floating-point operations
	Others float64 // those among them that are none of products of large matrices: numbers one by one, or waiting for memory; see [Pace]
	Alone  float64 // those among the others that one core makes while the others wait
	Bytes  int64   // memory held at once; of a step with the rows that come out, as far as they are held
	Width  int     // columns that come out of a transformer, -1 where nothing tells
	Guess  bool    // whether only fitting tells the width, and it is a guess
	Filled float64 // entries of a row that comes out that are not 0, where it is sparse; 0 where it is dense
	Again  bool    // of a step: whether making features again takes less than a fit gains that mostly reads them in single precision; see [Rounded]
	Each   float64 // flops of a prediction, where it is more than a product with the row for each output; of a step of mapping a row, where it is less than in the fit
	Said   float64 // flops of a prediction beside Each: of what wrappers make of what is said, and of the steps and models within
	Spoken float64 // those among them that are other work
	Passes int     // readings of the rows, but for a look at the first block; 0 for several, or where nothing tells

	// Of a fit that goes on until it is done only the fit tells how often it reads the rows. Iterated are those of the Flops
	// that depend on it, and Read the rows that they are taken to read, all readings together. Both are 0 where the rows are read
	// as often whatever they are, or where fits do not count. A fit reads Most times as many rows at most, 0 for any number.
	Iterated, Read, Most float64
}

// With returns the work of both, and the memory of what takes more.
func (c Cost) With(other Cost) Cost {
	c.Flops += other.Flops
	c.Others += other.Others
	c.Alone += other.Alone
	c.Iterated += other.Iterated
	c.Read += other.Read
	c.Most = max(c.Most, other.Most)
	c.Bytes = max(c.Bytes, other.Bytes)
	return c
}

// Times returns so many times the work, with the memory and the readings of one.
func (c Cost) Times(n float64) Cost {
	c.Flops *= n
	c.Others *= n
	c.Alone *= n
	c.Iterated *= n
	return c
}

// Oftener returns the work where the rows are read so many times as often as is usual.
func (c Cost) Oftener(times float64) Cost {
	if c.Iterated > 0 {
		more := (times - 1) * c.Iterated
		c.Flops += more
		c.Others += more * min(1, c.Others/c.Iterated)
		c.Alone += more * min(1, c.Alone/c.Iterated)
		c.Iterated *= times
		c.Read *= times
	}
	return c
}

// Pace is how fast a machine works: at products of large matrices, which its widest instructions make, and at all else, which
// they do not make faster. Other work counts as as many flops as products would be in its time where both paces are the same.
type Pace struct {
	Products, Others float64 // flops a second, of all cores
	Cores            int
}

// Seconds returns how long work takes.
func (p Pace) Seconds(c Cost) float64 {
	others := min(max(c.Others, c.Alone), c.Flops)
	return (c.Flops-others)/p.Products + (others+c.Alone*float64(p.Cores-1))/p.Others
}
