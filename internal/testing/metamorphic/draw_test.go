package metamorphic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// world is one case: rows, a pipeline that takes them, and how exactly its fits can agree.
type world struct {
	seed        uint64
	train, test datasets.Set
	text        string // the pipeline, as YAML
	pipe        pipeline.Pipeline
	axes        []gridsearch.Axis
	task        string
	iterative   bool // the model is found to a tolerance
	stochastic  bool // the model depends on the order of the rows
	single      bool // features are in single precision
	settled     bool // the fit converged
	sampled     bool // a step draws from rows in an order given by their numbers
	divides     bool // the model divides the rows into folds, by their order
	crossFits   bool // a step divides the rows into folds, by their numbers in each part
	frees       bool // columns or components of the map are unique up to order or sign
	// numbers at the end of the answers to a row that others decide: of a set of classes, or
	// whether it is an anomaly
	decided int
	steady  bool // features do not depend on blocks and order of the rows, bit for bit
}

func (w *world) String() string {
	rows, cols := w.train.X.Dims()
	return fmt.Sprintf("seed %d: %T of %d×%d, %s, weights %t\n%s", w.seed, w.train.X, rows, cols, w.task,
		w.train.Weights != nil, w.text)
}

// draw makes a case from a seed.
func draw(t *testing.T, seed uint64) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2027))
	w := &world{seed: seed, task: pick(rng, "numbers", "two", "classes", "targets")}
	if seed%8 == 3 { // leaves the other cases unchanged
		w.task = pick(rng, "clusters", "anomalies")
	}
	d := &drawing{Rand: rng, world: w}
	d.rows()
	if w.task == "clusters" && !d.missing && d.words == 0 && w.train.Schema.Columns != nil {
		d.steadySteps()
	} else {
		d.steps()
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(w.text), &node); err != nil {
		t.Fatalf("%v in\n%s", err, w.text)
	}
	pipe, errs := pipeyaml.Decode(&node, pipeyaml.Origin{File: "drawn.yaml", Path: "pipeline", Seed: seed})
	if errs != nil {
		t.Fatalf("%v\n%s", errs, w)
	}
	w.pipe = pipe
	if w.single {
		w.pipe.Precision = pipeline.Float32
	}
	return w
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// drawing is a case that is being drawn.
type drawing struct {
	*rand.Rand
	*world
	numbers, words int // columns
	missing        bool
}

// rows draws the data: numbers of unequal scale, a column that is mostly zero, one far from zero,
// strings as codes, missing values, weights.
func (d *drawing) rows() {
	n := 60 + d.IntN(240)
	d.numbers = 1 + d.IntN(6)
	asSparse := d.IntN(4) == 0
	if !asSparse && d.IntN(2) == 0 {
		d.words = 1 + d.IntN(2)
	}
	d.missing = !asSparse && d.IntN(2) == 0
	if d.task == "clusters" && d.seed%16 == 3 { // plain rows, see steadySteps
		asSparse, d.words, d.missing = false, 0, false
	}
	cols := d.numbers + d.words
	x, signal := mat.NewDense(n+40, cols, nil), make([]float64, n+40)
	schema := datasets.Schema{}
	for j := range d.numbers {
		schema.Columns = append(schema.Columns, datasets.Column{Name: fmt.Sprintf("n%d", j)})
	}
	for j := range d.words {
		levels := make([]string, 2+d.IntN(5))
		for k := range levels {
			levels[k] = string(rune('a' + k))
		}
		schema.Columns = append(schema.Columns, datasets.Column{Name: fmt.Sprintf("w%d", j), Kind: datasets.Categorical,
			Categories: levels})
	}
	for i := range n + 40 {
		row := x.RawRowView(i)
		for j := range row {
			if levels := schema.Columns[j].Categories; levels != nil {
				row[j] = float64(d.IntN(len(levels)))
				signal[i] += 0.3 * row[j]
				continue
			}
			v := d.NormFloat64()
			signal[i] += math.Sin(v * float64(j+1) / 2)
			row[j] = v * math.Pow(3, float64(j%4)-1)
			switch {
			case asSparse && d.IntN(3) > 0, j == 2 && d.IntN(4) > 0:
				row[j] = 0
			case j == 3 && !asSparse:
				row[j] += 200
			}
			if d.missing && d.IntN(12) == 0 {
				row[j] = math.NaN()
			}
		}
		signal[i] += 0.2 * d.NormFloat64()
	}
	all := datasets.Set{X: x, Schema: schema}
	if asSparse {
		all.X = matrices.CSRFromDense(x)
		all.Schema.Columns = nil
	}
	d.targets(&all, signal)
	if d.IntN(3) == 0 {
		all.Weights = make([]float64, n+40)
		for i := range all.Weights {
			all.Weights[i] = float64(d.IntN(4)) / 2
		}
	}
	d.train, d.test = all.Slice(0, n), all.Slice(n, n+40)
}

