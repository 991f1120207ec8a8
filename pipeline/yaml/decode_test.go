package yaml_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
	"github.com/bochner-ml/bochner/transformer"
)

func decode(t testing.TB, text string) (pipeline.Pipeline, param.FieldErrors) {
	t.Helper()
	var node tree.Node
	if err := tree.Unmarshal([]byte(text), &node); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return yaml.Decode(&node, yaml.Origin{File: "a.yaml", Path: "pipeline", Seed: 42})
}

func TestDecode(t *testing.T) {
	p, errs := decode(t, `
- columns:
    - {select: numeric, steps: [{impute: {strategy: median}}, standardize]}
    - {select: [workclass, "edu*"], steps: [{onehot: {min_count: 20}}], name: words}
- union:
    parts:
      - rff: {kernel: laplacian, gamma: 0.05, features: 1e2, seed: 7}
      - rff: {gamma: scale}
        name: smooth
      - {name: both, steps: [standardize, {pca: {components: 3}}]}
    weights: [0.5, 1, 0]
- minmax:
- logistic: {C: 2}
  name: last
`)
	if errs != nil {
		t.Fatal(errs)
	}
	impute := transformer.NewImpute()
	impute.Strategy = "median"
	onehot := transformer.NewOneHot()
	onehot.MinCount = 20
	laplacian := transformer.NewRFF()
	laplacian.Kernel, laplacian.Gamma, laplacian.Features, laplacian.Seed = "laplacian", kernel.FixedGamma(0.05), 100,
		7
	smooth := transformer.NewRFF()
	smooth.Gamma, smooth.Seed = kernel.GammaScale(), specs.DeriveSeed(42, "union.smooth")
	pca, err := param.With(transformer.NewPCA(), param.Setting{Path: "components", Value: 3},
		param.Setting{Path: "seed", Value: specs.DeriveSeed(42, "union.both.pca")})
	if err != nil {
		if pca, err = param.With(transformer.NewPCA(), param.Setting{Path: "components", Value: 3}); err != nil {
			t.Fatal(err)
		}
	}
	logistic := estimator.NewLogistic()
	logistic.C = 2
	want := pipeline.Pipeline{
		Steps: []pipeline.Step{
			{Fitter: pipeline.NewColumns(
				pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(impute, transformer.NewStandardize())},
				pipeline.Group{Name: "words", Select: []string{"workclass", "edu*"}, Steps: pipeline.Steps(onehot)})},
			{Fitter: pipeline.Union{
				Parts: []pipeline.Step{{Fitter: laplacian}, {Name: "smooth", Fitter: smooth},
					{Name: "both", Fitter: pipeline.NewChain(transformer.NewStandardize(), pca.(transformer.Fitter))}},
				Weights: []float64{0.5, 1, 0}}},
			{Fitter: transformer.NewMinMax()},
		},
		Estimator: logistic, Name: "last",
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("read\n%+v, want\n%+v", p, want)
	}
}

// TestInnerName checks that the name of a step may be among its parameters if it has no parameter
// called name.
func TestInnerName(t *testing.T) {
	p, errs := decode(t, "[{rff: {name: a, gamma: 1}}, {rff: {gamma: 2, name: b}}, ridge]")
	if errs != nil || p.Steps[0].Name != "a" || p.Steps[1].Name != "b" {
		t.Errorf("%+v, %v", p, errs)
	}
}

// TestSeedsAreDerived checks that a step without a seed gets one that depends only on the
// experiment's seed and the path of the step.
func TestSeedsAreDerived(t *testing.T) {
	p, _ := decode(t, "[{rff: {}}, {rff: {gamma: 1}, name: other}, ridge]")
	a, b := p.Steps[0].Fitter.(transformer.RFF).Seed, p.Steps[1].Fitter.(transformer.RFF).Seed
	if a != specs.DeriveSeed(42, "rff") || b != specs.DeriveSeed(42, "other") || a == b {
		t.Errorf("seeds %d and %d", a, b)
	}
	if specs.DeriveSeed(42, "rff") == specs.DeriveSeed(43, "rff") || specs.DeriveSeed(42, "rff") >= 1<<53 {
		t.Error("the seed does not depend on the experiment's, or is too large for JSON")
	}
	const golden = 7626972905068623 // of seed 42, path rff: results of old experiments hang on it
	if a != golden {
		t.Errorf("the seed of rff is %d, it was %d", a, golden)
	}
}

