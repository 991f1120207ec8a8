package auto

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// recipe is a representation of the inputs, a map of it and a model.
type recipe struct {
	representation
	mapping
	head
}

// String is the recipe's name.
func (r recipe) String() string {
	return r.representation.name + " " + r.mapping.name + " " + r.head.name
}

// part is a step or a model by the name that it is registered under, with parameters that differ from their
// defaults.
type part struct {
	name     string
	settings []param.Setting
}

// of makes a part; settings are paths and values in turn.
func of(name string, settings ...any) part {
	p := part{name: name}
	for i := 0; i < len(settings); i += 2 {
		p.settings = append(p.settings, param.Setting{Path: settings[i].(string), Value: settings[i+1]})
	}
	return p
}

// spec returns the part with more settings.
func (p part) spec(more ...param.Setting) (any, error) {
	entry, ok := pipeline.Lookup(p.name)
	if !ok {
		return nil, fmt.Errorf("no step is called %s", p.name)
	}
	return param.With(entry.New(), append(slices.Clone(p.settings), more...)...)
}

// fitter is spec of a step.
func (p part) fitter(more ...param.Setting) (transformer.Fitter, error) {
	spec, err := p.spec(more...)
	if err != nil {
		return nil, err
	}
	return spec.(transformer.Fitter), nil
}

// representation is what the inputs are before they are mapped.
type representation struct {
	name   string
	scale  part                     // in the place of standardize; without a name the cleaning stays as it is
	learn  part                     // behind the cleaning; without a name nothing is learned
	effort [efforts][]param.Setting // how much it learns from: in the first round, in the next, and with wide maps
	family string                   // of representations that share what they learn, fitted together; "" is the name
	scaled bool                     // whether γ 1 is what it has learned
	dense  bool                     // whether it takes dense rows only
	alike  bool                     // whether it is for columns of one kind only, and tried first
}

// mapping is the random map of a recipe, or none.
type mapping struct {
	name   string
	step   part
	rule   string // kernel whose rule "scale" γ is counted from; "" for no γ
	half   bool   // whether γ multiplies distances, and not their squares
	size   string // parameter that is its size
	part   int    // fraction of the size of a round
	inputs int    // columns, at least, that make it worth a try
	rows   int    // that it is tried on, at most; 0 for any number
	from   int    // rows, at least, for ridge regression: with fewer the exact kernel is cheaper
	exact  bool   // whether there is no map: the model has a kernel of its own
	plain  bool   // whether only the first representation is tried: others gain nothing

	// Of a map with sparse rows, ridge regression is solved by iterations, which take long where the
	// penalty is small: loose is the tolerance of these, and least the smallest penalty; 0 for the usual.
	loose float64
	least int
}

// sparse reports whether the rows of the map are sparse, as those of binning are.
func (m mapping) sparse() bool { return m.loose > 0 }

// exports reports whether models on the map can be exported, which the hashes of bins prevent.
func (m mapping) exports() bool { return m.step.name != "binning" }

// follows reports whether a late model on this map is worth a try where another one has done well on that map: the
// same, or this is a map of the exact kernel.
func (m mapping) follows(that mapping) bool {
	return m.name == that.name || that.exact && !m.exact && m.rule == that.rule && m.size != ""
}

// head is the model of a recipe.
type head struct {
	name          string
	task          datasets.Task
	model         part
	late          bool    // whether it enters in the second round, on the maps that did well with another head
	probabilities bool    // whether its models have probabilities
	exact         bool    // whether it has a kernel of its own, and
	loose         float64 // the tolerance of its iterations then
	target        string  // transformation of the targets, as in meta.Target; "" for none
	iterates      bool    // whether a loose tolerance is of use to it
	steps         int     // how many times what is foreseen it may take on a dense map, as long as nothing else is known
	penalty       string  // parameter that is its penalty
	low, high     int     // quarters of a decade of the penalty, coarse grid from low to high
	floor, most   int     // that the grid is extended to
}

// modelPath is the path of its model among the parameters of a pipeline.
func (h head) modelPath() string {
	if h.target != "" {
		return "target.estimator"
	}
	return h.model.name
}

// efforts is how many ways there are of learning more or less thoroughly.
const efforts = 3

func scales(more ...any) part { return of("ard", more...) }

var scalesEffort = [efforts][]param.Setting{
	of("", "features", 200, "steps", 40, "restarts", 2).settings,
	of("", "features", 400, "steps", 60).settings,
	of("", "features", 600, "steps", 80).settings,
}

var machineEffort = [efforts][]param.Setting{
	of("", "part", 1000).settings,
	of("", "part", 2000).settings,
	of("", "part", 4000).settings,
}

// representations are listed in the order in which a small budget tries them.
var representations = []representation{
	{name: "zscores"},
	{name: "scales", learn: scales(), effort: scalesEffort, family: "scales", scaled: true, dense: true},
	{name: "ranks", scale: of("quantile"), dense: true},
	{name: "machine", learn: of("rfm"), effort: machineEffort, scaled: true, dense: true},
	{name: "ranked scales", scale: of("quantile"), learn: scales(), effort: scalesEffort, family: "ranked", scaled: true,
		dense: true},
	{name: "root scales", learn: scales("power", 0.5), effort: scalesEffort, family: "scales", scaled: true, dense: true},
	{name: "unit", scale: of("minmax"), dense: true},
	{name: "raw", scale: of("standardize", "std", false), dense: true, alike: true},
}

