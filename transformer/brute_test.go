package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// awkward returns columns that are hard for selection by bits: continuous, integer, few distinct
// values, constant, signed zeros and denormals, huge, with missing values.
func awkward(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(5, 6))
	X := mat.NewDense(n, 7, nil)
	for i := range n {
		X.SetRow(i, []float64{
			rng.NormFloat64(), float64(rng.IntN(1000) - 500), float64(rng.IntN(2)), -7.25,
			[]float64{math.Copysign(0, -1), 0, 1e-300, -1e-300}[rng.IntN(4)],
			math.Copysign(math.Pow(10, 600*rng.Float64()-300), rng.Float64()-0.5),
			1e9 + rng.Float64(),
		})
		if rng.IntN(5) == 0 {
			X.Set(i, rng.IntN(7), math.NaN())
		}
	}
	return X
}

// present returns the values of column j that are not missing, sorted.
func present(X mat.Matrix, j int) []float64 {
	n, _ := X.Dims()
	var out []float64
	for i := range n {
		if v := X.At(i, j); v == v {
			out = append(out, v)
		}
	}
	sort.Float64s(out)
	return out
}

// quantilesByPasses returns the quantiles of the columns of X, by passes over its blocks.
func quantilesByPasses(X mat.Matrix, probabilities []float64, short bool) ([][]float64, error) {
	ctx := context.Background()
	first, err := beginPass(ctx, "test", NewRobust(), datasets.Schema{}, 7, true, func() inputSums {
		plan := newQuantiles(probabilities, datasets.Schema{}, 7).plan
		if short {
			plan.memory, plan.buf = 1, buf{cells: 16, kept: 20}
		}
		return beginQuantiles(plan, datasets.Schema{})
	})
	if err != nil {
		return nil, err
	}
	last, err := datasets.Scan(ctx, first, datasets.Set{X: X}.Source())
	if err != nil {
		return nil, err
	}
	q, _, err := lastSums[*quantiles](ctx, "test", NewRobust(), last)
	if err != nil {
		return nil, err
	}
	return q.values()
}

// Quantiles are those of the sorted column, for rows in blocks and for sparse rows too, few and many of them,
// also where memory is so short that columns take turns and only few values of each are kept.
func TestQuantilesAgainstSorting(t *testing.T) {
	many := make([]float64, 301)
	for k := range many {
		many[k] = float64(k) / 300
	}
	for _, n := range []int{8, 9, 50, 7001} {
		X := awkward(n)
		for _, probabilities := range [][]float64{{0, 0.25, 0.5, 0.75, 0.9, 1}, many} {
			for form, data := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X)} {
				for _, short := range []bool{false, true} {
					got, err := quantilesByPasses(data, probabilities, short)
					if err != nil {
						t.Fatal(err)
					}
					for j := range 7 {
						values := present(X, j)
						for k, p := range probabilities {
							at := p * float64(len(values)-1)
							low := int(at)
							high := min(low+1, len(values)-1)
							want := values[low] + (values[high]-values[low])*(at-float64(low))
							if math.Abs(got[j][k]-want) > 1e-12*math.Abs(want) {
								t.Errorf("%s, n=%d, short of memory %t: quantile %v of column %d is %v, want %v", form, n, short, p, j,
									got[j][k], want)
							}
						}
					}
				}
			}
		}
	}
}

// Means and deviations lose no digits to a large mean, and constant columns have none.
func TestStandardizeAgainstTwoPasses(t *testing.T) {
	X := awkward(7001).Slice(0, 7001, 0, 4).(*mat.Dense)
	shifted := mat.DenseCopyOf(X)
	shifted.Apply(func(_, j int, v float64) float64 { return v + 1e8 }, X)
	for _, data := range []*mat.Dense{X, shifted} {
		f := mustFit(t, NewStandardize(), datasets.Set{X: data}).(*fittedScaler)
		for j := range 4 {
			values := present(data, j)
			mean, square := 0.0, 0.0
			for _, v := range values {
				mean += (v - values[0]) / float64(len(values))
			}
			mean += values[0]
			for _, v := range values {
				square += (v - mean) * (v - mean)
			}
			sd := math.Sqrt(square / float64(len(values)))
			if j == 3 {
				sd = math.Inf(1)
			}
			if math.Abs(f.Center()[j]-mean) > 1e-13*max(1, math.Abs(mean)) || f.Scale()[j] != sd &&
				math.Abs(f.Scale()[j]-sd) > 1e-9*sd {
				t.Errorf("column %d: mean %v and scale %v, want %v and %v", j, f.Center()[j], f.Scale()[j], mean, sd)
			}
		}
	}
}

