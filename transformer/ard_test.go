package transformer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/evidence"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/sample"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// smallARD returns an ard that learns quickly.
func smallARD(change func(s *ARD)) ARD {
	s := NewARD()
	s.Features, s.Rows, s.Seed = 200, 400, 3
	if change != nil {
		change(&s)
	}
	return s
}

// waves returns rows of d inputs of very unequal units, of which the first two matter.
func waves(n, d int) datasets.Set {
	rng := rand.New(rand.NewPCG(2, 9))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, 2*rng.Float64()-1)
		}
		y[i] = math.Sin(4*X.At(i, 0)) + X.At(i, 1)*X.At(i, 1) + 0.1*rng.NormFloat64()
		for j := range d {
			X.Set(i, j, X.At(i, j)*math.Pow(10, float64(j%5-2))+float64(j))
		}
	}
	return datasets.Set{X: X, Y: y}
}

func fitARD(t *testing.T, s ARD, data datasets.Set) *fittedARD {
	t.Helper()
	return mustFit(t, s, data).(*fittedARD)
}

// Irrelevant inputs get scales near 0, for any kernel, objective and units.
func TestARDFindsRelevantInputs(t *testing.T) {
	data := waves(600, 8)
	for _, name := range []kernel.Name{kernel.Gaussian, kernel.Laplacian, kernel.Matern} {
		for _, objective := range []string{"evidence", "press"} {
			r := fitARD(t, smallARD(func(s *ARD) { s.Kernel, s.Objective, s.Rows = name, objective, 600 }), data).Relevance()
			if slices.Max(r) != 1 || min(r[0], r[1]) < 0.1 || slices.Max(r[2:]) > 0.7*min(r[0], r[1]) {
				t.Errorf("%s, %s: relevance %.3f, want the first two to stand out", name, objective, r)
			}
		}
	}
	r := fitARD(t, smallARD(nil), data).Relevance()
	if slices.Max(r[2:]) > 0.05 {
		t.Errorf("relevance %.3f, want less than 0.05 of all but the first two", r)
	}
}

// TestARDFindsLocalInputs checks that the exact kernel finds an input with a local effect, for which the random
// features of the same kernel are too few.
func TestARDFindsLocalInputs(t *testing.T) {
	const n, levels = 600, 60
	rng := rand.New(rand.NewPCG(3, 8))
	effect := make([]float64, levels)
	for i := range effect {
		effect[i] = rng.NormFloat64()
	}
	X, y := mat.NewDense(n, 3, nil), make([]float64, n)
	for i := range n {
		level := rng.IntN(levels)
		X.SetRow(i, []float64{rng.NormFloat64(), float64(level), rng.NormFloat64()})
		y[i] = X.At(i, 0) + 2*effect[level] + 0.1*rng.NormFloat64()
	}
	data := datasets.Set{X: X, Y: y}
	spec := smallARD(func(s *ARD) { s.Kernel, s.Rows, s.Steps = kernel.Laplacian, n, 40 })
	features := fitARD(t, spec, data).Relevance()
	spec.Solve = "exact"
	exact := fitARD(t, spec, data).Relevance()
	if features[0] < 0.5 || exact[1] != 1 || exact[0] > 0.1 || exact[2] > 0.01 {
		t.Errorf("relevance %.3f by features, %.3f by the exact kernel, want the second input to stand out in the latter only",
			features, exact)
	}
	spec.Part = 300
	want := fitARD(t, spec, data).Scales()
	for j, got := range fitARD(t, spec, datasets.Set{X: matrices.CSRFromDense(X), Y: y}).Scales() {
		if math.Abs(got-want[j]) > 1e-3*want[j] {
			t.Errorf("sparse rows: scale %d is %v, dense: %v", j, got, want[j])
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := fitARD(t, spec, data).Scales(); !slices.Equal(got, want) {
		t.Errorf("one core: scales %v, several: %v", got, want)
	}
}

// The gradient that scales are learned by is that of the objective with the frequencies of every kernel, heavy tails
// and all, with more and with fewer rows than features.
func TestARDGradientOfEveryKernel(t *testing.T) {
	const d, m, h = 4, 12, 1e-5
	ctx := context.Background()
	for _, name := range spectral.FourierKernels {
		kernel, _ := spectral.FourierKernel(name, spectral.Shape{Nu: 1.5, Alpha: 1})
		draws, err := fourier.Draw(ctx, kernel, 3, d, m, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{15, 70} {
			data := waves(n, d)
			X, _, err := sample.Standardized(ctx, data.X, []int{0, 1, 2, 3}, data.Schema)
			if err != nil {
				t.Fatal(err)
			}
			p := evidence.Problem{X: X, Y: mat.NewDense(n, 1, data.Y), Frequencies: draws.Base}
			for _, p.LeaveOneOut = range []bool{false, true} {
				point, gradient, other := []float64{-0.3, 0.2, -1, -0.5, -1.2, 0.4}, make([]float64, d+2), make([]float64, d+2)
				o := evidence.New[float64](p)
				if _, err := o.At(ctx, point, gradient); err != nil {
					t.Fatal(err)
				}
				for j := range point {
					at := func(step float64) float64 {
						moved := slices.Clone(point)
						moved[j] += step
						v, err := o.At(ctx, moved, other)
						if err != nil {
							t.Fatal(err)
						}
						return v
					}
					want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
					if math.Abs(gradient[j]-want) > 1e-5*max(1, math.Abs(want)) {
						t.Errorf("%s, %d rows, leave-one-out %v: derivative %d is %v, by differences %v", name, n, p.LeaveOneOut, j,
							gradient[j], want)
					}
				}
			}
		}
	}
}

// Inputs that matter only together are found among many that do not.
func TestARDFindsInteractions(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("learns 32 scales from 3,000 rows")
	}
	const n, d = 3000, 32
	rng := rand.New(rand.NewPCG(7, 7))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, 2*rng.Float64()-1)
		}
		y[i] = math.Sin(5*X.At(i, 0)*X.At(i, 1)) + math.Cos(4*(X.At(i, 2)+X.At(i, 3))) + 0.2*rng.NormFloat64()
	}
	r := fitARD(t, NewARD(), datasets.Set{X: X, Y: y}).Relevance()
	if slices.Min(r[:4]) < 0.3 || slices.Max(r[4:]) > 0.1 {
		t.Errorf("relevance %.3f, want the first four to stand out", r)
	}
}

