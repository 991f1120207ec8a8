package auto

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// recipe is a representation of the inputs, a map of it and a model.
type recipe struct {
	representation
	mapping
	head
}

// penalties are the bounds of the coarse grid of penalties, and what it may be extended to.
func (r recipe) penalties() (low, high, floor, most int) {
	h := r.head
	if r.mapping.least == 0 || h.task == datasets.Classification && h.late {
		return h.low, h.high, h.floor, h.most
	}
	return max(h.low, r.mapping.least), h.high, max(h.floor, r.mapping.least), h.most
}

// String is the recipe's name.
func (r recipe) String() string {
	return r.representation.name + " " + r.mapping.name + " " + r.head.name
}

// representation is what the inputs are before they are mapped.
type representation struct {
	name   string
	scale  transformer.Fitter                                   // in the place of standardize; nil leaves the cleaning as it is
	learn  func(rows, size int, seed uint64) transformer.Fitter // behind the cleaning, from so many rows with so wide a map; nil for nothing
	family string                                               // of representations that share what they learn, fitted together
	scaled bool                                                 // whether γ 1 is what it has learned
	dense  bool                                                 // whether it takes dense rows only
}

// mapping is the random map of a recipe, or none.
type mapping struct {
	name string
	rule string // kernel whose rule "scale" γ is counted from; "" for no γ
	half bool   // whether γ multiplies distances, and not their squares
	size string // path of its size
	step func(size int, gamma transformer.Gamma, seed uint64) transformer.Fitter
	// Of a map with sparse rows, ridge regression is solved by iterations, which take long where the
	// penalty is small: loose is the tolerance of these, and least the smallest penalty; 0 for the usual.
	loose float64
	least int
}

// head is the model of a recipe.
type head struct {
	name          string
	task          datasets.Task
	late          bool   // whether it enters in the second round, on the maps that did well with another head
	probabilities bool   // whether its models have probabilities
	penalty       string // path of it
	low, high     int    // quarters of a decade of the penalty, coarse grid from low to high
	floor, most   int    // that the grid is extended to
	model         func(penalty, loose float64) estimator.Estimator
}

// representations are listed in the order in which a small budget tries them.
func representations() []representation {
	return []representation{
		{name: "zscores"},
		{name: "unit", scale: transformer.NewMinMax(), dense: true},
		{name: "robust", scale: transformer.NewRobust(), dense: true},
	}
}

func mappings() []mapping {
	return []mapping{
		{name: "gaussian", rule: "gaussian", size: "rff.features", step: fourier("gaussian")},
		{name: "exponential", rule: "exponential", half: true, size: "rff.features", step: fourier("exponential")},
		{name: "binning", rule: "laplacian", half: true, size: "binning.grids", step: binned(), loose: 1e-6, least: -4},
		{name: "linear"},
	}
}

func heads() []head {
	return []head{
		{name: "ridge", penalty: "ridge.alpha", task: datasets.Regression, low: -24, high: 8, floor: -48, most: 24, model: func(v, loose float64) estimator.Estimator {
			m := estimator.NewRidge()
			if m.Alpha = v; loose > 0 {
				m.Tol = loose
			}
			return m
		}},
		{name: "ridge_classifier", penalty: "ridge_classifier.alpha", task: datasets.Classification, low: -20, high: 8, floor: -40, most: 24, model: func(v, loose float64) estimator.Estimator {
			m := estimator.NewRidgeClassifier()
			if m.Alpha = v; loose > 0 {
				m.Tol = loose
			}
			return m
		}},
		{name: "logistic", penalty: "logistic.C", task: datasets.Classification, late: true, probabilities: true, low: -8, high: 16, floor: -16, most: 28, model: func(v, _ float64) estimator.Estimator {
			m := estimator.NewLogistic()
			m.C = v
			return m
		}},
		{name: "svm", penalty: "svm.C", task: datasets.Classification, late: true, low: -8, high: 16, floor: -16, most: 28, model: func(v, _ float64) estimator.Estimator {
			m := estimator.NewSVM()
			m.C = v
			return m
		}},
	}
}

