package transformer

import "math/rand/v2"

// purpose names a stream of random numbers; each has its own, so that adding draws to one does not
// change another.
type purpose uint64

const (
	drawFrequencies purpose = iota + 1
	drawPhases
	drawGrids
	drawHash
	sampleRows
	drawSpreads
)

// stream is a random generator that can be put at the beginning of substream i of a purpose: draw i
// does not depend on how many are made, nor on which core makes it.
type stream struct {
	*rand.Rand
	source *rand.PCG
}

func newStream() stream {
	source := new(rand.PCG)
	return stream{rand.New(source), source}
}

// at puts the generator at the beginning of substream i of purpose p under seed.
func (s stream) at(seed uint64, p purpose, i int) {
	a := scramble(seed + 0x9e3779b97f4a7c15*uint64(p))
	s.source.Seed(a, scramble(a+0xd1342543de82ef95*uint64(i+1)))
}

// scramble is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection in which
// every bit of the result depends on every bit of z.
func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