// Classes and several targets are learned too.
func TestARDOfClassesAndTargets(t *testing.T) {
	data := waves(400, 6)
	targets := mat.NewDense(400, 2, nil)
	classes := data
	classes.Y = make([]float64, 400)
	for i, y := range data.Y {
		targets.SetRow(i, []float64{1e6 * y, data.X.At(i, 2)})
		switch {
		case y > 1:
			classes.Y[i] = 2
		case y > 0:
			classes.Y[i] = 1
		}
	}
	for k := 2; k <= 3; k++ {
		classes.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"a", "b", "c"}[:k]}}
		if k == 2 {
			for i := range classes.Y {
				classes.Y[i] = min(classes.Y[i], 1)
			}
		}
		if r := fitARD(t, smallARD(nil), classes).Relevance(); slices.Max(r[2:]) > 0.5*min(r[0], r[1]) {
			t.Errorf("%d classes: relevance %.3f, want the first two to stand out", k, r)
		}
		classes.Y = slices.Clone(classes.Y)
		for i, y := range data.Y {
			if y > 1 {
				classes.Y[i] = 2
			}
		}
	}
	several := datasets.Set{X: data.X, Targets: targets}
	if r := fitARD(t, smallARD(nil), several).Relevance(); slices.Max(r[3:]) > 0.2*min(r[0], r[1], r[2]) {
		t.Errorf("two targets: relevance %.3f, want the first three to stand out", r)
	}
}

// The same seed makes the same bits on any number of cores, another seed others.
func TestARDIsTheSameOnAnyNumberOfCores(t *testing.T) {
	data := waves(900, 5)
	spec := smallARD(func(s *ARD) { s.Rows, s.Steps, s.Restarts = 700, 8, 5 })
	want := fitARD(t, spec, data).Scales()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 3} {
		runtime.GOMAXPROCS(cores)
		if got := fitARD(t, spec, data).Scales(); !slices.Equal(got, want) {
			t.Errorf("%d cores: scales %v, want %v", cores, got, want)
		}
	}
	spec.Seed++
	if got := fitARD(t, spec, data).Scales(); slices.Equal(got, want) {
		t.Error("another seed made the same scales")
	}
}

// TestARDLeavesOutRowsOfWeightZero checks that rows of weight 0 are ignored, and that other weights
// have no effect.
func TestARDLeavesOutRowsOfWeightZero(t *testing.T) {
	data := waves(120, 4)
	spec := smallARD(func(s *ARD) { s.Features, s.Steps = 20, 5 })
	weighted := datasets.Set{X: mat.DenseCopyOf(data.X), Y: slices.Clone(data.Y), Weights: make([]float64, 120)}
	var list []int
	for i := range 120 {
		if i%3 == 0 {
			weighted.Y[i] = 1e9
			continue
		}
		weighted.Weights[i] = float64(i)
		list = append(list, i)
	}
	if got, want := fitARD(t, spec, weighted).Scales(), fitARD(t, spec, data.Select(list)).Scales(); !slices.Equal(got,
		want) {
		t.Errorf("scales %v, without the rows %v", got, want)
	}
}