func fourier(kernel string) func(int, transformer.Gamma, uint64) transformer.Fitter {
	return func(size int, gamma transformer.Gamma, seed uint64) transformer.Fitter {
		s := transformer.NewRFF()
		s.Kernel, s.Features, s.Gamma, s.Seed = kernel, size+size%2, gamma, seed
		return s
	}
}

func binned() func(int, transformer.Gamma, uint64) transformer.Fitter {
	return func(size int, gamma transformer.Gamma, seed uint64) transformer.Fitter {
		s := transformer.NewBinning()
		s.Grids, s.Gamma, s.Seed = max(size/4, 1), gamma, seed
		return s
	}
}

// table lists all recipes of a task, those first that a small budget should try: every map on the first
// representation, then the next representation.
func table(task datasets.Task) []recipe {
	var out []recipe
	for _, h := range heads() {
		if h.task != task {
			continue
		}
		for _, p := range representations() {
			for _, m := range mappings() {
				if m.rule == "" && p.name != "zscores" {
					continue // a linear model gains nothing from another scale that a penalty does not give
				}
				out = append(out, recipe{p, m, h})
			}
		}
	}
	return out
}

// Recipes returns the names of all recipes: representation, map and model.
func Recipes() []string {
	var out []string
	for _, task := range []datasets.Task{datasets.Regression, datasets.Classification} {
		for _, r := range table(task) {
			out = append(out, r.String())
		}
	}
	return out
}

func known(name string) bool { return slices.Contains(Recipes(), name) }

// Clean returns the steps that make numbers of the columns of data, without missing values: medians for
// what is missing among numbers, z-scores, and a column of its own for each category. Sparse rows stay as
// they are.
func Clean(data datasets.Set) pipeline.Sequence {
	if isSparse(data) {
		return nil
	}
	numeric, categorical, missing := 0, 0, false
	for j := range data.Cols() {
		if data.Schema.Column(j).Kind == datasets.Categorical {
			categorical++
			continue
		}
		numeric++
		for i := 0; i < data.Rows() && !missing; i++ {
			missing = math.IsNaN(data.X.At(i, j))
		}
	}
	scale := pipeline.Steps(transformer.NewStandardize())
	if missing {
		fill := transformer.NewImpute()
		fill.Strategy = "median"
		scale = append(pipeline.Steps(fill), scale...)
	}
	if categorical == 0 {
		return scale
	}
	var groups []pipeline.Group
	if numeric > 0 {
		groups = append(groups, pipeline.Group{Select: []string{"numeric"}, Steps: scale})
	}
	levels := transformer.NewOneHot()
	if data.Rows() >= 1000 {
		levels.MinCount = 10
	}
	groups = append(groups, pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(levels)})
	return pipeline.Steps(pipeline.NewColumns(groups...))
}

// rescaled returns steps with another one in the place of every standardize, in composites too.
func rescaled(steps []pipeline.Step, scale transformer.Fitter) []pipeline.Step {
	out := slices.Clone(steps)
	if scale == nil {
		return out
	}
	for i, s := range out {
		switch fitter := s.Fitter.(type) {
		case transformer.Standardize:
			out[i] = pipeline.Step{Fitter: scale}
		case pipeline.Composite:
			out[i].Fitter = fitter.WithChildren(rescaled(fitter.Children(), scale))
		}
	}
	return out
}

// standardizes reports whether there is a standardize for a representation to take the place of.
func standardizes(steps []pipeline.Step) bool {
	for _, s := range steps {
		switch fitter := s.Fitter.(type) {
		case transformer.Standardize:
			return true
		case pipeline.Composite:
			if standardizes(fitter.Children()) {
				return true
			}
		}
	}
	return false
}

// isSparse reports whether rows are sparse.
func isSparse(data datasets.Set) bool {
	_, ok := data.X.(interface{ NNZ() int })
	return ok
}
