package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// set is a table with the models of ours that are fitted to it.
type set struct {
	name, what string
	task       datasets.Task
	rows       func(ctx context.Context) (train, test datasets.Set, err error)
	models     []model
	gamma      float64 // of the peers' random features
	features   int
}

type model struct{ name, yaml string }

var sets = []set{
	{name: "drawn", what: "100,000 rows of 54 normal columns, y = sin x₀ + x₁x₂ + 0.1·ε, and 20,000 to test; R²",
		task: datasets.Regression,
		rows: drawn, models: fourier("ridge: {alpha: 0.1}", 0.01, 500, 1000, 2048), gamma: 0.01, features: 500},
	{name: "covtype", what: "74,370 rows of Forest Cover, class 2 against the others, and 18,592 to test; accuracy",
		task: datasets.Classification,
		rows: covtype, models: append(fourier("logistic: {C: 10}", 0.1, 500, 1000, 2048), bins(50), bins(200)), gamma: 0.1,
		features: 500},
	{name: "protein", what: "36,584 rows of protein structures, 9 columns, and 9,146 to test; R²",
		task: datasets.Regression,
		rows: protein, models: fourier("ridge: {alpha: 0.1}", 0.5, 500, 1000, 2048), gamma: 0.5, features: 500},
}

// fourier are pipelines of features of several widths.
func fourier(last string, gamma float64, widths ...int) (out []model) {
	kind, _, _ := strings.Cut(last, ":")
	for _, d := range widths {
		out = append(out, model{fmt.Sprintf("rff of %d, %s", d, kind),
			fmt.Sprintf("- standardize\n- rff: {gamma: %v, features: %d}\n- %s", gamma, d, last)})
	}
	return out
}

func bins(grids int) model {
	return model{fmt.Sprintf("binning of %d, svm", grids),
		fmt.Sprintf("- minmax\n- binning: {gamma: 8, grids: %d}\n- svm: {C: 1, loss: hinge, tol: 0.01}", grids)}
}

// drawn are the rows of the fits in the table of package bench/compare.
func drawn(context.Context) (train, test datasets.Set, err error) {
	const n, held, d = 100_000, 20_000, 54
	rng := rand.New(rand.NewPCG(1, 1))
	all := datasets.Set{X: mat.NewDense(n+held, d, nil), Y: make([]float64, n+held)}
	all.Schema.Targets = []datasets.Column{{Name: "y"}}
	for j := range d {
		all.Schema.Columns = append(all.Schema.Columns, datasets.Column{Name: fmt.Sprintf("x%d", j)})
	}
	for i := range all.Y {
		x := all.X.(*mat.Dense).RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		all.Y[i] = math.Sin(x[0]) + x[1]*x[2] + 0.1*rng.NormFloat64()
	}
	return all.Slice(0, n), all.Slice(n, n+held), nil
}

func covtype(ctx context.Context) (train, test datasets.Set, err error) {
	train, test, err = read(ctx, "covtype_subset/covtype_random92962.data.gz", "x54", "")
	for _, s := range []*datasets.Set{&train, &test} {
		for i, y := range s.Y {
			if s.Y[i] = 0; y == 2 {
				s.Y[i] = 1
			}
		}
		s.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: []string{"other", "2"}}}
	}
	return train, test, err
}

func protein(ctx context.Context) (train, test datasets.Set, err error) {
	return read(ctx, "uci_regression/protein-tertiary-structure.txt.gz", "x9", "space")
}

// read reads a numeric file of the data directory. A random fifth of its rows is the test set.
func read(ctx context.Context, path, target, delimiter string) (train, test datasets.Set, err error) {
	const data = "../shared/data/"
	if _, err := os.Stat(data + path); err != nil {
		return train, test, fmt.Errorf("the data files must be next to the checkout: %w", err)
	}
	all, err := csv.ReadFile(ctx, data+path, csv.Options{Roles: datasets.Roles{Target: []string{target},
		Task: datasets.Regression}, Delimiter: delimiter, NoHeader: true})
	if err != nil {
		return train, test, err
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(all.Rows())
	k := all.Rows() / 5
	return all.Select(order[k:]), all.Select(order[:k]), nil
}
