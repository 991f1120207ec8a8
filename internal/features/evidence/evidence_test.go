package evidence

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

func matrix(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		m.SetRow(i, r)
	}
	return m
}

func close(got, want, tol float64) bool { return math.Abs(got-want) <= tol*max(1, math.Abs(want)) }

// The evidence and its gradient against values that another program computed with the n×n matrix.
func TestGoldenEvidence(t *testing.T) {
	var in struct {
		X, Normal        [][]float64
		Y, Scales        []float64
		Noise, Amplitude float64
	}
	var want struct {
		NegativeLogEvidence float64 `json:"negative_log_evidence"`
		Gradient            []float64
	}
	golden.Load(t, "evidence_gradient", &in, &want)
	p := Problem{X: matrix(in.X), Y: mat.NewDense(len(in.Y), 1, in.Y), Frequencies: mat.DenseCopyOf(matrix(in.Normal).T())}
	var point []float64
	for _, s := range append(in.Scales, in.Noise, in.Amplitude) {
		point = append(point, math.Log(s))
	}
	gradient := make([]float64, len(point))
	value, err := New[float64](p).At(context.Background(), point, gradient)
	if err != nil || !close(value, want.NegativeLogEvidence, 1e-9) {
		t.Errorf("evidence %v (%v), want %v", value, err, want.NegativeLogEvidence)
	}
	for j, g := range gradient {
		if !close(g, want.Gradient[j], 1e-6) {
			t.Errorf("derivative %d is %v, want %v", j, g, want.Gradient[j])
		}
	}
	value, err = New[float32](p).At(context.Background(), point, gradient)
	if err != nil || !close(value, want.NegativeLogEvidence, 1e-4) {
		t.Errorf("evidence in single precision %v (%v), want %v", value, err, want.NegativeLogEvidence)
	}
	for j, g := range gradient {
		if !close(g, want.Gradient[j], 1e-3) {
			t.Errorf("derivative %d in single precision is %v, want %v", j, g, want.Gradient[j])
		}
	}
}

// drawn returns a problem of n rows, d inputs, m frequencies and q outputs.
func drawn(seed uint64, n, d, m, q int) (Problem, []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	normal := func(r, c int) *mat.Dense {
		out := mat.NewDense(r, c, nil)
		for i := range r {
			for j := range c {
				out.Set(i, j, rng.NormFloat64())
			}
		}
		return out
	}
	p := Problem{X: normal(n, d), Y: normal(n, q), Frequencies: normal(d, m)}
	point := make([]float64, d+2)
	for j := range point {
		point[j] = 0.5 * rng.NormFloat64()
	}
	return p, point
}

// TestGradientAgainstDifferences checks that the gradient equals finite differences, for both
// objectives, dense and sparse rows, shared scales, more and fewer rows than features.
func TestGradientAgainstDifferences(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(p *Problem){
		"evidence":       func(*Problem) {},
		"leave-one-out":  func(p *Problem) { p.LeaveOneOut = true },
		"sparse":         func(p *Problem) { p.X = matrices.CSRFromDense(p.X.(*mat.Dense)) },
		"sparse, shared": func(p *Problem) { p.X, p.LeaveOneOut = matrices.CSRFromDense(p.X.(*mat.Dense)), true },
		"groups":         func(p *Problem) { p.Group = []int{1, 0, 1, 2, 3, 3} },
	} {
		for _, n := range []int{15, 90} {
			p, point := drawn(7, n, 6, 12, 2)
			change(&p)
			point = point[:p.Scales()+2]
			o := New[float64](p)
			gradient, other := make([]float64, len(point)), make([]float64, len(point))
			if _, err := o.At(ctx, point, gradient); err != nil {
				t.Fatal(err)
			}
			at := func(j int, step float64) float64 {
				moved := append([]float64{}, point...)
				moved[j] += step
				v, err := o.At(ctx, moved, other)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			const h = 1e-3
			for j, g := range gradient {
				want := (8*(at(j, h)-at(j, -h)) - (at(j, 2*h) - at(j, -2*h))) / (12 * h)
				if !close(g, want, 1e-7) {
					t.Errorf("%s, %d rows: derivative %d is %v, by differences %v", name, n, j, g, want)
				}
			}
		}
	}
}

// In single precision value and gradient are those of double precision, with little noise and smooth features too,
// where K is near to singular.
func TestSinglePrecision(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{90, 500} {
		for _, leaveOneOut := range []bool{false, true} {
			p, point := drawn(11, n, 4, 60, 2)
			p.LeaveOneOut = leaveOneOut
			for i := range n { // targets that can be learned
				x := p.X.(*mat.Dense).RawRowView(i)
				p.Y.SetRow(i, []float64{math.Sin(x[0]) + 0.03*p.Y.At(i, 0), x[1]*x[2] + 0.03*p.Y.At(i, 1)})
			}
			copy(point, []float64{-1, -1, -1.5, -2, math.Log(1e-3), 0})
			gradient, want := make([]float64, len(point)), make([]float64, len(point))
			value, err := New[float32](p).At(ctx, point, gradient)
			if err != nil {
				t.Fatal(err)
			}
			exact, err := New[float64](p).At(ctx, point, want)
			if err != nil {
				t.Fatal(err)
			}
			length, off := 0.0, 0.0
			for j, g := range want {
				length, off = math.Hypot(length, g), math.Hypot(off, g-gradient[j])
			}
			t.Logf("%d rows, leave-one-out %v: value %v off by %.2g, gradient of length %v by %.2g", n, leaveOneOut, exact,
				value-exact, length, off)
			if math.Abs(value-exact) > 5e-3*math.Abs(exact) || off > 3e-2*length {
				t.Errorf("%d rows, leave-one-out %v: value %v, want %v; gradient %v, want %v", n, leaveOneOut, value, exact,
					gradient, want)
			}
		}
	}
}

// Large systems are inverted by halves; the inverse is checked by a product.
func TestInvertLower(t *testing.T) {
	const n = 131
	rng := rand.New(rand.NewPCG(1, 2))
	l, inverse, squared := newMatrix[float64](n, n), newMatrix[float64](n, n), newMatrix[float64](n, n)
	for i := range n {
		for j := range n {
			l.Set(i, j, rng.NormFloat64()/n) // the upper triangle is not used
			inverse.Set(i, j, math.NaN())
		}
		l.Set(i, i, 1+rng.Float64())
	}
	if err := invertLower(context.Background(), inverse, l); err != nil {
		t.Fatal(err)
	}
	if err := squareLower(context.Background(), squared, inverse); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			sum, want := 0.0, 0.0
			for k := range n {
				want += inverse.At(k, i) * inverse.At(k, j)
			}
			if !close(squared.At(i, j), want, 1e-12) {
				t.Fatalf("entry (%d, %d) of the square is %v, want %v", i, j, squared.At(i, j), want)
			}
			want = 0
			for k := range i + 1 {
				sum += l.At(i, k) * inverse.At(k, j)
			}
			if i == j {
				want = 1
			}
			if !close(sum, want, 1e-12) {
				t.Fatalf("entry (%d, %d) of the product is %v", i, j, sum)
			}
		}
	}
}
