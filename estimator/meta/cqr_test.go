package meta_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// byGroup are intervals by the column group, half of whose rows calibrate.
func byGroup(method string, of estimator.Estimator, seed uint64) meta.Intervals {
	s := intervals(method, of)
	s.Group, s.Calibration, s.Seed = "group", 0.5, seed
	return s
}

// noisyGroups makes rows of three groups; the noise of each is three times that of the one before,
// and the last has a seventh of the rows.
func noisyGroups(seed uint64, n int) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 7))
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Schema: datasets.Schema{Columns: []datasets.Column{{Name: "x"},
		{Name: "group"}}}}
	for i := range n {
		x, g := rng.NormFloat64(), []float64{0, 1, 2, 0, 1, 0, 1}[i%7]
		data.X.(*mat.Dense).SetRow(i, []float64{x, g})
		data.Y = append(data.Y, x+math.Pow(3, g)*rng.NormFloat64())
	}
	return data
}

// ends predicts the second input as the upper quantile, the first as all others.
type ends struct {
	Quantile float64
	fitted   *datasets.Set
}

func (ends) Tags() datasets.Tags { return datasets.Tags{Quantile: "quantile"} }

func (e *ends) Params(l *param.List) { l.Float(&e.Quantile, "quantile", "", param.Between(0, 1)) }

func (e ends) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) {
	*e.fitted = data
	return e, nil
}

func (e ends) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	if e.Quantile > 0.5 {
		return mat.Col(nil, 1, X), nil
	}
	return mat.Col(nil, 0, X), nil
}

