package pipeline

import (
	"context"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// foldRows contains the rows of one fold at a node of the tree: training rows, followed by test
// rows.
type foldRows struct {
	set     datasets.Set
	train   int // number of training rows
	fold    int
	seconds float64        // shared time per candidate
	stages  []*fittedStage // first stages shared by the next steps
}

func (d foldRows) trainSet() datasets.Set { return d.set.Slice(0, d.train) }

func (d foldRows) testSet() datasets.Set { return d.set.Slice(d.train, d.set.Rows()) }

func (d foldRows) testX() mat.Matrix { return d.testSet().X }

// divide returns the rows of fold f.
func divide(data datasets.Set, fold datasets.Fold, f int) foldRows {
	return foldRows{set: design.Select(data, slices.Concat(fold.Train, fold.Test)), train: len(fold.Train), fold: f}
}

// folds returns the fold of the rows.
func (d foldRows) folds() []datasets.Fold {
	return []datasets.Fold{{Train: rows.Range(0, d.train), Test: rows.Range(d.train, d.set.Rows())}}
}

func (s *sweep) foldRows(f int) foldRows { return divide(s.Data, s.Folds[f], f) }

// applyStep fits the step of b to the training rows, maps all rows, and divides the time among the
// candidates. The fitted step is nil if the mapped rows would exceed the memory limit.
func (s *sweep) applyStep(ctx context.Context, b *node, d foldRows) (foldRows, transformer.Transformer, error) {
	start := time.Now()
	spec, shift := s.deriveStep(b.step.Fitter, d.stages, len(b.candidates))
	mapped, fitted, err := s.mapRows(ctx, b, spec, d)
	mapped.stages = nil
	mapped.seconds += (time.Since(start).Seconds() + shift.seconds) / float64(len(b.candidates))
	return mapped, fitted, err
}

// mapRows fits spec, the possibly derived step of b, and maps the rows.
func (s *sweep) mapRows(ctx context.Context, b *node, spec transformer.Fitter, d foldRows) (foldRows,
	transformer.Transformer, error) {
	r, err := rows.Of(d.trainSet(), s.Memory)
	if err != nil {
		return d, nil, err
	}
	fitted := &rows.Step{Name: b.step.Name}
	if fitter, ok := spec.(rows.FitTransformer); ok {
		if fitter.FeatureBytes(d.set.Rows(), d.set.Cols()) > s.Memory {
			return d, nil, nil
		}
		if r, err = r.FitTransform(ctx, fitter, fitted); err != nil {
			return d, nil, err
		}
		test, err := rows.MapAll(ctx, fitted, d.testX())
		if err != nil {
			return d, nil, d.testSet().Locate(err, 0)
		}
		d.set.Schema = r.Set.Schema
		d.set.X = concatRows(r.Set.X, test)
		return d, fitted.Fitted, nil
	}
	if fitted.Fitted, err = r.Fit(ctx, spec); err != nil {
		return d, nil, err
	}
	sample, err := fitted.Learn(ctx, r.Sample())
	if err != nil || rows.BytesOf(sample)*int64(d.set.Rows()) > s.Memory {
		return d, nil, err
	}
	if train, differs := fitted.Training(0); differs {
		train.Fitted, train.Train = fitted.Fitted, true
		above, err := rows.MapAll(ctx, train, r.Set.X)
		if err != nil {
			return d, nil, err
		}
		below, err := rows.MapAll(ctx, fitted, d.testX())
		if err != nil {
			return d, nil, d.testSet().Locate(err, 0)
		}
		d.set.X = concatRows(above, below)
		d.set.Schema = rows.Describe(fitted.Fitted, d.set.Schema)
		return d, fitted.Fitted, nil
	}
	d.set.X, err = fitted.MapCached(ctx, d.set.X, b.readers()...)
	d.set.Schema = rows.Describe(fitted.Fitted, d.set.Schema)
	return d, fitted.Fitted, err
}

// concatRows returns a, which may be nil, and b concatenated by row.
func concatRows(a, b mat.Matrix) mat.Matrix {
	above, ok := a.(*sparse.CSR)
	below, sparseBelow := b.(*sparse.CSR)
	if ok && sparseBelow {
		return sparse.Concat([]*sparse.CSR{above, below})
	}
	switch {
	case a == nil && sparseBelow:
		return sparse.Concat([]*sparse.CSR{below})
	case a == nil:
		return mat.DenseCopyOf(b)
	}
	n, width := a.Dims()
	m, _ := b.Dims()
	out := mat.NewDense(n+m, width, nil)
	rows.Fill(out.Slice(0, n, 0, width).(*mat.Dense), a, 1)
	rows.Fill(out.Slice(n, n+m, 0, width).(*mat.Dense), b, 1)
	return out
}
