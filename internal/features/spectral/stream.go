package spectral

import "math/rand/v2"

// Purpose identifies a stream of random numbers. Each use has its own stream, so that additional
// draws in one do not affect another.
type Purpose uint64

// Random number streams.
const (
	Frequencies Purpose = iota + 1
	Phases
	Grids
	Hash
	SampledRows
	Spreads
	Landmarks
	Pivots
	RowOrders // of stochastic gradient descent
	Centers
	Minibatches
	Vectors
	HeldOut
	Functions
	Sketches
)

// Streams of dependent draws. The gap leaves space for more streams above.
const (
	Scrambling Purpose = iota + 1001
	Signs
)

// Stream is a random generator that can be moved to substream i of a purpose. Draw i therefore does
// not depend on the number of draws or on the core that makes it.
type Stream struct {
	*rand.Rand
	source *rand.PCG
}

// NewStream returns a generator; call At before use.
func NewStream() Stream {
	source := new(rand.PCG)
	return Stream{rand.New(source), source}
}

// At moves the generator to the start of substream i of purpose p under seed.
func (s Stream) At(seed uint64, p Purpose, i int) {
	a := Scramble(seed + 0x9e3779b97f4a7c15*uint64(p))
	s.source.Seed(a, Scramble(a+0xd1342543de82ef95*uint64(i+1)))
}

// Scramble is the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection in which
// every bit of the result depends on every bit of z.
func Scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
