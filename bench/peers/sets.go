package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// data is the directory of the data files.
const data = "../shared/data/"

// set is a table with the models of ours that are fitted to it.
type set struct {
	name, what string
	task       datasets.Task
	rows       func(ctx context.Context) (train, test datasets.Set, err error)
	models     []model
	gamma      float64 // of the peers' random features
	features   int
	score      string   // default: accuracy or r2
	peers      []string // scikit-learn models on random features; default: LightGBM and liblinear
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
	{name: "counts", what: "100,000 hourly counts drawn from Poisson distributions, 8 columns, and 20,000 to test; " +
		"D² of the Poisson deviance", task: datasets.Regression, rows: counts, score: "d2_poisson",
		models: fourier("poisson: {alpha: 1.0e-4}", 0.1, 1000), gamma: 0.1, features: 1000,
		peers: []string{"PoissonRegressor(alpha=1e-4, max_iter=1000)",
			"PoissonRegressor(alpha=1e-4, solver='newton-cholesky')"}},
	{name: "abalone", what: "3,342 abalones, 7 columns, and 835 to test; D² of the gamma deviance of their rings",
		task: datasets.Regression, rows: abalone, score: "d2_gamma",
		models: fourier("gamma_regression: {alpha: 1.0e-3}", 0.05, 300), gamma: 0.05, features: 300,
		peers: []string{"GammaRegressor(alpha=1e-3, max_iter=1000)", "GammaRegressor(alpha=1e-3, solver='newton-cholesky')"}},
	{name: "pollution", what: "33,406 hours of PM2.5 in Beijing, 10 columns, and 8,351 to test; " +
		"D² of the Tweedie deviance of power 1.5",
		task: datasets.Regression, rows: pollution, score: "d2_tweedie_1.5",
		models: fourier("tweedie: {power: 1.5, alpha: 1.0e-4}", 0.1, 1000), gamma: 0.1, features: 1000,
		peers: []string{"TweedieRegressor(power=1.5, link='log', alpha=1e-4, max_iter=1000)",
			"TweedieRegressor(power=1.5, link='log', alpha=1e-4, solver='newton-cholesky')"}},
	{name: "quantiles", what: "5,000 rows of protein structures, and 9,146 to test; " +
		"D² of the pinball loss of the quantile 0.9",
		task: datasets.Regression, rows: sampleProteins, score: "d2_pinball_0.9",
		models: fourier("quantile_regression: {quantile: 0.9, alpha: 1.0e-4}", 0.5, 200), gamma: 0.5, features: 200,
		peers: []string{"QuantileRegressor(quantile=0.9, alpha=1e-4)"}},
	{name: "huber", what: "36,584 rows of protein structures, and 9,146 to test; D² of the absolute error",
		task: datasets.Regression, rows: protein, score: "d2_absolute_error",
		models: fourier("huber: {alpha: 1.0e-4}", 0.5, 1000), gamma: 0.5, features: 1000,
		peers: []string{"HuberRegressor(alpha=1e-4)"}},
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

func sampleProteins(ctx context.Context) (train, test datasets.Set, err error) {
	train, test, err = protein(ctx)
	return train.Slice(0, min(5000, train.Rows())), test, err
}

// counts are hourly rentals: their mean depends on the hour, the weekday, the season and the weather.
func counts(context.Context) (train, test datasets.Set, err error) {
	const n, held = 100_000, 20_000
	source := rand.NewPCG(1, 3)
	rng := rand.New(source)
	X, y := mat.NewDense(n+held, 8, nil), make([]float64, n+held)
	for i := range y {
		hour, weekday, season := rng.Float64()*24, float64(rng.IntN(7)), rng.Float64()*2*math.Pi
		temperature := 12 - 12*math.Cos(season) + 5*rng.NormFloat64()
		humidity, wind := rng.Float64(), 10*rng.ExpFloat64()
		X.SetRow(i, []float64{math.Sin(hour * math.Pi / 12), math.Cos(hour * math.Pi / 12), weekday, math.Sin(season),
			math.Cos(season), temperature, humidity, wind})
		peak := math.Exp(-(hour-8)*(hour-8)/4) + math.Exp(-(hour-18)*(hour-18)/6)
		if weekday > 4 {
			peak = 1.5 * math.Exp(-(hour-14)*(hour-14)/20)
		}
		comfort := (temperature - 22) / 15
		mean := math.Exp(0.5 + 2*peak - comfort*comfort - humidity*humidity - wind/40)
		y[i] = distuv.Poisson{Lambda: mean, Src: source}.Rand()
	}
	all := datasets.New(X).WithTarget("count", y)
	return all.Slice(0, n), all.Slice(n, n+held), nil
}

func abalone(ctx context.Context) (train, test datasets.Set, err error) {
	all, err := arff.Options{Roles: datasets.Roles{
		Target: []string{"Class_Rings"}, Task: datasets.Regression, Drop: []string{"Sex"}}}.ReadFile(
		ctx, data+"torgo_regression/abalone.arff.gz")
	if err != nil {
		return train, test, err
	}
	train, test = split(all)
	return train, test, nil
}

// pollution has the hours with a known target above 0; the wind direction, a category, is omitted.
func pollution(ctx context.Context) (train, test datasets.Set, err error) {
	all, err := csv.Options{Missing: []string{"NA"},
		Roles: datasets.Roles{Target: []string{"pm2.5"}, Task: datasets.Regression, DropMissingTarget: true,
			Drop: []string{"No", "cbwd"}}}.ReadFile(ctx, data+"mixed/pollution.csv.gz")
	if err != nil {
		return train, test, err
	}
	train, test = split(all)
	return train, test, nil
}

// read reads a numeric file of the data directory. A random fifth of its rows is the test set.
func read(ctx context.Context, path, target, delimiter string) (train, test datasets.Set, err error) {
	all, err := csv.Options{Roles: datasets.Roles{Target: []string{target},
		Task: datasets.Regression}, Delimiter: delimiter, NoHeader: true}.ReadFile(ctx, data+path)
	if err != nil {
		return train, test, fmt.Errorf("the data files must be next to the checkout: %w", err)
	}
	train, test = split(all)
	return train, test, nil
}

// split draws a fifth of the rows as the test set.
func split(all datasets.Set) (train, test datasets.Set) {
	order := rand.New(rand.NewPCG(1, 2)).Perm(all.Rows())
	k := all.Rows() / 5
	return all.Select(order[k:]), all.Select(order[:k])
}