func (d *drawing) targets(all *datasets.Set, signal []float64) {
	switch d.task {
	case "clusters", "anomalies":
		return
	case "numbers":
		all.Y, all.Schema.Targets = signal, []datasets.Column{{Name: "y"}}
		return
	case "targets":
		all.Targets = mat.NewDense(len(signal), 2, nil)
		for i, v := range signal {
			all.Targets.SetRow(i, []float64{v, 100 - v*v})
		}
		all.Schema.Targets = []datasets.Column{{Name: "y"}, {Name: "z"}}
		return
	}
	k := 2
	if d.task == "classes" {
		k = 3 + d.IntN(3)
	}
	levels := make([]string, k)
	for c := range levels {
		levels[c] = fmt.Sprintf("class %d", c)
	}
	all.Y = make([]float64, len(signal))
	for i, v := range signal {
		c := int(math.Floor((v + 2) / 4 * float64(k)))
		if i < 8*k || d.IntN(8) == 0 {
			c = i % k
		}
		all.Y[i] = float64(min(max(c, 0), k-1))
	}
	all.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: levels}}
}

// steps draws the pipeline.
func (d *drawing) steps() {
	var b strings.Builder
	isSparse := d.train.Schema.Columns == nil
	scale := pick(d.Rand, "standardize", "minmax", "robust", "quantile", "{quantile: {quantiles: 20, output: normal}}",
		"{scale: {factors: 0.3}}", "{standardize: {mean: false}}")
	switch {
	case isSparse:
		b.WriteString(pick(d.Rand, "- dense\n", "", "- standardize: {mean: false}\n"))
	case d.words > 0:
		var names []string
		for j := range d.words {
			names = append(names, fmt.Sprintf("w%d", j))
		}
		text := d.encoder(pick(d.Rand, "onehot", "{onehot: {min_count: 3}}", "{ordinal: {unknown: code}}, minmax"))
		fmt.Fprintf(&b, "- columns:\n    - {select: [%s], steps: [%s], name: categories}\n    - {select: numeric, steps: "+
			"[%s%s], name: numbers}\n",
			strings.Join(names, ", "), text, d.impute(), scale)
	default:
		if d.missing {
			fmt.Fprintf(&b, "- %s\n", strings.TrimSuffix(d.impute(), ", "))
		}
		fmt.Fprintf(&b, "- %s\n", scale)
	}
	sparseNow := isSparse && !strings.Contains(b.String(), "dense")
	if !sparseNow && d.words == 0 && d.IntN(5) == 0 {
		fmt.Fprintf(&b, "- pca: {whiten: %t}\n", d.IntN(2) == 0)
		d.frees = true
	}
	b.WriteString(d.metric())
	b.WriteString(d.features())
	model := d.model()
	d.single = d.IntN(4) == 0
	if strings.Contains(model, "gaussian_process") { // optimization may reduce the noise below the float32 resolution
		d.single = false
	}
	b.WriteString(d.wrapped(model))
	d.text = b.String()
}

// steadySteps draws a pipeline whose features do not depend on blocks and order of the rows, bit
// for bit, because the start of k-means depends on all bits.
func (d *drawing) steadySteps() {
	d.steady = true
	d.text = "- minmax\n"
	if d.IntN(2) == 0 {
		d.text += fmt.Sprintf("- rff: {gamma: %s, features: %d, map: %s}\n", pick(d.Rand, "0.3", "2"), 8+2*d.IntN(30),
			pick(d.Rand, "paired", "phase"))
	}
	d.text += d.model()
}