var mappings = []mapping{
	{name: "gaussian", step: of("rff", "kernel", "gaussian"), from: 1500, rule: "gaussian", size: "features", part: 1},
	{name: "gaussian landmarks", step: of("nystroem", "kernel", "gaussian"), from: 1500, rule: "gaussian",
		size: "landmarks", part: 2},
	{name: "exponential", step: of("rff", "kernel", "exponential"), from: 1500, rule: "exponential", half: true,
		size: "features", part: 1},
	{name: "exact exponential", step: of("", "kernel", "exponential"), rule: "exponential", half: true, rows: 100_000,
		exact: true},
	{name: "exact gaussian", step: of("", "kernel", "gaussian"), rule: "gaussian", rows: 100_000, exact: true},
	{name: "binning", step: of("binning"), rule: "laplacian", half: true, size: "grids", part: 4, loose: 1e-4, least: -4},
	{name: "few", step: of("binning", "inputs", 4, "input_weights", "scales"), rule: "laplacian", half: true,
		size: "grids", part: 4, inputs: 8, loose: 1e-4, least: -4},
	{name: "exact laplacian", step: of("", "kernel", "laplacian"), rule: "laplacian", half: true, rows: 100_000,
		exact: true},
	{name: "landmarks", step: of("nystroem", "kernel", "exponential"), from: 1500, rule: "exponential", half: true,
		size: "landmarks", part: 2},
	{name: "linear", plain: true},
}

var (
	ridge = head{name: "ridge", task: datasets.Regression, model: of("ridge"), penalty: "alpha", low: -24, high: 8,
		floor: -48, most: 24, iterates: true}
	kernelRidge = head{name: "kernel_ridge", task: datasets.Regression, model: of("kernel_ridge"), penalty: "alpha",
		low: -16, high: 4, floor: -32, most: 16, exact: true, loose: 1e-3}
)

// on is the head fitted to transformed targets.
func (h head) on(target string) head {
	h.name, h.target, h.late = target+"_"+h.name, target, true
	return h
}

var heads = []head{
	ridge, kernelRidge, ridge.on("log"), kernelRidge.on("log"), ridge.on("sqrt"), kernelRidge.on("sqrt"),
	{name: "ridge_classifier", task: datasets.Classification, model: of("ridge_classifier"), penalty: "alpha", low: -20,
		high: 8, floor: -40, most: 24, iterates: true},
	{name: "kernel_ridge_classifier", task: datasets.Classification, model: of("kernel_ridge_classifier"),
		penalty: "alpha", low: -16, high: 4, floor: -32, most: 16, exact: true, loose: 1e-2},
	{name: "logistic", task: datasets.Classification, model: of("logistic"), penalty: "C", low: -8, high: 12, floor: -16,
		most: 24, late: true, probabilities: true, steps: 8},
	{name: "svm", task: datasets.Classification, model: of("svm"), penalty: "C", low: -8, high: 8, floor: -16, most: 20,
		late: true, steps: 8},
}

// table lists all recipes of a task, those first that a small budget should try: the first
// map of the first representation, then the next of either, and so on.
func table(task datasets.Task, representations []representation) []recipe {
	var out []recipe
	turn := map[string]int{}
	for _, h := range heads {
		for i, p := range representations {
			for k, m := range mappings {
				if h.task != task || m.exact != h.exact || m.plain && i > 0 {
					continue
				}
				one := recipe{p, m, h}
				turn[one.String()] = i + k
				out = append(out, one)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b recipe) int { return turn[a.String()] - turn[b.String()] })
	return out
}

// tolerance is that of the iterations of a recipe's model, 0 for the usual one.
func (r recipe) tolerance() float64 {
	switch {
	case r.mapping.exact:
		return r.head.loose
	case r.iterates:
		return r.mapping.loose
	}
	return 0
}

// penalties are the bounds of the coarse grid of penalties, and what it may be extended to.
func (r recipe) penalties() (low, high, floor, most int) {
	h := r.head
	if r.sparse() && h.name == "svm" {
		const low, most = -4, 2 // with that many features the rows become separable, and a larger C only takes longer
		return low, most, h.floor, most
	}
	if r.mapping.least == 0 || !h.iterates {
		return h.low, h.high, h.floor, h.most
	}
	return max(h.low, r.mapping.least), h.high, max(h.floor, r.mapping.least), h.most
}

// sizeOf is the size of a recipe's map in a round, 0 where it has none.
func (r recipe) sizeOf(size int) int {
	if r.mapping.size == "" {
		return 0
	}
	size /= r.mapping.part
	const many = 128 // grids, of which more are of less use
	if r.sparse() && size > many {
		size = int(math.Sqrt(float64(size) * many))
	}
	return max(size+size%2, 2)
}

// Recipes returns the names of all recipes: representation, map and model.
func Recipes() []string {
	var out []string
	for _, task := range []datasets.Task{datasets.Regression, datasets.Classification} {
		for _, r := range table(task, representations) {
			out = append(out, r.String())
		}
	}
	return out
}

func known(name string) bool { return slices.Contains(Recipes(), name) }

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