// TestDecodeErrors checks that all errors are reported at once, with position, value and
// constraint.
func TestDecodeErrors(t *testing.T) {
	const transformers, estimators = "columns, union, steps, impute", "ridge, ridge_classifier, lasso, elastic_net, logistic"
	for _, c := range []struct{ text, want string }{
		{"3", "a.yaml:1:1: pipeline: must be a list of steps, the last of which is an estimator, got 3"},
		{"[]", "a.yaml:1:1: pipeline: must be a list of steps, the last of which is an estimator, got []"},
		{"ridge", `a.yaml:1:1: pipeline: must be a list of steps, the last of which is an estimator, got "ridge"`},
		{"- rff", "a.yaml:1:3: pipeline.rff: the last step is not an estimator (estimators are " + estimators},
		{"- ridge\n- svm", "a.yaml:1:3: pipeline.ridge: an estimator can only be the last step of a pipeline (steps are " +
			transformers},
		{"- 3\n- ridge", "a.yaml:1:3: pipeline[0]: must be a step: its name, or its name with parameters, got 3"},
		{"- [rff]\n- ridge", "a.yaml:1:3: pipeline[0]: must be a step: its name, or its name with parameters, got [rff]"},
		{"- {}\n- ridge", "a.yaml:1:3: pipeline[0]: must be a step: its name, or its name with parameters, got map[]"},
		{"- {name: x}\n- ridge", "a.yaml:1:3: pipeline[0]: must be a step: its name, or its name with parameters, got " +
			"map[name:x]"},
		{"- RFF\n- ridge", `a.yaml:1:3: pipeline[0]: no step is called "RFF" (did you mean rff?)`},
		{"- random_forest\n- ridge",
			`a.yaml:1:3: pipeline[0]: no step is called "random_forest" (there are no trees here; rff or binning`},
		{"- rff: {n_components: 5}\n- ridge",
			`a.yaml:1:9: pipeline.rff.n_components: no parameter is called "n_components" (did you mean features?)`},
		{"- fourier_transform\n- ridge",
			`a.yaml:1:3: pipeline[0]: no step is called "fourier_transform" (there are columns, union`},
		{"- rff: {gama: 1}\n- ridge", `a.yaml:1:9: pipeline.rff.gama: no parameter is called "gama" (did you mean gamma?)`},
		{"- rff: {Gamma: 1}\n- ridge",
			`a.yaml:1:9: pipeline.rff.Gamma: no parameter is called "Gamma" (did you mean gamma?)`},
		{"- rff: {gamma: -1}\n- ridge",
			"a.yaml:1:16: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, " +
				"got -1"},
		{"- rff: {gamma: 0}\n- ridge",
			"a.yaml:1:16: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, " +
				"got 0"},
		{"- rff: {gamma: .nan}\n- ridge",
			"a.yaml:1:16: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, " +
				"got NaN"},
		{"- rff: {features: 0}\n- ridge", "a.yaml:1:19: pipeline.rff.features: must be an integer from 1 to 67108864, got 0"},
		{"- rff: {features: 2.5}\n- ridge",
			"a.yaml:1:19: pipeline.rff.features: must be an integer from 1 to 67108864, got 2.5"},
		{"- rff: {features: many}\n- ridge",
			`a.yaml:1:19: pipeline.rff.features: must be an integer from 1 to 67108864, got "many"`},
		{"- rff: {features: [500, 1000]}\n- ridge",
			"a.yaml:1:19: pipeline.rff.features: must be an integer from 1 to 67108864, got [500 1000]"},
		{"- rff: {seed: -1}\n- ridge", "a.yaml:1:15: pipeline.rff.seed: must be an integer ≥ 0, got -1"},
		{"- rff: {kernel: Gaussian}\n- ridge",
			`a.yaml:1:17: pipeline.rff.kernel: must be gaussian, laplacian, cauchy, exponential, matern, rational_quadratic, powered_exponential or a kernel of columns, as {product: [{columns: rest, kernel: gaussian}]}, got "Gaussian" (did you mean gaussian?)`},
		{"- rff: {gamma: 1, gamma: 2}\n- ridge", "a.yaml:1:19: pipeline.rff.gamma: duplicate key (first on line 1)"},
		{"- rff: [1]\n- ridge", "a.yaml:1:8: pipeline.rff: must be parameters: kernel, gamma, features, map, draw, nu, " +
			"shape, exponent, seed, got [1]"},
		{"- rff: wide\n- ridge", "a.yaml:1:8: pipeline.rff: must be parameters: kernel, gamma, features, map, draw, nu, " +
			`shape, exponent, seed, got "wide"`},
		{"- rff: {gamma: !secret 1}\n- ridge",
			"a.yaml:1:16: pipeline.rff.gamma: the tag !secret; a value is a number, true, false, a string or a list"},
		{"- rff: {[1]: 1}\n- ridge", "a.yaml:1:9: pipeline.rff: a key that is no word"},
		{"- rff: {gamma: 1}\n  gamma: 2\n- ridge",
			"a.yaml:2:3: pipeline[0].gamma: a second key in one step (gamma is a parameter of rff: indent it below)"},
		{"- rff: {gamma: 1}\n  pca: {}\n- ridge",
			"a.yaml:2:3: pipeline[0].pca: a second key in one step (a step has one name; parameters stand below it)"},
		{"- rff\n- rff\n- ridge", "a.yaml:2:3: pipeline.rff: two steps are called rff (name one of them: {rff: …, name: …})"},
		{"- {rff: , name: ridge}\n- ridge", "a.yaml:2:3: pipeline.ridge: two steps are called ridge"},
		{"- {rff: , name: a.b}\n- ridge",
			`a.yaml:1:17: pipeline[0].name: must be a name of letters, digits, _ and -, got "a.b"`},
		{"- {rff: , name: 3}\n- ridge", "a.yaml:1:17: pipeline[0].name: must be a name of letters, digits, _ and -, got 3"},
		{"- columns\n- ridge", "a.yaml:1:3: pipeline.columns: must be a list, or a mapping with groups, got nothing"},
		{"- columns: []\n- ridge", "a.yaml:1:12: pipeline.columns: must be at least one group, got []"},
		{"- columns: {remainder: passthrough}\n- ridge", "a.yaml:1:3: pipeline.columns.groups: missing"},
		{"- columns: {groups: numeric}\n- ridge", `a.yaml:1:21: pipeline.columns.groups: must be a list, got "numeric"`},
		{"- columns: {groups: [{select: a, steps: []}], remainder: keep}\n- ridge",
			`a.yaml:1:58: pipeline.columns.remainder: must be drop or passthrough, got "keep"`},
		{"- columns: {group: [{select: a, steps: []}]}\n- ridge",
			"a.yaml:1:3: pipeline.columns.groups: missing\na.yaml:1:13: pipeline.columns.group: no parameter is called " +
				"\"group\" (did you mean groups?)"},
		{"- columns: [numeric]\n- ridge",
			`a.yaml:1:13: pipeline.columns[0]: must be a group: {select: …, steps: […]}, got "numeric"`},
		{"- columns: [{steps: []}]\n- ridge",
			"a.yaml:1:13: pipeline.columns[0].select: missing (at least one name, kind or pattern of columns)"},
		{"- columns: [{select: a}]\n- ridge",
			"a.yaml:1:13: pipeline.columns[0].steps: missing ([] passes the columns on as they are)"},
		{"- columns: [{select: a, step: []}]\n- ridge",
			`a.yaml:1:13: pipeline.columns[0].steps: missing ([] passes the columns on as they are)` + "\n" +
				`a.yaml:1:25: pipeline.columns[0].step: no key of a group is called "step" (did you mean steps?)`},
		{"- columns: [{select: [], steps: []}]\n- ridge",
			"a.yaml:1:22: pipeline.columns[0].select: must be at least one name, kind or pattern of columns, got []"},
		{"- columns: [{select: [[a]], steps: []}]\n- ridge",
			"a.yaml:1:22: pipeline.columns[0].select: must be a name, kind or pattern of columns, or a list of them, got [[a]]"},
		{"- columns: [{select: /(/, steps: []}]\n- ridge",
			"a.yaml:1:22: pipeline.columns[0].select: select /(/: error parsing regexp"},
		{"- columns: [{select: a, steps: onehot}]\n- ridge",
			`a.yaml:1:32: pipeline.columns.group1: must be a list of steps, got "onehot"`},
		{"- columns: [{select: a, steps: [ridge]}]\n- ridge",
			"a.yaml:1:33: pipeline.columns.group1.ridge: an estimator can only be the last step of a pipeline"},
		{"- columns: [{select: numeric, steps: [{impute: {strategy: avg}}]}]\n- ridge",
			`a.yaml:1:59: pipeline.columns.numeric.impute.strategy: must be mean, median, most_frequent or constant, got "avg"`},
		{"- columns: [{select: a, steps: [], name: x}, {select: b, steps: [], name: x}]\n- ridge",
			"a.yaml:1:46: pipeline.columns.x: two groups are called x"},
		{"- columns: [{select: a, steps: [], name: remainder}]\n- ridge",
			"a.yaml:1:42: pipeline.columns[0].name: no group can be called remainder"},
		{"- union: {parts: [rff, rff]}\n- ridge", "a.yaml:1:24: pipeline.union.rff: two parts are called rff"},
		{"- union: {parts: [rff], weights: [1, 2]}\n- ridge",
			"a.yaml:1:34: pipeline.union.weights: must be 1 numbers, one for each part, got [1 2]"},
		{"- union: {parts: [rff], weights: [-1]}\n- ridge",
			"a.yaml:1:34: pipeline.union.weights: must be a list of numbers ≥ 0, got [-1] (element 0 is -1)"},
		{"- union: []\n- ridge", "a.yaml:1:10: pipeline.union: must be at least one part, got []"},
		{"- steps\n- ridge", `a.yaml:1:3: pipeline.steps: must be a list of steps, got "steps"`},
		{"- logistic: {C: 0}", "a.yaml:1:17: pipeline.logistic.C: must be a number > 0, got 0"},
		{"- rff: {gamma: -1}\n- pcaa\n- logistic: {c: 1}",
			"a.yaml:1:16: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, " +
				"got -1"},
		{"- &a [*a]\n- ridge", "a.yaml:1:3: pipeline: nested more than 64 deep"},
	} {
		_, errs := decode(t, c.text)
		if errs == nil || !strings.HasPrefix(errs.Error(), c.want) {
			t.Errorf("%s\n  %v\nwant\n  %s", c.text, errs, c.want)
		}
	}
	_, problems := decode(t, "- rff: {gamma: -1, width: 2}\n- pcaa\n- logistic: {c: 1, tol: no}")
	if len(problems) != 5 {
		t.Errorf("must have five errors:\n%v", problems)
	}
}

