package auto

import (
	_ "embed" // the portfolio
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// recipe is a representation of the inputs, a map and a model.
type recipe struct {
	representation
	mapping
	head
}

// String returns the name of the recipe.
func (r recipe) String() string {
	return r.representation.name + " " + r.mapping.name + " " + r.head.name
}

// part is a registered step or model with parameters that differ from their defaults.
type part struct {
	name     string
	settings []param.Setting
}

// newPart returns a part with alternating parameter paths and values.
func newPart(name string, settings ...any) part {
	p := part{name: name}
	for i := 0; i < len(settings); i += 2 {
		p.settings = append(p.settings, param.Setting{Path: settings[i].(string), Value: settings[i+1]})
	}
	return p
}

// spec returns the spec of the part with more settings.
func (p part) spec(more ...param.Setting) (any, error) {
	entry, ok := pipeline.Lookup(p.name)
	if !ok {
		return nil, fmt.Errorf("no step is called %s", p.name)
	}
	return param.With(entry.New(), p.with(more...).settings...)
}

// with returns the part with more settings.
func (p part) with(more ...param.Setting) part {
	p.settings = append(slices.Clone(p.settings), more...)
	return p
}

// fitter returns the spec of a step.
func (p part) fitter(more ...param.Setting) (transformer.Fitter, error) {
	spec, err := p.spec(more...)
	if err != nil {
		return nil, err
	}
	return spec.(transformer.Fitter), nil
}

// representation is the preprocessing of the inputs before the map.
type representation struct {
	name        string
	scale       part   // replaces standardize; unnamed: preprocessing stays as it is
	encode      string // what replaces onehot, see [sample.encoder]; "" for nothing
	learn       part   // learned step after preprocessing; unnamed: none
	quick, slow part   // settings of learn for the first round and later ones
	careful     bool   // whether it uses slow
	dense       bool   // whether it requires dense rows
	only        string // rule of the maps that it is for; "" means all but columns
}

// mapping is the feature map of a recipe, or none.
type mapping struct {
	name   string
	step   part   // without a name, the settings are those of a model that evaluates the kernel
	rule   string // kernel whose rule "scale" is the origin of γ; "" without γ
	size   string // name of the parameter with the size
	inputs int    // minimum number of columns
	near   string // mapping after which it is tried from the second round; "" means from the first
}

// exact reports whether there is no map and the model evaluates the kernel, plain whether there is neither.
func (m mapping) exact() bool { return m.size == "" && m.rule != "" }
func (m mapping) plain() bool { return m.rule == "" }

// sparse reports whether the rows of the map are sparse. Ridge regression on them is solved iteratively, which takes
// long for small penalties.
func (m mapping) sparse() bool { return m.step.name == "binning" }

// exports reports whether models on the map can be exported; the hashes of binning cannot.
func (m mapping) exports() bool { return !m.sparse() }

// follows reports whether a late model on this map is tried after another model did well on that
// map: the maps are equal or near, or that one is the exact kernel of this one.
func (m mapping) follows(that mapping) bool {
	return m.name == that.name || m.near == that.name || that.exact() && m.rule == that.rule && m.size != ""
}

// head is the model of a recipe.
type head struct {
	name          string
	task          datasets.Task
	model         part
	late          bool    // whether it enters in the second round, on maps that did well with another head
	probabilities bool    // whether its models predict probabilities
	loose         float64 // tolerance of its solver if it evaluates a kernel, else 0
	calibrated    bool    // whether its scores are calibrated; only for a metric of probabilities
	balanced      bool    // whether it balances the classes; only for classes far from equal
	iterates      bool    // whether a larger tolerance saves time
	selects       bool    // whether it selects columns or random features, only of wide tables; see [sample.wide]
	penalty       string  // name of the penalty parameter
	low, high     int     // coarse grid of the penalty, in quarters of a decade
	floor, most   int     // limits of extended grids
}

// linear reports whether the models are linear in the targets, so that all transforms of the targets share a fit.
func (h head) linear() bool { return h.model.name == "ridge" || h.model.name == "kernel_ridge" }

// modelPath returns the path of the model in the parameters of a pipeline, for a transform of the targets.
func (h head) modelPath(target string) string {
	switch {
	case target != "":
		return "target.estimator"
	case h.calibrated:
		return "calibrated.estimator"
	}
	return h.model.name
}

func ard(more ...any) part { return newPart("ard", more...) }

var (
	quickPart, slowPart       = newPart("", "part", 1000), newPart("", "part", 2000)
	fewFeatures, manyFeatures = newPart("", "features", 200, "steps", 40, "restarts", 2),
		newPart("", "features", 400, "steps", 60)
)

// representations are listed in the order in which a small budget tries them. The last one requires columns of one
// kind, and then comes first.
var representations = []representation{
	{name: "zscores"},
	{name: "columns", encode: encodeColumns, learn: ard("solve", "coordinate", "groups", "origin"), quick: quickPart,
		slow: slowPart, only: ruleColumns},
	{name: "characters", encode: encodeCharacters},
	{name: "targets", encode: encodeTargets, dense: true},
	{name: "target scales", encode: encodeTargets, learn: ard(), quick: fewFeatures, slow: manyFeatures, dense: true},
	{name: "scales", learn: ard(), quick: fewFeatures, slow: manyFeatures, dense: true},
	// random features are too few for the evidence of this kernel
	{name: "laplacian scales", learn: ard("kernel", "laplacian", "solve", "exact", "steps", 30), quick: quickPart,
		slow: slowPart, dense: true, only: "laplacian"},
	{name: "ranks", scale: newPart("quantile"), dense: true},
	{name: "machine", learn: newPart("rfm"), quick: quickPart, slow: slowPart, dense: true},
	{name: "unit", scale: newPart("minmax"), dense: true},
	{name: "raw", scale: newPart("standardize", "std", false), dense: true},
}

// ruleColumns is the rule of the maps of a product of kernels of columns, whose scales are learned.
const ruleColumns = "columns"

// productKernel returns the setting of a kernel of columns: laplacian for numbers and categories, gaussian for text.
func (r *sample) productKernel() param.Setting {
	term := func(columns string, name kernel.Name) any {
		return map[string]any{"columns": columns, "kernel": string(name), "gamma": 1.0}
	}
	terms := []any{term("rest", kernel.Laplacian)}
	if hasText(r.data) {
		terms[0] = term("rest", kernel.Gaussian)
	}
	if hasKind(r.data, datasets.Numeric) {
		terms = append([]any{term("numeric", kernel.Laplacian)}, terms...)
	}
	return param.Setting{Path: "kernel", Value: map[string]any{"product": terms}}
}

var mappings = []mapping{
	{name: "gaussian", step: newPart("rff", "kernel", "gaussian"), rule: "gaussian", size: "features"},
	{name: "gaussian landmarks", step: newPart("nystroem", "kernel", "gaussian"), rule: "gaussian", size: "landmarks"},
	{name: "exponential", step: newPart("rff", "kernel", "exponential"), rule: "exponential", size: "features"},
	{name: "exact exponential", step: newPart("", "kernel", "exponential"), rule: "exponential"},
	{name: "exact gaussian", step: newPart("", "kernel", "gaussian"), rule: "gaussian"},
	{name: "binning", step: newPart("binning"), rule: "laplacian", size: "grids"},
	{name: "few", step: newPart("binning", "inputs", 4, "input_weights", "scales"), rule: "laplacian", size: "grids",
		inputs: 8},
	{name: "exact laplacian", step: newPart("", "kernel", "laplacian"), rule: "laplacian"},
	{name: "landmarks", step: newPart("nystroem", "kernel", "exponential"), rule: "exponential", size: "landmarks"},
	{name: "exact product", rule: ruleColumns},
	{name: "product landmarks", step: newPart("nystroem"), rule: ruleColumns, size: "landmarks"},
	{name: "product", step: newPart("rff"), rule: ruleColumns, size: "features"},
	{name: "product binning", step: newPart("binning"), rule: ruleColumns, size: "grids"}, // not of text
	{name: "exact powered", step: newPart("", "kernel", "powered_exponential", "exponent", 1.4), rule: "exponential",
		near: "exact exponential"},
	{name: "linear"},
}

// ofText returns the head for linear models of text: they enter in the first round, and smaller penalties,
// with which the rows are separable, only take longer.
func (h head) ofText() head {
	h.late, h.low, h.high, h.floor, h.most = h.balanced, -8, 4, -16, 8
	if h.penalty == "alpha" {
		h.low, h.high, h.floor, h.most = -h.high, -h.low, -h.most, -h.floor
	}
	return h
}

var balancedClasses = param.Setting{Path: "class_weight", Value: "balanced"}

// withVariants returns the models followed by the classifiers without probabilities, calibrated, and all classifiers
// with balanced class weights.
func withVariants(heads ...head) []head {
	for _, h := range heads {
		if h.task == datasets.Classification && !h.probabilities {
			h.name, h.calibrated, h.probabilities = "calibrated_"+h.name, true, true
			heads = append(heads, h)
		}
	}
	for _, h := range heads {
		if h.task == datasets.Classification {
			h.name, h.balanced, h.late = "balanced_"+h.name, true, true
			h.model = h.model.with(balancedClasses)
			heads = append(heads, h)
		}
	}
	return heads
}

var heads = withVariants(
	head{name: "ridge", task: datasets.Regression, model: newPart("ridge"), penalty: "alpha", low: -24, high: 8,
		floor: -48, most: 24, iterates: true},
	head{name: "kernel_ridge", task: datasets.Regression, model: newPart("kernel_ridge"), penalty: "alpha",
		low: -16, high: 4, floor: -32, most: 16, loose: 1e-3},
	// the penalties have the unit of the target, see [sample.unitStep]
	head{name: "lasso", task: datasets.Regression, model: newPart("lasso"), penalty: "alpha", low: -8, high: 0,
		floor: -24, most: 4, selects: true},
	head{name: "elastic_net", task: datasets.Regression, model: newPart("elastic_net"), penalty: "alpha", low: -8,
		high: 0, floor: -24, most: 4, selects: true},
	head{name: "poisson", task: datasets.Regression, model: newPart("poisson"), penalty: "alpha", low: -24, high: -4,
		floor: -32, most: 0, late: true},
	head{name: "ridge_classifier", task: datasets.Classification, model: newPart("ridge_classifier"), penalty: "alpha",
		low: -20, high: 8, floor: -40, most: 24, iterates: true},
	head{name: "kernel_ridge_classifier", task: datasets.Classification, model: newPart("kernel_ridge_classifier"),
		penalty: "alpha", low: -16, high: 4, floor: -32, most: 16, loose: 1e-2},
	head{name: "kernel_svm", task: datasets.Classification, model: newPart("kernel_svm"), penalty: "C", low: -4, high: 12,
		floor: -12, most: 24, loose: 1e-3, late: true},
	head{name: "logistic", task: datasets.Classification, model: newPart("logistic"), penalty: "C", low: -8, high: 12,
		floor: -16, most: 24, late: true, probabilities: true},
	head{name: "sparse_logistic", task: datasets.Classification, model: newPart("logistic", "l1_ratio", 1.0),
		penalty: "C", low: -8, high: 4, floor: -16, most: 12, probabilities: true, selects: true},
	head{name: "svm", task: datasets.Classification, model: newPart("svm"), penalty: "C", low: -8, high: 8, floor: -16,
		most: 20, late: true},
)

// portfolio lists recipes in the order in which a small budget tries them; go run ./bench/portfolio learns it from runs
// on many tables.
//
//go:embed portfolio.txt
var portfolio string

// table lists all recipes of a task in the order in which a small budget tries them: those of the portfolio, and the
// others by the sum of the indices of representation and map. The portfolio is not for text, of which its tables
// have none.
func table(task datasets.Task, representations []representation, text bool) []recipe {
	var out []recipe
	learned := strings.Split(strings.TrimSpace(portfolio), "\n")
	if text {
		learned = nil
	}
	turn := map[string]int{}
	for _, h := range heads {
		for i, p := range representations {
			for k, m := range mappings {
				if h.task != task || m.exact() != (h.loose > 0) || p.only != "" && p.only != m.rule ||
					m.rule == ruleColumns && p.only != m.rule || m.plain() && i > 0 && p.encode != encodeCharacters ||
					h.selects && !m.plain() && m.name != "gaussian" {
					continue
				}
				one := recipe{p, m, h}
				if h.selects && !m.plain() {
					const small = 12 // quarters of a decade by which random features are smaller than columns
					one.head = h.inUnits(-small)
					one.late = true
				}
				at := slices.Index(learned, one.String())
				switch {
				case at >= 0:
				case p.only != "" || m.name == "few" && p.learn.name == "ard" && p.scale.name == "":
					at = len(learned) + 1 // often the best for many rows
				default:
					at = len(learned) + i + k
				}
				if h.selects && m.plain() { // takes little time
					at = 0
				}
				turn[one.String()] = at
				out = append(out, one)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b recipe) int { return turn[a.String()] - turn[b.String()] })
	return out
}

// tolerance returns the tolerance of the solver, 0 for the default.
func (r recipe) tolerance() float64 {
	if r.sparse() && r.iterates {
		return 1e-4
	}
	if r.penalty == "alpha" {
		return r.loose
	}
	return 0
}

// penalties returns the bounds of the coarse grid of penalties, and those of extended grids.
func (r recipe) penalties() (low, high, floor, most int) {
	h := r.head
	switch {
	case r.sparse() && h.model.name == "svm": // the rows become separable; a larger C only takes longer
		h.low, h.high = -4, 2
	case r.sparse() && h.iterates:
		h.low, h.floor = max(h.low, -4), max(h.floor, -4)
	}
	return h.low, h.high, h.floor, h.most
}

// sizeOf returns the size of a recipe's map in a round, 0 without a map.
func (r recipe) sizeOf(size int) int {
	if r.mapping.size == "" {
		return 0
	}
	size /= map[string]int{"features": 1, "landmarks": 2, "grids": 4}[r.mapping.size]
	const many = 128 // number of grids above which more are less useful
	if r.sparse() && size > many {
		size = int(math.Sqrt(float64(size) * many))
	}
	return max(size+size%2, 2)
}

// Recipes returns the names of all recipes: representation, map and model.
func Recipes() []string {
	var out []string
	for _, task := range []datasets.Task{datasets.Regression, datasets.Classification} {
		for _, r := range table(task, representations, false) {
			out = append(out, r.String())
		}
	}
	return out
}

// wide reports whether the columns, with one for each category, are many relative to the rows, so that
// it helps to select some of them. Text has terms, which ridge regression suits.
func (r *sample) wide() bool {
	const few, rowsPerColumn = 64, 20
	width := 0
	for _, c := range r.data.Schema.Columns {
		width += max(1, len(c.Categories))
	}
	width = max(width, r.data.Cols())
	return !hasText(r.data) && width >= few && width*rowsPerColumn >= r.data.Rows()
}

// unitStep returns the step of the penalties, in quarters of a decade, of the standard deviation of the
// target, which is the unit of a penalty on absolute weights.
func (r *sample) unitStep() int {
	deviation := stat.PopStdDev(r.data.Y, nil)
	if !(deviation > 0) || math.IsInf(deviation, 1) {
		return 0
	}
	return placeOf(deviation)
}

// inUnits returns the head with penalties multiplied by the given number of steps.
func (h head) inUnits(steps int) head {
	if h.penalty != "alpha" { // classes have no unit
		return h
	}
	h.low, h.high, h.floor, h.most = h.low+steps, h.high+steps, h.floor+steps, h.most+steps
	return h
}

// isSparse reports whether rows are sparse, as those of text are after preprocessing.
func isSparse(data datasets.Set) bool {
	return data.Shape().NonZeros > 0 || hasText(data)
}

// hasText reports whether a column is text.
func hasText(data datasets.Set) bool { return hasKind(data, datasets.Text) }

// isText reports whether rows are text without numbers, for which linear models suffice.
func isText(data datasets.Set) bool { return hasText(data) && !hasKind(data, datasets.Numeric) }

func hasKind(data datasets.Set, kind datasets.Kind) bool {
	return slices.ContainsFunc(data.Schema.Columns, func(c datasets.Column) bool { return c.Kind == kind })
}