// wrapped wraps the model in a meta-estimator, in one case of three; the axis of its penalty is the
// last.
func (d *drawing) wrapped(model string) string {
	if d.task == "clusters" || d.task == "anomalies" {
		return model
	}
	// leave the other cases unchanged
	if own := rand.New(rand.NewPCG(d.seed, 5151)); own.IntN(6) == 0 && !slices.Contains(found, d.seed) {
		return d.intervals(own, model)
	}
	if d.IntN(3) > 0 {
		return model
	}
	inner := "{" + strings.TrimSuffix(strings.TrimPrefix(model, "- "), "\n") + "}"
	penalty := &d.axes[len(d.axes)-1].Path
	_, name, _ := strings.Cut(*penalty, ".")
	classes := d.task == "two" || d.task == "classes"
	switch own := rand.New(rand.NewPCG(d.seed, 15)); {
	case d.task == "two" && own.IntN(3) == 0: // by numbers of its own: what other seeds draw stays
		d.divides = true
		*penalty = "threshold.estimator." + name
		return fmt.Sprintf("- threshold: {%s, folds: %d, estimator: %s}\n",
			pick(own, "score: f1", "score: auto", "cost: {false_negative: 3}"), pick(own, 0, 3), inner)
	case d.IntN(3) == 0:
		other := "{ridge: {alpha: 3}}"
		if classes {
			other = "{ridge_classifier: {alpha: 3}}"
		}
		weights := pick(d.Rand, "stacked", "equal")
		d.divides = weights == "stacked"
		*penalty = "ensemble.members.drawn." + name
		return fmt.Sprintf("- ensemble: {weights: %s, folds: %d, members: {drawn: %s, other: %s}}\n", weights,
			pick(d.Rand, 0, 3), inner, other)
	case classes:
		d.divides = true
		*penalty = "calibrated.estimator." + name
		return fmt.Sprintf("- calibrated: {method: %s, folds: %d, estimator: %s}\n", pick(d.Rand, "sigmoid", "temperature"),
			pick(d.Rand, 0, 3), inner)
	}
	*penalty = "target.estimator." + name
	return fmt.Sprintf("- target: {transform: %s, estimator: %s}\n",
		pick(d.Rand, "sqrt", "signed_log", "standardize", "quantile"), inner)
}

// intervals wraps the model to predict intervals.
func (d *drawing) intervals(own *rand.Rand, model string) string {
	kind, inner, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(model, "\n"), "- "), ": ")
	path := &d.axes[len(d.axes)-1].Path
	*path = "intervals.estimator." + strings.TrimPrefix(*path, kind+".")
	method := "split"
	switch kind {
	case "ridge", "kernel_ridge":
		method = pick(own, "split", "jackknife", "jackknife_plus")
	case "gaussian_process":
		if method = "normal"; d.task == "numbers" && own.IntN(2) == 0 {
			method = "split, normalize: true"
		}
	}
	d.divides = strings.HasPrefix(method, "split")
	return fmt.Sprintf("- intervals: {method: %s, level: %s, estimator: {%s: %s}}\n", method, pick(own, "0.9", "0.7"),
		kind, inner)
}

// network draws features that are trained.
func (d *drawing) network(own *rand.Rand, weight string) string {
	d.stochastic = true
	d.axes = append(d.axes, gridsearch.Axis{Path: "rff_network.alpha", Values: []any{0.1, 1.0}})
	return fmt.Sprintf("- rff_network: {kernel: %s, gamma: %s, layers: %d, features: %d, train: %s, class_weight: %s, "+
		"validation_fraction: %s, epochs: 60}\n",
		pick(own, "gaussian", "matern"), pick(own, "scale", "median", "0.1"), 1+own.IntN(2), 5+own.IntN(20),
		pick(own, "[scales, frequencies, phases]", "[scales]", "[]"), weight, pick(own, "0.1", "0"))
}

func (d *drawing) impute() string {
	if !d.missing {
		return ""
	}
	return pick(d.Rand, "impute, ", "{impute: {strategy: median}}, ", "{impute: {strategy: mean, indicator: true}}, ")
}

// encoder returns a step for categories, now and then another one than that which was drawn.
func (d *drawing) encoder(drawn string) string {
	if d.seed%3 != 1 || d.task == "clusters" || d.task == "anomalies" {
		return drawn
	}
	own := rand.New(rand.NewPCG(d.seed, 13))
	drawn = pick(own, "{target_encode: {smooth: 4}}", "{target_encode: {folds: 3}}, standardize", "{hash: {features: 9}}")
	d.crossFits = strings.Contains(drawn, "target_encode")
	return drawn
}

// metric draws a step that uses the targets in some cases, with a separate generator that leaves
// the other cases unchanged.
func (d *drawing) metric() string {
	if d.seed%4 != 2 {
		return ""
	}
	d.sampled = true
	own := rand.New(rand.NewPCG(d.seed, 12))
	return fmt.Sprintf("- rfm: {kernel: %s, rounds: 2, diagonal: %s, power: %s, rows: %s, part: %s}\n",
		pick(own, "exponential", "gaussian", "laplacian"), pick(own, "false", "true"), pick(own, "0", "0.5", "1"),
		pick(own, "10000", "30"), pick(own, "10000", "20"))
}