// TestConstantColumnsBecomeZero checks that constants that binary fractions do not represent are
// recognized as constant.
func TestConstantColumnsBecomeZero(t *testing.T) {
	for _, v := range []float64{0.1, 3.3, 1e8 / 3, -1e-7 / 3} {
		X := mat.NewDense(5000, 1, nil)
		for i := range 5000 {
			X.Set(i, 0, v)
		}
		for _, data := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
			f := mustFit(t, Standardize{Std: true}, datasets.Set{X: data}).(*fittedScaler)
			later := mustTransform(t, f, mat.NewDense(3, 1, []float64{v, v + 1e6, math.NaN()}))
			if later.At(0, 0) != 0 || later.At(1, 0) != 0 || !math.IsNaN(later.At(2, 0)) {
				t.Errorf("%T: a column of %v becomes %v", data, v, mat.Formatted(later))
			}
		}
	}
}

func TestMinMaxClips(t *testing.T) {
	X := mat.NewDense(3, 2, []float64{0, 5, 10, 5, math.NaN(), 5})
	f := mustFit(t, MinMax{Low: -1, High: 3, Clip: true}, datasets.Set{X: X})
	got := mustTransform(t, f, mat.NewDense(4, 2, []float64{5, 5, 20, 6, -20, 4, math.NaN(), 5}))
	equal(t, got, mat.NewDense(4, 2, []float64{1, -1, 3, -1, -1, -1, math.NaN(), -1}), 0)
}

// Medians and modes against the sorted column; indicators against the missing values.
func TestImputeAgainstSorting(t *testing.T) {
	X := awkward(501)
	for _, strategy := range []string{"median", "most_frequent"} {
		for _, data := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
			f := mustFit(t, Impute{Strategy: strategy, Indicator: true}, datasets.Set{X: data}).(*fittedImpute)
			Z := mustTransform(t, f, data)
			if got := len(f.indicators); got != 7 {
				t.Fatalf("%d indicators, want 7", got)
			}
			for j := range 7 {
				values := present(X, j)
				want := values[len(values)/2]
				if len(values)%2 == 0 {
					want = values[len(values)/2-1]/2 + values[len(values)/2]/2
				}
				if strategy == "most_frequent" {
					largest := 0
					for at := 0; at < len(values); {
						end := at
						for end < len(values) && values[end] == values[at] {
							end++
						}
						if end-at > largest {
							largest, want = end-at, values[at]
						}
						at = end
					}
				}
				if got := f.Fill()[j]; math.Abs(got-want) > 1e-15*math.Abs(want) {
					t.Errorf("%s of column %d is %v, want %v", strategy, j, got, want)
				}
				for i := range 501 {
					missing := math.IsNaN(X.At(i, j))
					if got := Z.At(i, 7+j); got != map[bool]float64{true: 1}[missing] {
						t.Fatalf("indicator of (%d, %d) is %v, missing is %v", i, j, got, missing)
					}
					if missing && Z.At(i, j) != f.Fill()[j] || !missing && Z.At(i, j) != X.At(i, j) {
						t.Fatalf("entry (%d, %d) became %v", i, j, Z.At(i, j))
					}
				}
			}
		}
	}
}

// levelled is a schema of one categorical column.
func levelled(levels ...string) datasets.Schema {
	return datasets.Schema{Columns: []datasets.Column{{Name: "c", Kind: datasets.Categorical, Categories: levels}}}
}

