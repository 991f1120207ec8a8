package kern

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pairProblem returns a gradient with ties and bounds, and two kernel rows.
func pairProblem(n int) (grad, up, down []float64, a, b []float32) {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	for range n {
		grad = append(grad, float64(rng.IntN(9)-4)/4)
		up = append(up, []float64{0.1, -0.1, math.Inf(1)}[rng.IntN(3)])
		down = append(down, []float64{0.1, -0.1, math.Inf(-1)}[rng.IntN(3)])
		a, b = append(a, float32(rng.IntN(5))/4), append(b, float32(rng.IntN(5))/4)
	}
	return grad, up, down, a, b
}

func TestPairsEqualThePlainLoops(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for n := range 70 {
			grad, up, down, a, b := pairProblem(n)
			got := slices.Clone(grad)
			at, least := PairStep(got, up, a, b, 0.5)
			wantAt, want := 0, math.Inf(1)
			for k := range grad {
				grad[k] += 0.5 * float64(a[k]-b[k])
				if u := grad[k] + up[k]; u < want {
					wantAt, want = k, u
				}
			}
			if !slices.Equal(got, grad) || at != wantAt || least != want {
				t.Fatalf("%d rows: step returns %d, %v, want %d, %v", n, at, least, wantAt, want)
			}
			const floor = 0.125
			for i, least := range []float64{least, 0, 5, least, 0, 5} {
				diagonal, own := [][]float32{nil, b}[i/3], float32(1+i)
				at, most := PairGain(grad, down, a, diagonal, own, least, floor)
				wantAt, wantMost, best := -1, 0.0, float32(0)
				for k := range grad {
					d := grad[k] + down[k] - least
					wantMost = max(wantMost, d)
					c := float32(2)
					if diagonal != nil {
						c = own + diagonal[k]
					}
					if gain := float32(d) * float32(d) / max(c-2*a[k], floor*c); d > 0 && gain > best {
						wantAt, best = k, gain
					}
				}
				if at != wantAt || most != wantMost {
					t.Fatalf("%d rows: gain returns %d, %v, want %d, %v", n, at, most, wantAt, wantMost)
				}
			}
		}
	})
}

func BenchmarkPairStep(b *testing.B) {
	grad, up, _, x, y := pairProblem(1024)
	for b.Loop() {
		PairStep(grad, up, x, y, 0)
	}
}

func BenchmarkPairGain(b *testing.B) {
	grad, _, down, x, _ := pairProblem(1024)
	for b.Loop() {
		PairGain(grad, down, x, nil, 1, -1, 0x1p-23)
	}
}