// features draws the map, and the axes of a search over it.
func (d *drawing) features() string {
	gamma := pick(d.Rand, "scale", "median", "0.03", "0.3")
	d.axes = []gridsearch.Axis{{Path: "map.gamma", Values: []any{0.02, 0.2, 0.7}}}
	switch d.IntN(5) {
	case 0:
		d.axes = nil
		return ""
	case 1:
		d.axes = append(d.axes, gridsearch.Axis{Path: "map.grids", Values: []any{5, 20, 11}})
		return fmt.Sprintf("- binning: {kernel: %s, gamma: %s, grids: 20, columns: %s, inputs: %s}\n  name: map\n",
			pick(d.Rand, "laplacian", "hyperbolic", "triangular", "smooth"), gamma, pick(d.Rand, "exact", "exact", "160"),
			pick(d.Rand, "all", "1", "1, input_weights: scales"))
	case 2:
		d.axes = nil
		return fmt.Sprintf("- union:\n    parts:\n      - rff: {features: 16, gamma: %s}\n      - binning: {grids: 10, "+
			"gamma: 0.1}\n    weights: [0.4, 0.6]\n", gamma)
	}
	own := rand.New(rand.NewPCG(d.seed, 3031)) // leaves the other cases unchanged
	if own.IntN(3) == 0 && !slices.Contains(found, d.seed) {
		d.axes = append(d.axes, gridsearch.Axis{Path: "map.landmarks", Values: []any{24, 10, 40}})
		return fmt.Sprintf("- nystroem: {kernel: %s, gamma: %s, landmarks: %d, selection: %s}\n  name: map\n",
			pick(own, "gaussian", "laplacian", "exponential", "matern"), gamma, 8+own.IntN(30),
			pick(own, "uniform", "rpcholesky"))
	}
	d.axes = append(d.axes, gridsearch.Axis{Path: "map.features", Values: []any{24, 10, 40}})
	if own.IntN(4) == 0 && !slices.Contains(found, d.seed) {
		return fmt.Sprintf("- softmax_features: {gamma: scale, features: %d, draw: %s}\n  name: map\n", 8+own.IntN(30),
			pick(own, "iid", "orthogonal"))
	}
	kernel := pick(d.Rand, "gaussian", "gaussian", "laplacian", "cauchy", "exponential", "matern", "rational_quadratic")
	width, form, draw := 8+2*d.IntN(30), pick(d.Rand, "paired", "phase"), "iid"
	if own.IntN(2) == 0 && !slices.Contains(found, d.seed) {
		draw = pick(own, "orthogonal", "qmc", "structured")
		kernel = pick(own, "gaussian", "matern",
			"{sum: [{product: [{columns: rest, gamma: 0.5}]}, {weight: 2, product: [{columns: rest, kernel: exponential}]}]}",
			"{product: [{columns: rest, kernel: matern, gamma: median}]}")
		d.axes = append(d.axes, gridsearch.Axis{Path: "map.draw", Values: []any{"qmc", "iid", "structured"}})
	}
	return fmt.Sprintf("- rff: {kernel: %s, gamma: %s, features: %d, map: %s, draw: %s}\n  name: map\n", kernel, gamma,
		width, form, draw)
}