func TestImputeAddsALevel(t *testing.T) {
	X := mat.NewDense(4, 1, []float64{0, 1, math.NaN(), datasets.Unknown})
	schema := levelled("a", "b")
	for level, want := range map[string]float64{"b": 1, "none": 2} {
		f := mustFit(t, Impute{Strategy: "constant", FillCategory: level},
			datasets.Set{X: X, Schema: schema}).(*fittedImpute)
		equal(t, mustTransform(t, f, X), mat.NewDense(4, 1, []float64{0, 1, want, datasets.Unknown}), 0)
		out := f.OutputSchema(schema).Columns[0]
		if out.Kind != datasets.Categorical || !slices.Contains(out.Categories, level) ||
			len(out.Categories) != max(2, int(want)+1) {
			t.Errorf("the levels became %v", out.Categories)
		}
	}
	if len(schema.Columns[0].Categories) != 2 {
		t.Error("the schema given was changed")
	}
	f := mustFit(t, Impute{Strategy: "most_frequent"}, datasets.Set{X: mat.NewDense(5, 1,
		[]float64{-1, -1, -1, 1, math.NaN()}), Schema: schema}).(*fittedImpute)
	if f.Fill()[0] != 1 {
		t.Errorf("the most frequent level is %v, want 1: an unknown level is none", f.Fill()[0])
	}
}

func TestOneHotDropsRareLevels(t *testing.T) {
	X := mat.NewDense(7, 1, []float64{0, 0, 0, 1, 2, 2, math.NaN()})
	schema := levelled("a", "b", "c", "d")
	f := mustFit(t, OneHot{MinCount: 2}, datasets.Set{X: X, Schema: schema}).(*fittedOneHot)
	got := mustTransform(t, f, mat.NewDense(6, 1, []float64{0, 1, 2, 3, datasets.Unknown, math.NaN()}))
	equal(t, got, mat.NewDense(6, 2, []float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}), 0)
	if v, ok := got.(*matrices.CSR).Shared(); !ok || v != 1 {
		t.Error("the ones are not one shared value")
	}
	if s := f.OutputSchema(schema); s.Name(0) != "c=a" || s.Name(1) != "c=c" {
		t.Errorf("columns are called %v", s.Columns)
	}
}

func TestOrdinalOfUnknownLevels(t *testing.T) {
	data := datasets.Set{X: mat.NewDense(2, 1, []float64{0, 1}), Schema: levelled("a", "b")}
	X := mat.NewDense(3, 1, []float64{1, datasets.Unknown, math.NaN()})
	for unknown, want := range map[string]float64{"code": -1, "missing": math.NaN()} {
		f := mustFit(t, Ordinal{Unknown: unknown}, data)
		equal(t, mustTransform(t, f, X), mat.NewDense(3, 1, []float64{1, want, math.NaN()}), 0)
	}
	f := mustFit(t, NewOrdinal(), data)
	if _, err := f.Transform(context.Background(), X); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("an unknown level gives the error %v", err)
	}
}

// PCA against the definition: orthogonal directions whose outputs have the variances announced and
// no covariance, for rows with a large mean and for sparse rows.
func TestPCAAgainstItsDefinition(t *testing.T) {
	X := uniform(400, 6)
	X.Apply(func(i, j int, v float64) float64 { return 1e4 + v*float64(j+1) + X.At(i, 0) }, X)
	for _, spec := range []PCA{NewPCA(), {Components: allComponents, Whiten: true}} {
		f := mustFit(t, spec, datasets.Set{X: X}).(*FittedPCA)
		Z := mustTransform(t, f, X)
		for k, v := range f.ExplainedVariance() {
			want := v
			if spec.Whiten {
				want = 1
			}
			for l := range k + 1 {
				sum := 0.0
				for i := range 400 {
					sum += Z.At(i, k) * Z.At(i, l) / 399
				}
				if l < k {
					want, sum = 0, sum/max(1, f.variance[0])
				} else if !spec.Whiten {
					want = v
				} else {
					want = 1
				}
				if math.Abs(sum-want) > 1e-8*max(1, want) {
					t.Errorf("covariance of outputs %d and %d is %v, want %v", k, l, sum, want)
				}
			}
			largest := mat.Col(nil, k, f.Components())
			sort.Slice(largest, func(a, b int) bool { return math.Abs(largest[a]) > math.Abs(largest[b]) })
			if largest[0] < 0 {
				t.Errorf("the largest entry of direction %d is negative", k)
			}
		}
		var VV mat.Dense
		VV.Mul(f.Components().T(), f.Components())
		equal(t, &VV, mat.NewDiagDense(6, []float64{1, 1, 1, 1, 1, 1}), 1e-12)
	}
}