// Aliases are written out, as long as that has bounds.
func TestAliases(t *testing.T) {
	p, errs := decode(t, "- {rff: &r {gamma: 3, features: 8}}\n- {rff: *r, name: again}\n- ridge")
	if errs != nil || !reflect.DeepEqual(p.Steps[1].Fitter.(transformer.RFF).Gamma, kernel.FixedGamma(3)) {
		t.Errorf("%+v, %v", p, errs)
	}
	var laughs strings.Builder
	laughs.WriteString("- columns:\n  - &a0 {select: [x, x, x, x, x, x, x, x, x], steps: []}\n")
	for i := range 9 {
		fmt.Fprintf(&laughs, "  - &a%d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	laughs.WriteString("- ridge\n")
	_, errs = decode(t, laughs.String())
	if len(errs) != 1 || !strings.Contains(errs[0].Problem, "more than 65536 values") {
		t.Errorf("a billion laughs: %v", errs)
	}
	if _, problems := yaml.Decode(nil, yaml.Origin{}); len(problems) != 1 {
		t.Errorf("no document: %v", problems)
	}
}

// writer makes random pipelines.
type writer struct{ *rand.Rand }

func (r writer) pipeline() pipeline.Pipeline { return r.nested(2) }

// nested returns a pipeline of wrappers nested to a depth.
func (r writer) nested(depth int) pipeline.Pipeline {
	p := pipeline.Pipeline{Steps: r.steps(r.IntN(4), 2), Estimator: r.model(depth)}
	for p.CheckTargets() != nil { // a step uses targets, and the model is unsupervised
		p.Steps = r.steps(r.IntN(4), 2)
	}
	if r.IntN(2) == 0 {
		p.Name = "model-x"
	}
	return p
}

func (r writer) model(depth int) estimator.Estimator {
	var models []pipeline.Entry
	for _, e := range pipeline.Registered() {
		if e.IsEstimator() && (depth > 0 || len(pipeline.Within(e.New())) == 0) {
			models = append(models, e)
		}
	}
	within := func() estimator.Estimator {
		if r.IntN(2) == 0 {
			return r.nested(depth - 1)
		}
		return r.model(depth - 1)
	}
	switch spec := models[r.IntN(len(models))].New().(type) {
	case meta.Target:
		spec.Estimator = within()
		return r.dial(spec).(estimator.Estimator)
	case meta.Intervals:
		spec.Estimator = within()
		return r.dial(spec).(estimator.Estimator)
	case meta.Calibrated:
		spec.Estimator = within()
		return r.dial(spec).(estimator.Estimator)
	case meta.Threshold:
		spec.Estimator = within()
		switch r.IntN(3) {
		case 0:
			spec.Score = "f1"
		case 1:
			spec.Costs = meta.Costs{FalsePositive: r.ExpFloat64(), FalseNegative: 2}
		default:
			spec.Costs = meta.Costs{Of: map[string]map[string]float64{"not so good": {"1": r.ExpFloat64(), "yes": 3},
				"null": {}}}
		}
		return r.dial(spec).(estimator.Estimator)
	case meta.Ensemble:
		for k := range 1 + r.IntN(3) {
			spec.Members = append(spec.Members, meta.Member{Name: fmt.Sprint("m", k), Estimator: within()})
		}
		return r.dial(spec).(estimator.Estimator)
	default:
		return r.dial(spec).(estimator.Estimator)
	}
}

func (r writer) steps(n, depth int) []pipeline.Step {
	var all []pipeline.Entry
	for _, e := range pipeline.Registered() {
		if !e.IsEstimator() {
			all = append(all, e)
		}
	}
	var out []pipeline.Step
	for i := range n {
		f := all[r.IntN(len(all))].New().(transformer.Fitter)
		switch f.(type) {
		case pipeline.Chain:
			f = pipeline.Chain{Steps: r.steps(r.IntN(3)*min(depth, 1), depth-1)}
		case pipeline.Union:
			if depth == 0 {
				continue
			}
			u := pipeline.Union{Parts: r.steps(3, depth-1)}
			if len(u.Parts) == 0 {
				continue
			}
			for range len(u.Parts) * r.IntN(2) {
				u.Weights = append(u.Weights, r.ExpFloat64())
			}
			f = u
		case pipeline.Columns:
			if depth == 0 {
				continue
			}
			c := pipeline.NewColumns()
			c.Remainder = []string{"drop", "passthrough"}[r.IntN(2)]
			for k := range 1 + r.IntN(3) {
				c.Groups = append(c.Groups, pipeline.Group{Name: []string{"", fmt.Sprint("g", k)}[r.IntN(2)],
					Select: r.selection(k), Steps: r.steps(r.IntN(3), depth-1)})
			}
			f = c
		default:
			f = r.dial(f).(transformer.Fitter)
		}
		out = append(out, pipeline.Step{Name: fmt.Sprintf("s%d", i), Fitter: f})
	}
	return out
}

func (r writer) selection(k int) []string {
	return [][]string{{"yes"}, {"3"}, {"null", "~"}, {"a b: c", "#x", "*d"}, {"/^[a-z]\\d+$/"},
		{"é", "'q'", "\"q\""}}[(k+r.IntN(2)*3)%6]
}

// dial sets the parameters of a spec to random valid values.
func (r writer) dial(spec any) any {
	for _, p := range specs.Own(spec) {
		var v any
		switch p.Kind {
		case paramkind.Float:
			v = math.Exp(20 * r.NormFloat64())
		case paramkind.Int:
			v = r.IntN(1000)
		case paramkind.Bool:
			v = r.IntN(2) == 0
		case paramkind.Choice:
			v = p.Options[r.IntN(len(p.Options))]
		case paramkind.Seed:
			v = r.Uint64()
		case paramkind.Floats:
			v = []any{r.Float64(), r.IntN(9)}
		case paramkind.Mixed:
			v = []any{r.ExpFloat64(), "scale", "median", "balanced", []any{0.5, 2.0}, r.IntN(50) + 1}[r.IntN(6)]
		}
		changed, err := param.With(spec, param.Setting{Path: p.Name, Value: v})
		if err == nil && param.Check(changed) == nil {
			spec = changed
		}
	}
	return spec
}

// TestLoadWriteLoadIsIdentity checks that an encoded pipeline is decoded unchanged, and encoded
// again with the same text.
func TestLoadWriteLoadIsIdentity(t *testing.T) {
	r := writer{rand.New(rand.NewPCG(1, 2))}
	for range 400 {
		p := r.pipeline()
		node, err := yaml.Encode(p, false)
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		text, err := tree.Marshal(node)
		if err != nil {
			t.Fatal(err)
		}
		q, errs := decode(t, string(text))
		if errs != nil {
			t.Fatalf("%v\nin\n%s", errs, text)
		}
		if !reflect.DeepEqual(param.All(q), param.All(p)) || q.String() != p.String() {
			t.Fatalf("read\n%+v, want\n%+v, from\n%s", q, p, text)
		}
		again, err := yaml.Encode(q, false)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := tree.Marshal(again)
		if string(second) != string(text) {
			t.Fatalf("written again\n%s, want\n%s", second, text)
		}
	}
}

// mean is an unregistered estimator.
type mean struct{}

func (mean) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return nil, nil }

func TestEncodeRefuses(t *testing.T) {
	if _, err := yaml.Encode(pipeline.Steps().Then(mean{}), false); err == nil ||
		!strings.HasPrefix(err.Error(), "pipeline: github.com/bochner-ml/bochner/pipeline/yaml_test.mean is not registered") {
		t.Errorf("a step that is not registered: %v", err)
	}
	if _, err := yaml.Encode(pipeline.Steps().Then(estimator.Ridge{}), false); err == nil {
		t.Error("a spec that Decode would refuse was written")
	}
}

// FuzzDecode checks that Decode does not panic for any document, and that accepted documents can be
// encoded and decoded.
func FuzzDecode(f *testing.F) {
	f.Add("- rff: {gamma: 0.1}\n- ridge\n")
	f.Add("- columns:\n  - {select: numeric, steps: [{impute: {strategy: median}}, standardize]}\n- {union: {parts: " +
		"[rff, {binning: {gamma: 1}, name: b}], weights: [1, 2]}}\n- svm: {C: 1e3}\n")
	f.Add("- &a [*a]\n- {steps: [minmax, {steps: []}], name: x}\n- {rff: {name: y}}\n- logistic: {class_weight: balanced}")
	f.Add("- columns: {groups: [{select: [a, /b/, c*], steps: []}], remainder: passthrough}\n- <<: {ridge: }\n- ? " +
		"[a]\n  : b")
	f.Fuzz(func(t *testing.T, text string) {
		var node tree.Node
		if tree.Unmarshal([]byte(text), &node) != nil {
			return
		}
		p, errs := yaml.Decode(&node, yaml.Origin{File: "a", Path: "pipeline", Seed: 1})
		if errs != nil {
			_ = errs.Error()
			return
		}
		out, err := yaml.Encode(p, false)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v\n%s", err, text)
		}
		written, err := tree.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		var back tree.Node
		if err := tree.Unmarshal(written, &back); err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		q, errs := yaml.Decode(&back, yaml.Origin{})
		if errs != nil {
			t.Fatalf("%v in\n%s", errs, written)
		}
		if second, err := yaml.Encode(q, false); err != nil {
			t.Fatal(err)
		} else if again, _ := tree.Marshal(second); string(again) != string(written) {
			t.Fatalf("written again\n%s, want\n%s", again, written)
		}
	})
}