// TestARDGroupsColumnsByTheirOrigin checks that columns of one origin share a scale if requested,
// in their original units.
func TestARDGroupsColumnsByTheirOrigin(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	X, y := mat.NewDense(300, 2, nil), make([]float64, 300)
	for i := range y {
		c := float64(rng.IntN(4))
		X.SetRow(i, []float64{c, float64(rng.IntN(3))})
		y[i] = []float64{0, 2, -1, 5}[int(c)] + 0.1*rng.NormFloat64()
	}
	in := datasets.Schema{Columns: []datasets.Column{
		{Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red", "white"}},
		{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "M", "L"}},
	}}
	encoded := mustFit(t, NewOneHot(), datasets.Set{X: X, Y: y, Schema: in})
	data := datasets.Set{X: mustTransform(t, encoded, X), Y: y, Schema: encoded.(Describer).OutputSchema(in)}
	for _, groups := range []string{"origin", "none"} {
		f := fitARD(t, smallARD(func(s *ARD) { s.Groups = groups }), data)
		r, s := f.Relevance(), f.Scales()
		for j := range s {
			first := 4 * (j / 4)
			if same := r[j] == r[first] && s[j] == s[first]; j != first && same != (groups == "origin") {
				t.Errorf("groups %s: column %d has the scale %v, the first of its origin %v", groups, j, s[j], s[first])
			}
		}
		if groups == "origin" && r[4] > 0.1 {
			t.Errorf("relevance %.3f, want next to none of size", r)
		}
	}
}

// TestARDPowerAndFloor checks that power and floor do not change the mean square of the scales, nor
// the order of the inputs.
func TestARDPowerAndFloor(t *testing.T) {
	data := waves(200, 6)
	length := func(f *fittedARD) (sum float64) {
		for j, s := range f.scales {
			sum += s * s * f.deviation[j] * f.deviation[j]
		}
		return sum
	}
	plain := fitARD(t, smallARD(func(s *ARD) { s.Features, s.Steps = 60, 20 }), data)
	for _, c := range []struct{ power, floor float64 }{{0.5, 0}, {1, 0.3}, {0, 0}} {
		f := fitARD(t, smallARD(func(s *ARD) { s.Features, s.Steps, s.Power, s.Floor = 60, 20, c.power, c.floor }), data)
		if got, want := length(f), length(plain); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%+v: mean square %v, want %v", c, got, want)
		}
		unit := func(j int) float64 { return f.scales[j] * f.deviation[j] }
		for j := range f.scales {
			want := max(math.Pow(plain.learned[j]/slices.Max(plain.learned), c.power), c.floor)
			if got := unit(j) / unit(0) * max(math.Pow(plain.learned[0]/slices.Max(plain.learned), c.power),
				c.floor); math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v: scale %d is %v of the greatest, want %v", c, j, got, want)
			}
		}
	}
}