func TestPCAKeeps(t *testing.T) {
	X := mat.NewDense(50, 4, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		a, b := 10*rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b, a + b, 1})
	}
	for want, c := range map[int]float64{1: 0.9, 2: allComponents, 3: 3} {
		f := mustFit(t, PCA{Components: c}, datasets.Set{X: X}).(*FittedPCA)
		if f.OutputWidth() != want {
			t.Errorf("%v keeps %d components, want %d", c, f.OutputWidth(), want)
		}
	}
	_, err := PCA{Components: 3, Whiten: true}.Fit(context.Background(), datasets.Set{X: X})
	if err == nil || !strings.Contains(err.Error(), "only 2 of them vary") {
		t.Errorf("whitening a direction without variance gives the error %v", err)
	}
}

// γ by its rules against direct computation over all entries and all pairs.
func TestGammaRulesAgainstBruteForce(t *testing.T) {
	X := uniform(90, 4)
	X.Apply(func(_, j int, v float64) float64 { return max(0, v-0.3) * float64(j+1) }, X)
	raw := mat.DenseCopyOf(X).RawMatrix().Data
	mean, variance := 0.0, 0.0
	for _, v := range raw {
		mean += v / float64(len(raw))
	}
	for _, v := range raw {
		variance += (v - mean) * (v - mean) / float64(len(raw))
	}
	median := func(norm float64) float64 {
		var d []float64
		for i := range 90 {
			for k := range i {
				sum := 0.0
				for j := range 4 {
					sum += math.Pow(math.Abs(X.At(i, j)-X.At(k, j)), norm)
				}
				if sum > 0 {
					d = append(d, math.Pow(sum, 1/norm))
				}
			}
		}
		sort.Float64s(d)
		return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
	}
	scale := map[string]float64{"gaussian": 1 / (4 * variance), "rational_quadratic": 1 / (4 * variance),
		"laplacian": 1 / (4 * math.Sqrt(variance)),
		"cauchy":    1 / math.Sqrt(4*variance), "exponential": 1 / math.Sqrt(4*variance), "matern": 1 / math.Sqrt(4*variance)}
	l1, l2 := median(1), median(2)
	middle := map[string]float64{"gaussian": 1 / (2 * l2 * l2), "rational_quadratic": 1 / (2 * l2 * l2),
		"laplacian": 1 / l1,
		"cauchy":    1 / l2, "exponential": 1 / l2, "matern": 1 / l2}
	for _, name := range spectral.FourierKernels {
		for _, data := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
			s := NewRFF()
			s.Kernel, s.Features = kernel.Name(name), 2
			if got := mustFit(t, s, datasets.Set{X: data}).(*FittedRFF).Gamma()[2]; math.Abs(got-scale[name]) > 1e-12*got {
				t.Errorf("%s: scale gives γ = %v, want %v", name, got, scale[name])
			}
			s.Gamma = kernel.GammaMedian()
			if got := mustFit(t, s, datasets.Set{X: data}).(*FittedRFF).Gamma()[0]; math.Abs(got-middle[name]) > 1e-12*got {
				t.Errorf("%s: median gives γ = %v, want %v", name, got, middle[name])
			}
		}
	}
	// A sample of many rows estimates the median of all pairs: of |a − b| for uniform a and b it is
	// 1 − sqrt(1/2).
	s := NewRFF()
	s.Kernel, s.Gamma = "laplacian", kernel.GammaMedian()
	got := 1 / mustFit(t, s, datasets.Set{X: uniform(20_000, 1)}).(*FittedRFF).Gamma()[0]
	if want := 1 - math.Sqrt(0.5); math.Abs(got-want) > 0.02 {
		t.Errorf("the median distance of uniform numbers is %v in the sample, want about %v", got, want)
	}
}

// One row of a loaded model is mapped without garbage.
func TestOneRowMakesNoGarbage(t *testing.T) {
	X := uniform(1, 20)
	ctx := context.Background()
	for _, form := range []string{"paired", "phase"} {
		s := NewRFF()
		s.Map = form
		f := mustFit(t, s, datasets.Set{X: X}).(*FittedRFF)
		dst := mat.NewDense(1, f.OutputWidth(), nil)
		var err error
		if n := testing.AllocsPerRun(100, func() { err = f.TransformTo(ctx, dst, X) }); n > 0 || err != nil {
			t.Errorf("%s: mapping one row allocates %v times, error %v", form, n, err)
		}
	}
}
