package transformer

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Training rows are encoded by the means of the rows of other folds, computed here by the definition.
func TestTargetEncodeCrossFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, levels = 300, 12
	categories := make([]string, levels)
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n), Weights: make([]float64, n)}
	for range 2 {
		data.Schema.Columns = append(data.Schema.Columns, datasets.Column{Kind: datasets.Categorical, Categories: categories})
	}
	for i := range n {
		data.X.(*mat.Dense).SetRow(i, []float64{float64(rng.IntN(levels)), float64(rng.IntN(levels + 1))})
		if data.X.At(i, 1) == levels {
			data.X.(*mat.Dense).Set(i, 1, math.NaN())
		}
		data.Y[i] = data.X.At(i, 0) + rng.NormFloat64()
		data.Weights[i] = float64(rng.IntN(4)) // a quarter of the rows do not count
	}
	for _, smooth := range []float64{autoSmooth, 0, 3} {
		spec := TargetEncode{Smooth: smooth, Folds: 4, Seed: 5}
		_, Z, err := spec.FitTransform(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		fold := datasets.HashKFold{Folds: spec.Folds, Seed: spec.Seed}
		want := mat.NewDense(n, 2, nil)
		for i := range n {
			for j := range 2 {
				var all, own []float64
				for r := range n {
					if data.Weights[r] == 0 || fold.Of(r) == fold.Of(i) {
						continue
					}
					all = append(all, data.Y[r])
					if a, b := data.X.At(r, j), data.X.At(i, j); a == b || a != a && b != b {
						own = append(own, data.Y[r])
					}
				}
				want.Set(i, j, shrunkMean(own, all, smooth))
			}
		}
		equal(t, Z, want, 1e-12)
	}
}

// shrunkMean is the encoding of a category with the targets own, by the definition.
func shrunkMean(own, all []float64, smooth float64) float64 {
	mean, variance := meanAndVariance(all)
	if len(own) == 0 {
		return mean
	}
	center, within := meanAndVariance(own)
	n := float64(len(own))
	part := n / (n + smooth)
	if smooth == autoSmooth {
		part = n * variance / (n*variance + within)
	}
	return part*center + (1-part)*mean
}

func meanAndVariance(list []float64) (mean, variance float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		variance += (v - mean) * (v - mean) / float64(len(list))
	}
	return mean, variance
}

// TestTargetEncodeOfClasses checks that three classes give one column each: the one-vs-rest
// encoding of that class.
func TestTargetEncodeOfClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	const n = 90
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Y: make([]float64, n)}
	data.Schema.Columns = []datasets.Column{{Name: "city", Kind: datasets.Categorical,
		Categories: []string{"a", "b", "c"}}}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(rng.IntN(3)))
		data.Y[i] = float64(rng.IntN(3))
	}
	classes := data
	classes.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical,
		Categories: []string{"u", "v", "w"}}}
	f := mustFit(t, NewTargetEncode(), classes)
	Z := mustTransform(t, f, data.X)
	for c := range 3 {
		single := data
		single.Y = make([]float64, n)
		for i, y := range data.Y {
			if y == float64(c) {
				single.Y[i] = 1
			}
		}
		equal(t, Z.(*mat.Dense).Slice(0, n, c, c+1), mustTransform(t, mustFit(t, NewTargetEncode(), single), data.X), 1e-12)
	}
	columns := f.(Describer).OutputSchema(classes.Schema).Columns
	if len(columns) != 3 || columns[1].Name != "city_v" || columns[1].EncodedFrom != "city" {
		t.Errorf("the columns are %v", columns)
	}
}

// Several targets have a column each, which are the encodings of that target.
func TestTargetEncodeOfSeveralTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const n = 80
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Targets: mat.NewDense(n, 2, nil)}
	data.Schema.Columns = []datasets.Column{{Name: "city", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(rng.IntN(2)))
		data.Targets.SetRow(i, []float64{rng.NormFloat64(), 1e9 + rng.NormFloat64()})
	}
	for name, targets := range map[string][]datasets.Column{"city_0": nil, "city_u": {{Name: "u"}, {Name: "v"}}} {
		data.Schema.Targets = targets
		f, Z, err := NewTargetEncode().FitTransform(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			single := data
			single.Targets, single.Schema.Targets, single.Y = nil, nil, mat.Col(nil, k, data.Targets)
			_, want, err := NewTargetEncode().FitTransform(context.Background(), single)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, Z.(*mat.Dense).Slice(0, n, k, k+1), want, 1e-15)
		}
		if got := f.(Describer).OutputSchema(data.Schema).Columns[0].Name; got != name {
			t.Errorf("the first column is %s, want %s", got, name)
		}
	}
}

// TestTargetEncodeRefuses checks that invalid data are errors.
func TestTargetEncodeRefuses(t *testing.T) {
	good := datasets.Set{X: mat.NewDense(3, 1, []float64{0, 1, 1}), Y: []float64{0, 2, 1}, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "city", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}}
	for want, change := range map[string]func(data *datasets.Set){
		"column x0 must be categorical":         func(data *datasets.Set) { data.Schema.Columns = nil },
		"the data have no targets":              func(data *datasets.Set) { data.Y = nil },
		"row 2: target must be finite, got NaN": func(data *datasets.Set) { data.Y = []float64{1, 2, math.NaN()} },
		"weights must not all be 0":             func(data *datasets.Set) { data.Weights = make([]float64, 3) },
		"the range of the targets overflows":    func(data *datasets.Set) { data.Y = []float64{1e308, -1e308, 1} },
		"row 1, column city: 3 is not the code of": func(data *datasets.Set) {
			data.X = mat.NewDense(3, 1, []float64{0, 3, 0})
		},
		"row 1: target must be a class code": func(data *datasets.Set) {
			data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		},
	} {
		data := good
		change(&data)
		f, err := NewTargetEncode().Fit(context.Background(), data)
		if f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestTargetEncodeRelevance checks that a column that is independent of the targets has no
// relevance, however many categories it has.
func TestTargetEncodeRelevance(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	const n, levels = 2000, 400
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for range 2 {
		data.Schema.Columns = append(data.Schema.Columns,
			datasets.Column{Kind: datasets.Categorical, Categories: make([]string, levels)})
	}
	for i := range n {
		data.X.(*mat.Dense).SetRow(i, []float64{float64(rng.IntN(levels)), float64(rng.IntN(5))})
		data.Y[i] = data.X.At(i, 1) + rng.NormFloat64()
	}
	got := mustFit(t, NewTargetEncode(), data).(*fittedTargetEncode).Relevance()
	if got[0] > 0.02 || got[1] != 1 {
		t.Errorf("the relevance is %v", got)
	}
}
