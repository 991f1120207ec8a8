// Package pipeline puts steps together: one after the other ([Chain]), side by side ([Union]),
// group of columns by group ([Columns]), and before a model ([Pipeline]).
//
// Each of them is a spec like any other: a [Chain], a [Union] and a [Columns] is a step, a
// [Pipeline] is an estimator, and their parameters are those of their parts, by path:
//
//	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
//	wider, err := p.With(param.Setting{Path: "rff.features", Value: 2000})
//
// The names of steps come from the registry ([Register], [Registered]). Package pipeline/yaml reads a
// pipeline from a YAML document with every fault at once and writes it, and pipeline/modelfile keeps a
// fitted one with the schema of its inputs. A step of your own that holds others is a [Composite].
//
// Narrow features are kept in memory between steps; the features of the last step, which may be
// much wider than the data, are handed to a model that reads them once in tiles that are made
// afresh, so that n×D numbers are never stored. A pipeline whose precision is [Float32] makes them
// in single precision.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Pipeline is the spec of steps and a model on what comes out of them, itself an estimator.
type Pipeline struct {
	Steps     []Step
	Estimator estimator.Estimator
	Name      string // of the estimator in paths; "" stands for the name it is registered under
	// Memory is how many bytes of mapped rows a fit may keep; 0 stands for [DefaultMemory]. What
	// does not fit is mapped afresh at each reading, so results do not depend on it beyond rounding.
	Memory int64
	// Precision is that of the features that the last step makes and the estimator reads, where they
	// are dense: "float64", for which "" stands too, or "float32". In single precision they take half
	// the memory and about half the time; sums over rows are in double precision in either case.
	Precision string
}

// The precisions of features.
const (
	Float64 = "float64"
	Float32 = "float32"
)

// DefaultMemory is how many bytes of mapped rows a fit keeps where nothing else is said: 100,000
// rows of 2048 features, and of twice as many in single precision. Reading them from memory takes a
// fraction of the time that mapping them again does.
const DefaultMemory = 2 << 30

// Sequence is steps one after the other.
type Sequence []Step

// Steps names the specs after the names they are registered under. With a model after them they are a
// pipeline:
//
//	p := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewRidge())
func Steps(fitters ...transformer.Fitter) Sequence {
	steps := make(Sequence, len(fitters))
	for i, f := range fitters {
		steps[i] = Step{Fitter: f}
	}
	return steps
}

// Then returns the pipeline of the steps and the model on what comes out of them.
func (s Sequence) Then(model estimator.Estimator) Pipeline {
	return Pipeline{Steps: s, Estimator: model, Precision: Float64}
}

// Params declares the precision, and the parameters of the steps and of the estimator, each below
// its name.
func (p *Pipeline) Params(l *param.List) {
	if p.Precision == "" {
		p.Precision = Float64
	}
	l.Choice(&p.Precision, "precision", "precision of the dense features that the estimator reads", Float64, Float32)
	p.Steps = slices.Clone(p.Steps)
	DeclareSteps(l, p.Steps)
	l.Child(p.path(), &p.Estimator)
}

// clone returns a copy that shares no list of steps with p.
func (p Pipeline) clone() Pipeline {
	p.Steps = cloneSteps(p.Steps)
	return p
}

// path is the estimator's name in parameter paths.
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
	return DefaultMemory
}

// Check reports what is wrong with the spec, before any row is looked at.
func (p Pipeline) Check() error { return place.Here(p.check()) }

func (p Pipeline) check() error {
	if p.Estimator == nil {
		return errors.New("no estimator")
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
	return param.CheckFit(&p)
}

// Fit fits the steps one after the other and the estimator to what comes out of them. The result is a
// [*FittedPipeline]; what the fitted estimator can do besides, [estimator.As] finds in it.
func (p Pipeline) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := p.check(); err != nil {
		return nil, place.Here(err)
	}
	r, err := rows.Of(data, p.memory())
	if err != nil {
		return nil, place.Here(err)
	}
	if err := p.room(data.Shape()); err != nil {
		return nil, err
	}
	r.Float32 = p.Precision == Float32
	return p.fit(ctx, r, data.Schema, data.Cols(), data.Rows())
}

// FitSource is Fit with memory that does not grow with the number of rows, as far as every step is
// a [transformer.BlockFitter] and the estimator a [estimator.BlockEstimator]; for one that is not,
// the rows are gathered. The source is read at least once for each step that learns from rows.
func (p Pipeline) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if err := p.check(); err != nil {
		return nil, place.Here(err)
	}
	r, err := rows.From(ctx, data, p.memory())
	if err != nil {
		return nil, place.Here(err)
	}
	n, cols := data.Dims()
	if err := p.room(datasets.Shape{Rows: max(n, 0), Cols: cols, Outputs: data.Schema().Outputs(), Columns: data.Schema().Columns}); err != nil {
		return nil, err
	}
	r.Float32 = p.Precision == Float32
	return p.fit(ctx, r, data.Schema(), cols, n)
}

// room refuses an estimator that would hold more memory than there is, before the steps are fitted, where
// the width that they make is known.
func (p Pipeline) room(shape datasets.Shape) error {
	mapped := Chain{Steps: p.Steps}.Cost(shape)
	if mapped.Guess {
		return nil
	}
	return place.At("step", p.path(), memory.Check(rows.CostOf(p.Estimator, shape.After(mapped)).Bytes))
}

func (p Pipeline) fit(ctx context.Context, r rows.Rows, in datasets.Schema, cols, n int) (estimator.Predictor, error) {
	last := len(p.Steps) - 1
	steps, out, err := rows.FitSteps(ctx, named(p.Steps), r, func(i int) bool {
		return i < last || !p.EstimatorReadsOnce(n, cols)
	})
	if err != nil {
		return nil, err
	}
	fitted, err := out.FitEstimator(ctx, p.Estimator)
	if err != nil {
		return nil, place.At("step", p.path(), err)
	}
	return &FittedPipeline{spec: p.clone(), chain: &FittedChain{cols: cols, steps: steps}, in: in, precision: cmp.Or(p.Precision, Float64), name: p.path(), model: fitted}, nil
}

// EstimatorReadsOnce reports whether the estimator reads what comes out of the last step just once,
// when the pipeline is fitted to n×cols inputs; n is −1 where that is unknown. Its features are then
// mapped as it reads them and never stored; those of any other estimator are cached where they fit into
// memory, because reading them again would map them again.
func (p Pipeline) EstimatorReadsOnce(n, cols int) bool {
	if _, ok := p.Estimator.(estimator.BlockEstimator); !ok {
		return false
	}
	return rows.CostOf(p.Estimator, datasets.Shape{Rows: n, Cols: max(p.widthAfter(n, cols), 1)}).Passes == 1
}

// widthAfter is the width that comes out of the steps as far as they can tell before they are
// fitted.
func (p Pipeline) widthAfter(rows, cols int) int {
	return (Chain{Steps: p.Steps}).Cost(datasets.Shape{Rows: rows, Cols: cols}).Width
}

// String returns the pipeline on one line: "standardize → rff → ridge".
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