// model draws the estimator, and an axis of its penalty.
func (d *drawing) model() string {
	axis := func(path string, values ...any) { d.axes = append(d.axes, gridsearch.Axis{Path: path, Values: values}) }
	switch d.task {
	case "clusters":
		axis("kmeans.clusters", 2, 3, 5)
		batch := pick(d.Rand, 0, 0, 20)
		d.stochastic = batch > 0 || !d.steady
		return fmt.Sprintf("- kmeans: {clusters: %d, restarts: %d, init: %s, batch: %d}\n", 1+d.IntN(6), 1+d.IntN(4),
			pick(d.Rand, "kmeans++", "random"), batch)
	case "anomalies":
		d.iterative = true
		axis("one_class.nu", 0.0513, 0.2713) // shares of no integer of rows: else the border is free
		return fmt.Sprintf("- one_class: {nu: %s, tol: 1e-10, max_iter: 10000}\n", pick(d.Rand, "0.0513", "0.1371", "0.5137"))
	}
	// leave the other cases unchanged
	if own := rand.New(rand.NewPCG(d.seed, 5252)); own.IntN(8) == 0 && !slices.Contains(found, d.seed) {
		weight := "none"
		if d.task == "two" || d.task == "classes" {
			weight = pick(own, "none", "balanced")
		}
		return d.network(own, weight)
	}
	if own := rand.New(rand.NewPCG(d.seed, 6363)); own.IntN(8) == 0 && d.task != "targets" && // other cases stay as they are
		!slices.Contains(found, d.seed) {
		return d.kernelMachine(own, axis)
	}
	switch d.task {
	case "numbers":
		if own := rand.New(rand.NewPCG(d.seed, 4141)); own.IntN(5) == 0 { // leaves the other cases unchanged
			d.stochastic = true
			axis("sgd_regressor.alpha", 0.01, 0.1)
			return fmt.Sprintf("- sgd_regressor: {loss: %s, batch: %d, epochs: 10}\n",
				pick(own, "squared_error", "huber", "epsilon_insensitive"), 1+own.IntN(60))
		}
		switch d.IntN(4) {
		case 1:
			axis("kernel_ridge.alpha", 0.3, 3.0)
			return fmt.Sprintf("- kernel_ridge: {kernel: %s, gamma: 0.1, alpha: 0.3, solver: %s, tol: 1e-10}\n",
				pick(d.Rand, "gaussian", "exponential"), pick(d.Rand, "cholesky", "cg"))
		case 0:
			d.iterative = true
			axis("svr.C", 0.1, 1.0)
			return fmt.Sprintf("- svr: {loss: %s, epsilon: 0.1, tol: 1e-10, max_iter: 500}\n",
				pick(d.Rand, "epsilon_insensitive", "squared_epsilon_insensitive"))
		}
		fallthrough
	case "targets":
		if own := rand.New(rand.NewPCG(d.seed, 3131)); own.IntN(5) == 0 { // leaves the other cases unchanged
			d.iterative = true // where the evidence is flat, rounding moves its top
			axis("gaussian_process.noise", 0.1, 1.0)
			return fmt.Sprintf("- gaussian_process: {kernel: %s, gamma: 0.1, features: 24, optimize: [%s]}\n",
				pick(own, "gaussian", "exponential", "linear"), pick(own, "amplitude", "noise, amplitude"))
		}
		axis("ridge.alpha", 0.01, 0.1, 1.0, 10.0)
		solver := pick(d.Rand, "auto", "auto", "cholesky", "cg")
		d.iterative = solver == "cg"
		return fmt.Sprintf("- ridge: {alpha: 0.1, solver: %s, tol: 1e-11}\n", solver)
	}
	weight := pick(d.Rand, "none", "none", "balanced")
	if own := rand.New(rand.NewPCG(d.seed, 4141)); own.IntN(4) == 0 { // leaves the other cases unchanged
		d.stochastic = true
		axis("sgd_classifier.alpha", 0.01, 0.1)
		return fmt.Sprintf("- sgd_classifier: {loss: %s, class_weight: %s, batch: %d, epochs: 10}\n",
			pick(own, "hinge", "log_loss", "modified_huber"), weight, 1+own.IntN(60))
	}
	switch d.IntN(3) {
	case 0:
		axis("ridge_classifier.alpha", 0.01, 0.1, 1.0)
		return fmt.Sprintf("- ridge_classifier: {alpha: 0.1, class_weight: %s}\n", weight)
	case 1:
		d.iterative = true
		axis("svm.C", 0.1, 1.0)
		return fmt.Sprintf("- svm: {loss: %s, class_weight: %s, tol: 1e-10, max_iter: 500}\n",
			pick(d.Rand, "hinge", "squared_hinge"), weight)
	}
	d.iterative = true
	axis("logistic.C", 0.1, 1.0, 10.0)
	return fmt.Sprintf("- logistic: {class_weight: %s, tol: 1e-7, max_iter: 500}\n", weight)
}

// kernelMachine draws a support vector machine with an exact kernel.
func (d *drawing) kernelMachine(own *rand.Rand, axis func(path string, values ...any)) string {
	d.iterative = true
	const rest = "gamma: 0.1, tol: 1e-9"
	kernel := pick(own, "gaussian", "exponential", "laplacian")
	if d.task == "numbers" {
		axis("kernel_svr.C", 0.1, 1.0, 10.0)
		return fmt.Sprintf("- kernel_svr: {kernel: %s, epsilon: %s, %s}\n", kernel, pick(own, "0.0", "0.1"), rest)
	}
	axis("kernel_svm.C", 0.1, 1.0, 10.0)
	return fmt.Sprintf("- kernel_svm: {kernel: %s, class_weight: %s, %s}\n", kernel, pick(own, "none", "balanced"), rest)
}