// The quantile of the scores is that of the reference, whose rows calibrate all.
func TestGoldenCQR(t *testing.T) {
	var in struct {
		Lower, Upper, Y []float64
		Level           float64
	}
	var want struct{ Q float64 }
	golden.Load(t, "cqr", &in, &want)
	n := len(in.Y)
	data := datasets.Set{X: mat.NewDense(n+1, 2, nil), Y: append(in.Y, 5), Groups: make([]int, n+1)}
	for i, lower := range in.Lower {
		data.X.(*mat.Dense).SetRow(i, []float64{lower, in.Upper[i]})
		data.Groups[i] = 1
	}
	var learned datasets.Set
	s := intervals("cqr", ends{0.5, &learned})
	s.Level, s.Calibration = in.Level, 0.5
	p, err := s.Fit(context.Background(), data)
	for ; learned.Rows() != 1; s.Seed++ { // the split by group is random
		p, err = s.Fit(context.Background(), data)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := estimator.Predict(context.Background(), p, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for i, lower := range in.Lower {
		alike(t, "ends", []float64{all.Lower[i], all.Upper[i]}, []float64{lower - want.Q, in.Upper[i] + want.Q}, 1e-12)
	}
}

// Ends that cross by a negative quantile meet, at every level.
func TestCQREndsDoNotCross(t *testing.T) {
	data := datasets.Set{X: mat.NewDense(60, 2, nil), Y: make([]float64, 60)}
	for i := range 60 {
		data.X.(*mat.Dense).SetRow(i, []float64{-9, 9})
	}
	p := fitted(t, intervals("cqr", ends{0.5, new(datasets.Set)}), data)
	for _, width := range []float64{4, 20, 0, -4} {
		all, err := estimator.Predict(context.Background(), p, mat.NewDense(1, 2, []float64{1, 1 + width}),
			estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		middle, half := 1+width/2, max(0, width/2-9)
		alike(t, "ends", []float64{all.Lower[0], all.Upper[0]}, []float64{middle - half, middle + half}, 1e-12)
	}
}

// The coverage over 200 problems is between the level and 1/(m+1) more, of m calibration rows, within
// two standard errors: for all rows and, with groups, for the rows of each group.
func TestCoverageOfCQR(t *testing.T) {
	levels := []float64{0.9}
	if exhaustive.Tests() {
		levels = []float64{0.8, 0.9, 0.95}
	}
	rff := transformer.NewRFF()
	rff.Features, rff.Gamma = 20, kernel.FixedGamma(0.3)
	onFeatures := pipeline.Steps(rff).Then(estimator.NewQuantileRegression())
	for _, level := range levels {
		share, se := coverage(t, func(seed uint64) estimator.Estimator {
			s := intervals("cqr", onFeatures)
			s.Level, s.Seed, s.Calibration = level, seed, 0.5
			return s
		}, func(seed uint64, n int) datasets.Set { return wave(seed, n, 3, 1) }, 78)
		t.Logf("level %v: coverage %.4f ± %.4f", level, share, se)
		if m := 39.0; share < level-2*se || share > level+1/(m+1)+2*se {
			t.Errorf("level %v: coverage %.4f ± %.4f", level, share, se)
		}
		for _, method := range []string{"split", "cqr"} {
			for g := range 3 {
				share, se := coverage(t, func(seed uint64) estimator.Estimator {
					s := byGroup(method, estimator.NewQuantileRegression(), seed)
					s.Level = level
					return s
				}, func(seed uint64, n int) datasets.Set {
					data := noisyGroups(seed, 7*max(n, 60))
					if n != asked {
						return data
					}
					var own []int
					for i := range data.Rows() {
						if data.X.At(i, 1) == float64(g) && len(own) < asked {
							own = append(own, i)
						}
					}
					return data.Select(own)
				}, 60)
				t.Logf("level %v, %s, group %d: coverage %.4f ± %.4f", level, method, g, share, se)
				if m := 25.0; share < level-2*se || share > level+1/(m+1)+2*se {
					t.Errorf("level %v, %s, group %d: coverage %.4f ± %.4f", level, method, g, share, se)
				}
			}
		}
	}
}

// Where the noise depends on the inputs, cqr is narrower than split; a stream gives the same model,
// and rows of an unknown or missing group use all calibration rows.
func TestCQRFollowsTheNoise(t *testing.T) {
	ctx := context.Background()
	widths := map[string][]float64{}
	data := noisyGroups(3, 1400)
	data.Schema.Columns[1] = datasets.Column{Name: "group", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c"}}
	probe := mat.NewDense(5, 2, []float64{0, 0, 0, 1, 0, 2, 0, datasets.Unknown, 0, math.NaN()})
	encoded := pipeline.NewColumns(pipeline.Group{Select: []string{"group"},
		Steps: []pipeline.Step{{Fitter: transformer.NewOneHot()}}})
	encoded.Remainder = "passthrough"
	quantile := pipeline.Steps(encoded).Then(estimator.NewQuantileRegression())
	for name, s := range map[string]meta.Intervals{"split": intervals("split", quantile), "cqr": intervals("cqr", quantile),
		"split by group": byGroup("split", quantile, 0), "cqr by group": byGroup("cqr", quantile, 0)} {
		p := fitted(t, s, data)
		streamed, err := s.FitSource(ctx, data.Source())
		if err != nil {
			t.Fatal(err)
		}
		alike(t, name, everything(t, streamed, data.X)[1].([]float64), everything(t, p, data.X)[1].([]float64), 1e-9)
		all, err := estimator.Predict(ctx, p, probe, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		for i, lower := range all.Lower {
			widths[name] = append(widths[name], all.Upper[i]-lower)
		}
	}
	for g := range 3 {
		if exact := 2 * 1.645 * math.Pow(3, float64(g)); math.Abs(widths["cqr"][g]-exact) > 0.15*exact ||
			math.Abs(widths["split by group"][g]-exact) > 0.15*exact || widths["split"][g] != widths["split"][0] {
			t.Errorf("group %d: widths %v, want about %.3g", g, widths, exact)
		}
	}
	for i := 3; i < 5; i++ {
		if w := widths["split by group"]; w[i] < w[1] || w[i] > w[2] {
			t.Errorf("a row of no group has width %v; groups have %v", w[i], w[:3])
		}
	}
}

// TestSmallGroupsArePooled checks that groups with too few calibration rows share one calibration for every
// seed, in memory and streamed, and that a model names them. A pool that is too small uses all rows.
func TestSmallGroupsArePooled(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	rows := func(sizes ...int) datasets.Set {
		data := datasets.Set{Schema: datasets.Schema{Columns: []datasets.Column{{Name: "x"},
			{Name: "group"}}}}
		var values []float64
		for g, n := range sizes {
			for range n {
				x := rng.NormFloat64()
				values, data.Y = append(values, x, float64(g)), append(data.Y, x+math.Pow(3, float64(g))*rng.NormFloat64())
			}
		}
		data.X = mat.NewDense(len(data.Y), 2, values)
		return data
	}
	width := func(p estimator.Predictor, group float64) float64 {
		out, err := estimator.Predict(context.Background(), p, mat.NewDense(1, 2, []float64{0, group}), estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Upper[0] - out.Lower[0]
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	pool, tiny := rows(200, 14, 10), rows(200, 4, 3)
	for seed := range uint64(20) {
		s := byGroup("split", estimator.NewRidge(), seed)
		p := fitted(t, s, pool)
		if got := datasets.TagsOf(p).PooledGroups; !slices.Equal(got, []string{"1", "2"}) {
			t.Fatalf("seed %d: pooled groups %q", seed, got)
		}
		if a, b, c := width(p, 0), width(p, 1), width(p, 2); !near(b, c) || a >= b {
			t.Fatalf("seed %d: widths %v, %v and %v", seed, a, b, c)
		}
		streamed, err := s.FitSource(context.Background(), pool.Source())
		if err != nil || !near(width(streamed, 1), width(p, 1)) {
			t.Fatalf("seed %d: streamed %v", seed, err)
		}
		all := fitted(t, s, tiny)
		if got := datasets.TagsOf(all).PooledGroups; !slices.Equal(got, []string{"1", "2"}) ||
			!near(width(all, 1), width(all, -1)) {
			t.Fatalf("seed %d: a small pool %q has width %v, all rows %v", seed, got, width(all, 1), width(all, -1))
		}
	}
	restored := reloaded(t, fitted(t, pipeline.Steps().Then(byGroup("split", estimator.NewRidge(), 0)), pool))
	if got := estimator.FittedTags(restored).PooledGroups; !slices.Equal(got, []string{"1", "2"}) {
		t.Error("a model from a file does not name the pooled groups")
	}
}

// TestUnequalDataGroups checks that the calibration has enough rows for every seed if groups have few and
// many rows.
func TestUnequalDataGroups(t *testing.T) {
	data := noisyGroups(2, 50)
	data.Groups = make([]int, 50)
	for i := range 10 {
		data.Groups[i] = 1 + i
	}
	for seed := range uint64(20) {
		s := intervals("split", estimator.NewRidge())
		s.Seed = seed
		fitted(t, s, data)
	}
}

// TestCoverageOfSetsByGroup compares the coverage of sets with ⌈level·(m+1)⌉/(m+1) for the m calibration rows
// of each group, in units of its standard error over fits. Where the model is right more often than that,
// sets have one class, and their coverage is its accuracy.
func TestCoverageOfSetsByGroup(t *testing.T) {
	const fits, n = 800, 210
	signs := []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	rows := func(rng *rand.Rand, n int) datasets.Set {
		data := datasets.Set{X: mat.NewDense(n, 2, nil), Schema: datasets.Schema{
			Columns: []datasets.Column{{Name: "x"}, {Name: "group"}}, Targets: signs}}
		for i := range n {
			g, y := []float64{0, 1, 2, 0, 1, 0, 1}[i%7], float64(rng.IntN(2))
			apart := []float64{0.5, 6, 1}[int(g)]
			data.X.(*mat.Dense).SetRow(i, []float64{apart*(y-0.5) + rng.NormFloat64(), g})
			data.Y = append(data.Y, y)
		}
		return data
	}
	var covered, right [3][]float64 // share of the test rows of a group, of each fit
	for seed := range uint64(fits) {
		rng := rand.New(rand.NewPCG(seed, 52))
		test := rows(rng, 7*200)
		p := fitted(t, byGroup("split", estimator.NewLogistic(), seed), rows(rng, n))
		got, err := estimator.Predict(context.Background(), p, test.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var in, hits, count [3]float64
		for i, y := range test.Y {
			g := int(test.X.At(i, 1))
			count[g]++
			in[g] += got.Sets.At(i, int(y))
			if got.Values[i] == y {
				hits[g]++
			}
		}
		for g := range count {
			covered[g], right[g] = append(covered[g], in[g]/count[g]), append(right[g], hits[g]/count[g])
		}
	}
	for g, m := range map[int]float64{0: 45, 2: 15} { // half of the rows of each group calibrate
		mean, sd := stat.MeanStdDev(covered[g], nil)
		want, se := math.Ceil(0.9*(m+1))/(m+1), sd/math.Sqrt(fits)
		if math.Abs(mean-want) > 3*se || want-0.9 < 5*se {
			t.Errorf("group %d: coverage %.4f, of standard error %.4f, want %.4f", g, mean, se, want)
		}
	}
	if mean := stat.Mean(right[1], nil); mean < 0.95 || !slices.Equal(covered[1], right[1]) {
		t.Errorf("coverage %v where %v of the predictions are right", covered[1], right[1])
	}
}
