// Package pipeline combines steps: sequentially ([Chain]), in parallel ([Union]), by groups of
// columns ([Columns]), and with a model ([Pipeline]).
//
// Each of them is an ordinary spec: a [Chain], a [Union] and a [Columns] is a step, a [Pipeline] is
// an estimator, and their parameters are those of their parts, addressed by path:
//
//	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
//	wider, err := p.With(param.Setting{Path: "rff.features", Value: 2000})
//
// Step names come from the registry ([Register], [Registered]). Package pipeline/yaml reads and
// writes pipelines as YAML and reports all errors at once; pipeline/modelfile saves fitted
// pipelines with their schema. Custom steps with children implement [Composite].
//
// Narrow features are cached in memory between steps. The output of the last step, which may be
// much wider than the data, is computed tile by tile for models that make one pass, so n×D numbers
// are never stored. With precision [Float32], features are computed in float32.
package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// Pipeline is the spec of a sequence of steps followed by a model. It is an estimator. Use [Steps] and [Sequence.Then]:
// the zero value is invalid.
type Pipeline struct {
	Steps     []Step
	Estimator estimator.Estimator
	Name      string // of the estimator in paths; "" for its registered name
	// Memory limits the mapped rows that a fit caches, in bytes; 0 means 2 GiB. Rows
	// beyond the limit are mapped in each pass, which affects results only by rounding.
	Memory int64
	// Precision is the precision of the last step's dense features: "float64" (also "") or
	// "float32". float32 features take half the memory and about half the time; sums over rows are
	// float64 in either case.
	Precision string
}

// Precisions of features.
const (
	Float64 = "float64"
	Float32 = "float32"
)

// Then returns the pipeline of the steps and the model.
func (s Sequence) Then(model estimator.Estimator) Pipeline {
	return Pipeline{Steps: s, Estimator: specs.ByValue(model), Precision: Float64}
}

// Params declares precision, and the parameters of the steps and of the estimator, prefixed by
// their names.
func (p *Pipeline) Params(l *param.List) {
	if p.Precision == "" {
		p.Precision = Float64
	}
	l.Choice(&p.Precision, "precision", "precision of the dense features that the estimator reads", Float64, Float32)
	p.Steps = slices.Clone(p.Steps)
	DeclareSteps(l, p.Steps)
	l.Child(p.path(), &p.Estimator)
}

// clone returns a copy that shares no slice of steps with p.
func (p Pipeline) clone() Pipeline {
	p.Steps = cloneSteps(p.Steps)
	return p
}

// Tags returns the tags of the estimator, without those of its own targets. Steps that learn from rows or targets
// prevent leave-one-out or linearity.
func (p Pipeline) Tags() datasets.Tags {
	of := datasets.TagsOf(p.Estimator)
	return datasets.Tags{Task: of.Task, MultiLabel: of.MultiLabel, SinglePass: of.SinglePass,
		LinearInTargets: of.LinearInTargets && len(supervisedSteps(p.Steps, "")) == 0, LeaveOneOut: of.LeaveOneOut,
		NoLeaveOneOut: candidate{p, named(p.Steps), nil}.canLeaveOneOut()}
}

// path returns the estimator's name in parameter paths.
func (p Pipeline) path() string {
	if p.Name != "" {
		return p.Name
	}
	return specName(p.Estimator)
}

func (p Pipeline) memory() int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return defaultMemory
}

// Check returns an error if the spec is invalid. It reads no rows.
func (p Pipeline) Check() error { return place.Here(p.check()) }

func (p Pipeline) check() error {
	if p.Estimator == nil {
		return errors.New("no estimator (start from Steps().Then(estimator))")
	}
	if err := specs.CheckValue(p.Estimator); err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	if err := checkSteps("step", p.Steps); err != nil {
		return err
	}
	names := []string{}
	for _, s := range p.Steps {
		names = append(names, s.Path())
	}
	names = append(names, p.path())
	if err := checkNames("step", names); err != nil {
		return err
	}
	if slices.Contains(names, "precision") {
		return errors.New("a step is called precision, which is a parameter of the pipeline")
	}
	if err := p.CheckTargets(); err != nil {
		return err
	}
	return specs.CheckFit(&p)
}

// String returns the pipeline on one line, such as "standardize → rff → ridge".
func (p Pipeline) String() string {
	text := ""
	for _, s := range p.Steps {
		text += s.Path() + " → "
	}
	if p.Estimator == nil {
		return text + "nothing"
	}
	return text + fmt.Sprint(p.path())
}

var (
	_ = []interface {
		estimator.IncrementalEstimator
		estimator.PassEstimator
		batch.Fitter
	}{Pipeline{}}
	_ = []interface {
		estimator.FullPredictor
		estimator.Wrapper
		graph.ModelExporter
	}{(*FittedPipeline)(nil)}
	_ = []interface {
		Composite
		transformer.PassFitter
	}{Chain{}, Columns{}, Union{}}
	_ Composite = Group{}
	_ Member    = Group{}
	_           = []interface {
		transformer.TrainingTransformer
		transformer.DenseTransformer
		transformer.Describer
		graph.StepExporter
		holder
	}{(*FittedChain)(nil), (*fittedColumns)(nil), (*fittedUnion)(nil)}
)
