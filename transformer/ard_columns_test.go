package transformer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// mixedRows returns rows of five numbers and five one-hot encoded categories, of which the first number
// and the first category matter. With classes the targets are two classes.
func mixedRows(t *testing.T, n int, classes bool) datasets.Set {
	rng := rand.New(rand.NewPCG(6, 3))
	const numbers, categories, levels = 5, 5, 4
	X, y := mat.NewDense(n, numbers+categories, nil), make([]float64, n)
	in := datasets.Schema{}
	for j := range numbers + categories {
		c := datasets.Column{Name: string(rune('a' + j))}
		if j >= numbers {
			c.Kind, c.Categories = datasets.Categorical, []string{"w", "x", "y", "z"}
		}
		in.Columns = append(in.Columns, c)
	}
	for i := range n {
		for j := range numbers + categories {
			X.Set(i, j, rng.NormFloat64())
			if j >= numbers {
				X.Set(i, j, float64(rng.IntN(levels)))
			}
		}
		phase := []float64{0, 1.5, 3, 4.5}[int(X.At(i, numbers))]
		y[i] = math.Sin(2*X.At(i, 0)+phase) + 0.1*rng.NormFloat64()
		if classes {
			y[i] = math.Round(max(0, math.Copysign(1, y[i]+0.4*rng.NormFloat64())))
		}
		X.Set(i, 0, 1e5+1e3*X.At(i, 0)) // as a date
	}
	if classes {
		in.Targets = []datasets.Column{{Name: "k", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	}
	coded := datasets.Set{X: mat.DenseCopyOf(X.Slice(0, n, numbers, numbers+categories)), Y: y,
		Schema: in.WithColumns(in.Columns[numbers:])}
	encoder := mustFit(t, NewOneHot(), coded)
	encoded := mat.DenseCopyOf(mustTransform(t, encoder, coded.X))
	_, width := encoded.Dims()
	all := mat.NewDense(n, numbers+width, nil)
	all.Augment(X.Slice(0, n, 0, numbers), encoded)
	return datasets.Set{X: all, Y: y, Schema: in.WithColumns(append(slices.Clone(in.Columns[:numbers]),
		encoder.(Describer).OutputSchema(coded.Schema).Columns...))}
}

// mixedProduct is a product of kernels of numbers and categories.
func mixedProduct() kernel.Name {
	numeric, rest := kernel.NewTerm(kernel.Laplacian, "numeric"), kernel.NewTerm(kernel.Gaussian, "rest")
	numeric.Gamma, rest.Gamma = kernel.FixedGamma(1), kernel.FixedGamma(1)
	return kernel.Product(numeric, rest)
}

func columnsARD(solve, objective string) ARD {
	s := NewARD()
	s.Kernel, s.Solve, s.Objective, s.Groups, s.Steps = mixedProduct(), solve, objective, "origin", 25
	return s
}

// Useless columns get the scale 0 by the coordinate search, and at most a hundredth of the largest by the
// gradient, for numbers and classes.
func TestARDOfColumns(t *testing.T) {
	for _, classes := range []bool{false, true} {
		data := mixedRows(t, 600, classes)
		for _, solve := range []string{"coordinate", "exact"} {
			for _, objective := range []string{"evidence", "press"} {
				f := fitARD(t, columnsARD(solve, objective), data)
				r, limit := f.Relevance(), 0.0
				if solve == "exact" {
					limit = 0.01
				}
				t.Logf("classes %v, %s by %s: %.3g", classes, solve, objective, r)
				for j := range r {
					useful := j == 0 || j >= 5 && j < 9
					if useful && !(r[j] > 0.05) || !useful && !(r[j] <= limit) {
						t.Errorf("classes %v, %s by %s: relevance %.3g of column %s", classes, solve, objective, r[j],
							data.Schema.Name(j))
					}
				}
			}
		}
	}
}

// TestARDOfSums checks that a sum of main effects and a product has one scale for each column, 0 of useless ones.
func TestARDOfSums(t *testing.T) {
	data := mixedRows(t, 600, false)
	term := kernel.NewTerm
	own := func(terms ...kernel.Term) kernel.Summand { return kernel.Summand{Weight: 1, Product: terms} }
	for _, solve := range []string{"coordinate", "exact"} {
		s := columnsARD(solve, "evidence")
		s.Kernel = kernel.Sum(own(term(kernel.Laplacian, "b", "c")), own(term(kernel.Gaussian, "a"),
			term(kernel.Gaussian, "f")), own(term(kernel.Gaussian, "f", "g")), own(term(kernel.Gaussian, "rest")))
		r := fitARD(t, s, data).Relevance()
		t.Logf("%s: %.3g", solve, r)
		for j := range r {
			if useful := j == 0 || j >= 5 && j < 9; useful != (r[j] > 0) || j >= 5 && j < 9 && r[j] != r[5] {
				t.Errorf("%s: relevance %.3g of column %s", solve, r[j], data.Schema.Name(j))
			}
		}
	}
}

// Sparse rows, with columns that are constant in the sample, have the scales of dense ones, on any number of cores.
func TestARDOfColumnsOfSparseRows(t *testing.T) {
	data := mixedRows(t, 400, false)
	dense := mat.DenseCopyOf(data.X)
	n, d := dense.Dims()
	wide := mat.NewDense(n, d+1, nil)
	wide.Augment(dense, mat.NewDense(n, 1, nil))
	data.Schema = data.Schema.WithColumns(append(slices.Clone(data.Schema.Columns), datasets.Column{Name: "none"}))
	for _, solve := range []string{"coordinate", "exact"} {
		s := columnsARD(solve, "evidence")
		s.Steps, s.Part = 10, 200
		data.X = wide
		want := fitARD(t, s, data).Scales()
		data.X = matrices.CSRFromDense(wide)
		before := runtime.GOMAXPROCS(1)
		got := fitARD(t, s, data).Scales()
		runtime.GOMAXPROCS(before)
		for j := range got {
			if !(math.Abs(got[j]-want[j]) <= 1e-3*want[j]) {
				t.Errorf("%s: scale %d is %v, of dense rows %v", solve, j, got[j], want[j])
			}
		}
		if again := fitARD(t, s, data).Scales(); got[d] != 0 || !slices.Equal(again, got) {
			t.Errorf("%s: scales %v, on one core %v", solve, again, got)
		}
	}
}

// A product that cannot be learned is an error before any work.
func TestARDOfColumnsRefuses(t *testing.T) {
	data := mixedRows(t, 30, false)
	for want, change := range map[string]func(s *ARD){
		"kernel: must be a kernel of all columns for solve: features": func(s *ARD) { s.Solve = "features" },
		"kernel: must be a kernel of the euclidean or the L1 distance for solve: exact and coordinate": func(s *ARD) {
			s.Kernel = kernel.Product(kernel.NewTerm(kernel.Cauchy, "rest"))
		},
		`kernel.product.0.columns: no column "q"`: func(s *ARD) {
			s.Kernel = kernel.Product(kernel.NewTerm(kernel.Gaussian, "q"), kernel.NewTerm(kernel.Gaussian, "rest"))
		},
	} {
		s := columnsARD("coordinate", "evidence")
		change(&s)
		if f, err := s.Fit(context.Background(), data); f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v and the error %v, want one with %q", f, err, want)
		}
	}
}

// Distances that do not fit in memory are an error before they are computed.
func TestARDOfColumnsChecksMemory(t *testing.T) {
	data := mixedRows(t, 1500, false)
	before := debug.SetMemoryLimit(70 << 20)
	f, err := columnsARD("coordinate", "evidence").Fit(context.Background(), data)
	debug.SetMemoryLimit(before)
	if f != nil || !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(),
		"cannot store the distances of 1500 rows in 10 groups of columns") {
		t.Errorf("%v and the error %v", f, err)
	}
}

