package bins

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// sets calls f with every set of size inputs and the product of weights over it.
func sets(weights []float64, size int, f func(set []int, product float64)) {
	for mask := range uint(1) << len(weights) {
		if bits.OnesCount(mask) != size {
			continue
		}
		var set []int
		product := 1.0
		for j, w := range weights {
			if mask>>j&1 == 1 {
				set, product = append(set, j), product*w
			}
		}
		f(set, product)
	}
}

// Means and draws against the sum over all sets.
func TestSubsetsAgainstAllSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, weights := range [][]float64{{1, 1, 1, 1, 1}, {3, 0.2, 1, 1e-3, 2, 0.7}, {1, 0, 2, 0, 5},
		{1e-200, 1e200, 3, 1}} {
		for k := 1; k < len(weights); k++ {
			s := NewSubsets(weights, k)
			values := make([]float64, len(weights))
			for j := range values {
				values[j] = rng.Float64()
			}
			total, mean := 0.0, 0.0
			chance := map[string]float64{}
			sets(weights, s.Size(), func(set []int, product float64) {
				total += product
				v := product
				for _, j := range set {
					v *= values[j]
				}
				mean += v
				chance[fmt.Sprint(set)] = product
			})
			if got := s.Mean(values); math.Abs(got-mean/total) > 1e-12 {
				t.Errorf("weights %v, k=%d: mean %v, want %v", weights, k, got, mean/total)
			}
			const times = 20_000
			table, err := s.draws()
			if err != nil {
				t.Fatal(err)
			}
			count, set := map[string]int{}, make([]int, s.Size())
			for range times {
				table.set(rng, set)
				count[fmt.Sprint(set)]++
			}
			for text, w := range chance {
				p := w / total
				if got := float64(count[text]) / times; math.Abs(got-p) > 4.5*math.Sqrt(p*(1-p)/times)+1e-9 {
					t.Errorf("weights %v, k=%d: set %s is drawn with a frequency of %v, want %v", weights, k, text, got, p)
				}
				delete(count, text)
			}
			if len(count) > 0 {
				t.Errorf("weights %v, k=%d: %v are drawn", weights, k, count)
			}
		}
	}
}

// TestSubsetsAtTheirEnds checks that inputs of weight 0 are excluded, unless all are, and that sets
// of all inputs and of one input work.
func TestSubsetsAtTheirEnds(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		k, size int
	}{{[]float64{0, 0, 0}, 2, 2}, {[]float64{1, 0, 0, 1}, 3, 2}, {[]float64{5, 5}, 2, 2},
		{make([]float64, 3000), 1500, 1500}} {
		s := NewSubsets(c.weights, c.k)
		if s.Size() != c.size {
			t.Errorf("sets of %d of the weights %v have %d inputs, want %d", c.k, c.weights, s.Size(), c.size)
		}
		ones := make([]float64, len(c.weights))
		for j := range ones {
			ones[j] = 1
		}
		if got := s.Mean(ones); got != 1 {
			t.Errorf("the mean of 1 is %v", got)
		}
		set := make([]int, c.size)
		table, err := s.draws()
		if err != nil {
			t.Fatal(err)
		}
		table.set(rand.New(rand.NewPCG(1, 1)), set)
		for k, j := range set {
			if k > 0 && j <= set[k-1] || s.Weights()[j] == 0 {
				t.Errorf("set %v", set)
				break
			}
		}
	}
}
