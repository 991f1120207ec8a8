package kern

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// TestLeaveOneOut checks that integrals equal those of plain products, for all numbers of factors
// and nodes.
func TestLeaveOneOut(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, n := range []int{0, 1, 2, 3, 9} {
			for count := range 9 {
				testLeaveOneOut(t, rng, n, count)
			}
		}
	})
}

func testLeaveOneOut(t *testing.T, rng *rand.Rand, n, count int) {
	w := NewLeaveOneOut(n)
	x, z, p, q := make([]BlockPair, 2*n+1), make([]BlockPair, 2*n+1), make([]Block, 2*n+1), make([]Block, 2*n+1)
	for r := range x {
		for k := range blockLanes {
			x[r].A[k], x[r].B[k] = math.Sincos(rng.NormFloat64())
			z[r].A[k], z[r].B[k] = math.Sincos(rng.NormFloat64())
			p[r][k], q[r][k] = rng.NormFloat64(), rng.NormFloat64()
		}
	}
	var rows []int
	for l := range n {
		rows = append(rows, 2*l+rng.IntN(2))
	}
	var scale Block
	var nodes []Node
	for k := range scale {
		scale[k] = rng.NormFloat64()
	}
	for range count {
		nodes = append(nodes, Node{rng.Float64(), rng.NormFloat64()})
	}
	for _, rotations := range []bool{true, false} {
		sums := make([]Block, 2*n+1)
		factor := make([]BlockPair, n)
		for l, r := range rows {
			for k := range blockLanes {
				factor[l].A[k], factor[l].B[k] = (p[r][k]+q[r][k])/2, (p[r][k]-q[r][k])/2
				if rotations {
					f := complex(x[r].B[k], x[r].A[k]) * cmplx.Conj(complex(z[r].B[k], z[r].A[k]))
					factor[l].A[k], factor[l].B[k] = real(f), imag(f)
				}
			}
		}
		if rotations {
			squares, sum, largest := w.RotationFactors(rows, x, z)
			for k := range blockLanes {
				var wantSquares, wantSum, wantLargest float64
				for l := range factor {
					s, sine := factor[l].B[k], 2*factor[l].A[k]*factor[l].B[k]
					wantSquares, wantSum, wantLargest = wantSquares+s*s, wantSum+sine, max(wantLargest, math.Abs(sine))
				}
				if math.Abs(squares[k]-wantSquares)+math.Abs(sum[k]-wantSum)+math.Abs(largest[k]-wantLargest) > 1e-13 {
					t.Fatalf("%d factors: sums %v, %v, %v, want %v, %v, %v", n, squares[k], sum[k], largest[k], wantSquares,
						wantSum, wantLargest)
				}
			}
			w.Rotations(nodes)
		} else {
			w.ProductFactors(rows, p, q)
			for k, got := range w.SumRatios() {
				want := 0.0
				for l := range factor {
					want += math.Abs(factor[l].B[k]) / (math.Abs(factor[l].A[k]) + math.Abs(factor[l].B[k]))
				}
				if math.Abs(got-want) > 1e-13*float64(n) {
					t.Fatalf("%d factors: sum of ratios %v, want %v", n, got, want)
				}
			}
			w.Products(nodes)
		}
		w.AddScaled(sums, rows, &scale)
		for l, r := range rows {
			for k := range blockLanes {
				want := complex(0, 0)
				for _, node := range nodes {
					product := complex(node.Weight, 0)
					for m := range factor {
						b := complex(node.At*factor[m].B[k], 0)
						if rotations {
							b *= 1i
						}
						if m != l {
							product *= complex(factor[m].A[k], 0) + b
						}
					}
					want += product
				}
				if got, want := sums[r][k], scale[k]*factor[l].B[k]*real(want); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
					t.Fatalf("%d factors, %d nodes, rotations %t: %v, want %v", n, count, rotations, got, want)
				}
				sums[r][k] = 0
			}
		}
		for r := range sums {
			if sums[r] != (Block{}) {
				t.Fatal("written to other rows")
			}
		}
		if rotations {
			w.RotationPairs(nodes)
		} else {
			w.ProductPairs(nodes)
		}
		d := 2*n + 1
		pairs := make([]Block, d*d)
		w.AddScaledPairs(pairs, rows, d, &scale)
		for l, r := range rows {
			for m := l + 1; m < n; m++ {
				got := &pairs[r*d+rows[m]]
				for k := range blockLanes {
					want := 0.0
					for _, node := range nodes {
						product := complex(node.Weight, 0)
						for j := range factor {
							b := complex(node.At*factor[j].B[k], 0)
							if rotations {
								b *= 1i
							}
							if j != l && j != m {
								product *= complex(factor[j].A[k], 0) + b
							}
						}
						want += scale[k] * factor[l].B[k] * factor[m].B[k] * real(product)
					}
					if math.Abs(got[k]-want) > 1e-12*(1+math.Abs(want)) {
						t.Fatalf("%d factors, %d nodes, rotations %t, pair %d, %d: %v, want %v", n, count, rotations, l, m, got[k],
							want)
					}
					got[k] = 0
				}
			}
		}
		for r := range pairs {
			if pairs[r] != (Block{}) {
				t.Fatal("written to other pairs")
			}
		}
	}
}
