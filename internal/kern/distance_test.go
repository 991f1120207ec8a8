package kern

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDistances checks that distances equal those of plain loops, for shapes around the edges of
// tiles.
func TestDistances(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		testDistances[float64](t, 1e-13)
		testDistances[float32](t, 1e-5)
	})
}

func testDistances[T Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range []int{1, 3, 4, 7, 8, 9, 17} {
		for _, n := range []int{1, 8, 15, 16, 17, 23, 24, 47, 48, 49, 100} {
			for _, d := range []int{0, 1, 2, 5, 33} {
				fill := func(rows int) View[T] {
					v := Dense(rows, d, d+rng.IntN(2), make([]T, rows*(d+1)))
					for i := range v.Data {
						v.Data[i] = T(rng.NormFloat64())
					}
					return v
				}
				a, b := fill(m), fill(n)
				c := Dense(m, n, n+2, make([]T, m*(n+2)))
				for _, products := range []bool{false, true} {
					if differences(c, a, b, products); products {
						CauchyReciprocals(c, a, b)
					}
					for i := range m {
						for j := range n {
							sum, product := 0.0, 1.0
							for k := range d {
								x := float64(a.At(i, k)) - float64(b.At(j, k))
								sum += math.Abs(x)
								product *= 1 + x*x
							}
							want := sum
							if products {
								want = product
							}
							if got := float64(c.At(i, j)); math.Abs(got-want) > tolerance*(1+want) {
								t.Fatalf("%T %d×%d of %d, products %t: (%d, %d) is %v, want %v", c.Data[0], m, n, d, products, i, j, got, want)
							}
						}
						if c.Data[i*(n+2)+n] != 0 && i < m-1 {
							t.Fatal("written beyond the row")
						}
					}
				}
			}
		}
	}
}

// Squared distances and roots are the plain loops to the bit.
func TestSquaredDistances(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		testSquares[float64](t)
		testSquares[float32](t)
	})
}

func testSquares[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	for n := range 70 {
		norms, row, roots := make([]T, n), make([]T, n), make([]T, n)
		for near := range 2 * n {
			want, canceled := make([]T, n), false
			for j := range n {
				norms[j], row[j] = T(1+rng.Float64()), T(rng.Float64()-0.5)
				if j == near {
					row[j] = (3 + norms[j]) / 2 * (1 - 1e-5)
				}
				want[j] = (3 + norms[j]) - 2*row[j]
				canceled = canceled || want[j] < 1e-3*(3+norms[j])
			}
			got := SquaredDistances(row, 3, norms, 1e-3)
			if got != canceled || got != (near < n) {
				t.Fatalf("n %d: canceled is %t with element %d", n, got, near)
			}
			NegSqrt(roots, 2, row)
			for j, v := range row {
				if v != want[j] || roots[j] != -T(math.Sqrt(float64(2*max(v, 0)))) && v >= 0 {
					t.Fatalf("n %d: element %d is %v, its root %v, want %v", n, j, v, roots[j], want[j])
				}
			}
		}
	}
}