// TestARDOfColumnsStops checks that a canceled fit returns only the error.
func TestARDOfColumnsStops(t *testing.T) {
	data := mixedRows(t, 60, false)
	if err := canceltest.Check(func(ctx context.Context) (bool, error) {
		f, err := columnsARD("coordinate", "press").Fit(ctx, data)
		return f != nil, err
	}); err != nil {
		t.Error(err)
	}
}

// TestARDOfHeldOutRows checks that rows beyond Part decide about scales: a number that differs from 0 in one row of 100,
// and then decides the class, has a relevance only if enough rows show it.
func TestARDOfHeldOutRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const n, d = 4000, 6
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		X.Set(i, d-1, 0)
		y[i] = math.Round(max(0, math.Copysign(1, X.At(i, 0)+rng.NormFloat64())))
		if rng.IntN(100) == 0 {
			X.Set(i, d-1, 1+rng.Float64())
			y[i] = 1
		}
	}
	data := datasets.Set{X: X, Y: y, Schema: datasets.Schema{
		Targets: []datasets.Column{{Name: "k", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}}
	s := columnsARD("coordinate", "press")
	s.Kernel, s.Part = kernel.Product(kernel.NewTerm(kernel.Laplacian, "rest")), 250
	for _, rows := range []int{250, 3000} {
		s.Rows = rows
		r := fitARD(t, s, data).Relevance()
		t.Logf("%d rows: %.3g", rows, r)
		if found := r[d-1] > 0; found != (rows > 250) || !(r[0] > 0) {
			t.Errorf("%d rows: relevance %.3g", rows, r)
		}
		for j := 1; j < d-1; j++ {
			if rows > 250 && r[j] > 0.05 {
				t.Errorf("%d rows: relevance of a useless column is %.3g", rows, r[j])
			}
		}
	}
	if got, least := s.bytes(3000, d, d), int64(4*250*2750*d); got < least {
		t.Errorf("%d bytes for distances of at least %d", got, least)
	}
}