// Many columns of sparse rows are never made dense.
func TestARDOfManySparseColumns(t *testing.T) {
	const n, d = 400, 1<<24/400 + 1
	rng := rand.New(rand.NewPCG(5, 5))
	var indices []uint32
	var values []float64
	indptr, y := []int{0}, make([]float64, n)
	for i := range n {
		if i%2 == 0 {
			indices, values = append(indices, 7), append(values, 3)
			y[i] = 1
		}
		for k := range 3 {
			indices, values = append(indices, uint32(100+rng.IntN(50)+50*k)), append(values, rng.Float64())
		}
		indptr = append(indptr, len(indices))
	}
	X, err := matrices.NewCSR(n, d, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	f := fitARD(t, smallARD(func(s *ARD) { s.Features, s.Steps = 20, 30 }), datasets.Set{X: X, Y: y})
	if r := f.Relevance(); r[7] != 1 || r[100] == 0 || r[99] != 0 {
		t.Errorf("relevance %v of the column that matters, %v of another, %v of one without values", r[7], r[100], r[99])
	}
	if Z, ok := mustTransform(t, f, X).(*matrices.CSR); !ok || Z.NNZ() != X.NNZ() {
		t.Error("sparse rows did not stay sparse")
	}
}

// TestARDRefuses checks that invalid data are errors.
func TestARDRefuses(t *testing.T) {
	data := waves(20, 2)
	with := func(change func(d *datasets.Set)) datasets.Set {
		out := datasets.Set{X: mat.DenseCopyOf(data.X), Y: slices.Clone(data.Y)}
		change(&out)
		return out
	}
	classes := datasets.Schema{Targets: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
		Categories: []string{"a", "b"}}}}
	for name, c := range map[string]struct {
		spec ARD
		data datasets.Set
		want string
	}{
		"exact cauchy": {smallARD(func(s *ARD) { s.Kernel, s.Solve = kernel.Cauchy, "exact" }), data,
			"a kernel of the euclidean or the L1 distance for solve: exact"},
		"no targets":       {NewARD(), with(func(d *datasets.Set) { d.Y = nil }), "ard: the data have no targets"},
		"constant targets": {NewARD(), with(func(d *datasets.Set) { clear(d.Y) }), "ard: the targets are constant"},
		"one class": {NewARD(), with(func(d *datasets.Set) { clear(d.Y); d.Schema = classes }),
			"ard: the targets are constant"},
		"no class code": {NewARD(), with(func(d *datasets.Set) { d.Schema = classes }), "class code"},
		"constant inputs": {NewARD(), with(func(d *datasets.Set) { d.X = mat.NewDense(20, 2, nil) }),
			"ard: every input is constant"},
		"one row": {NewARD(), data.Slice(0, 1), "ard: number of training rows must be two or more, got 1"},
		"missing": {NewARD(), with(func(d *datasets.Set) { d.X.(*mat.Dense).Set(3, 1, math.NaN()) }),
			"row 3, column x1: missing value; fit with an impute step before, or fill it in"},
		"targets overflow": {NewARD(), with(func(d *datasets.Set) { d.Y[0] = 1e308 }), "range of the targets overflows"},
		"inputs overflow": {NewARD(), with(func(d *datasets.Set) { d.X.(*mat.Dense).Set(3, 1, 1e308) }),
			"its range overflows"},
		"categories": {NewARD(), with(func(d *datasets.Set) { d.X, d.Schema = categoricalColumn(20) }),
			"column c must be numeric, got categorical"},
		"odd features": {smallARD(func(s *ARD) { s.Features = 3 }), data, "features: must be an even number"},
		"misspelt":     {smallARD(func(s *ARD) { s.Objective = "evidense" }), data, "did you mean evidence?"},
		"all weights are 0": {NewARD(), with(func(d *datasets.Set) { d.Weights = make([]float64, 20) }),
			"weights must not all be 0"},
		"zero ARD": {ARD{}, data,
			`kernel: must be gaussian, laplacian, cauchy, exponential, matern, rational_quadratic or a kernel of columns`},
	} {
		f, err := c.spec.Fit(context.Background(), c.data)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "transformer: ") {
			t.Errorf("%s: %v and the error %v, want one with %q", name, f, err, c.want)
		}
	}
}

func categoricalColumn(n int) (mat.Matrix, datasets.Schema) {
	return mat.NewDense(n, 1, nil), datasets.Schema{Columns: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
		Categories: []string{"a", "b"}}}}
}

func ExampleARD_inputs() {
	data := waves(300, 4)
	spec := NewARD()
	spec.Features = 100
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for j, r := range fitted.(*fittedARD).Relevance() {
		fmt.Printf("x%d matters: %v\n", j, r > 0.1)
	}
	// Output:
	// x0 matters: true
	// x1 matters: true
	// x2 matters: false
	// x3 matters: false
}

// sampler is a spec that is fitted to a sample of the rows.
type sampler interface {
	Fitter
	Sample(ctx context.Context, data datasets.Source) ([]int, error)
}

// The fit depends on the targets of the sampled rows only.
func TestSample(t *testing.T) {
	data := waves(400, 3)
	for name, spec := range map[string]sampler{
		"ard": smallARD(func(s *ARD) { s.Rows, s.Features, s.Steps = 120, 40, 5 }),
		"rfm": func() sampler { s := NewRFM(); s.Rows, s.Rounds, s.Seed = 120, 2, 3; return s }(),
	} {
		taken, err := spec.Sample(context.Background(), data.Source())
		if err != nil {
			t.Fatal(err)
		}
		if len(taken) != 120 || !slices.IsSorted(taken) {
			t.Fatalf("%s: %d rows", name, len(taken))
		}
		learned := func(changed func(row int) bool) mat.Matrix {
			other := data
			other.Y = slices.Clone(data.Y)
			for i := range other.Y {
				if changed(i) {
					other.Y[i] += 3 * data.X.At(i, 1)
				}
			}
			fitted, err := spec.Fit(context.Background(), other)
			if err != nil {
				t.Fatal(err)
			}
			out, err := fitted.Transform(context.Background(), data.X)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		in := func(i int) bool { _, found := slices.BinarySearch(taken, i); return found }
		before := learned(func(int) bool { return false })
		if !mat.Equal(before, learned(func(i int) bool { return !in(i) })) {
			t.Errorf("%s: targets of rows that are not in the sample matter", name)
		}
		if mat.Equal(before, learned(in)) {
			t.Errorf("%s: targets of rows in the sample do not matter", name)
		}
	}
}