// TestComplexities checks the complexity declared by parameters, for searches that prefer simpler
// models.
func TestComplexities(t *testing.T) {
	moreUnits, fewerUnits := param.Complexity{Order: 1}, param.Complexity{Order: 1, Simpler: true}
	morePenalty, lessPenalty := param.Complexity{Order: 2, Simpler: true}, param.Complexity{Order: 2}
	rougher := param.Complexity{Order: 3}
	want := map[string]param.Complexity{
		"onehot.min_count": fewerUnits, "binning.min_count": fewerUnits,
		"pca.components": moreUnits, "binning.grids": moreUnits, "nystroem.landmarks": moreUnits,
		"rff.features": moreUnits, "softmax_features.features": moreUnits, "ard.features": moreUnits,
		"rfm.features": moreUnits, "gaussian_process.features": moreUnits,
		"rff_network.features": moreUnits, "rff_network.layers": moreUnits,
		"kmeans.clusters": moreUnits, "spectral.clusters": moreUnits,
		"rff.gamma": rougher, "binning.gamma": rougher, "nystroem.gamma": rougher,
		"softmax_features.gamma": rougher, "kernel_ridge.gamma": rougher,
		"kernel_ridge_classifier.gamma": rougher, "gaussian_process.gamma": rougher,
		"rff_network.gamma": rougher, "kernel_svm.gamma": rougher, "kernel_svr.gamma": rougher,
		"ridge.alpha": morePenalty, "ridge_classifier.alpha": morePenalty,
		"kernel_ridge.alpha":            morePenalty,
		"kernel_ridge_classifier.alpha": morePenalty, "rff_network.alpha": morePenalty,
		"sgd_classifier.alpha": morePenalty, "sgd_regressor.alpha": morePenalty,
		"poisson.alpha": morePenalty, "gamma_regression.alpha": morePenalty, "tweedie.alpha": morePenalty,
		"quantile_regression.alpha": morePenalty, "huber.alpha": morePenalty,
		"gaussian_process.noise": morePenalty, "svr.epsilon": morePenalty,
		"target_encode.smooth": morePenalty, "hash.features": moreUnits,
		"tfidf.min_count":            fewerUnits,
		"polynomial_sketch.features": moreUnits, "skewed_chi2.features": moreUnits,
		"kernel_svr.epsilon": morePenalty, "kernel_svm.C": lessPenalty, "kernel_svr.C": lessPenalty,
		"logistic.C": lessPenalty, "svm.C": lessPenalty, "svr.C": lessPenalty,
		"lasso.alpha": morePenalty, "elastic_net.alpha": morePenalty,
	}
	got := map[string]param.Complexity{}
	for _, e := range pipeline.Registered() {
		for _, p := range specs.Own(e.New()) {
			if p.Complexity.Order != 0 {
				got[e.Name+"."+p.Name] = p.Complexity
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
