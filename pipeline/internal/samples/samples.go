// Package samples provides rows and steps for tests of pipelines.
package samples

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// People returns rows with numeric columns, a categorical one, missing values, and two classes that
// depend on all columns.
func People(n int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 9))
	X, y := mat.NewDense(n, 4, nil), make([]float64, n)
	for i := range n {
		age, hours, color, cap := rng.NormFloat64()*10+40, rng.Float64()*60, float64(rng.IntN(3)), rng.ExpFloat64()
		if age*hours/1500+color/2+cap/3+rng.NormFloat64()/4 > 1.6 {
			y[i] = 1
		}
		X.SetRow(i, []float64{age, hours, color, cap})
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "age"}, {Name: "hours"},
			{Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red"}}, {Name: "cap-gain"}},
		Targets: []datasets.Column{{Name: "rich", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}},
	}}
}

// Amounts returns data with a numeric target.
func Amounts(data datasets.Set) datasets.Set {
	data.Schema.Targets = []datasets.Column{{Name: "rich"}}
	return data
}

// Numbers returns People with a numeric color and a numeric target.
func Numbers(n int, seed uint64) datasets.Set {
	data := Amounts(People(n, seed))
	data.Schema.Columns = slices.Clone(data.Schema.Columns)
	data.Schema.Columns[2] = datasets.Column{Name: "colour"}
	return data
}

// Encoder returns a step that standardizes numeric columns and one-hot encodes the categorical one.
func Encoder() pipeline.Columns {
	return pipeline.NewColumns(
		pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewImpute(),
			transformer.NewStandardize())},
		pipeline.Group{Select: []string{"colour"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	)
}

// Fourier returns a map with the given number of random Fourier features.
func Fourier(features int) transformer.RFF {
	s := transformer.NewRFF()
	s.Features, s.Gamma, s.Seed = features, kernel.FixedGamma(0.2), 5
	return s
}
