package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// FitBatch transforms the targets, leaves the rest to the models within, and turns back what they predict.
// Where a transform does not depend on the training rows, one batch serves all folds, and leaving one out is
// as exact as it is within; else there is a batch for each fold. Candidates with Smear, whose residuals
// are of the training rows, are fitted by themselves.
func (s Target) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	specs, err := specsOf[Target](b, "target")
	if err != nil {
		return nil, err
	}
	groups, kinds := map[string][]int{}, []string(nil)
	for i, spec := range specs {
		wrong := spec.check(b.Data.Schema)
		if wrong == nil && b.OneOut {
			wrong = spec.oneOut(b.GCV)
		}
		if wrong != nil {
			if err := b.refuse(i, spec.named(wrong)); err != nil {
				return shared, err
			}
			continue
		}
		key := spec.Transform + fmt.Sprint(spec.Smear)
		if groups[key] == nil {
			kinds = append(kinds, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range kinds {
		spec := specs[groups[key][0]]
		names, err := spec.fitAlike(ctx, b.only(groups[key]))
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// fitAlike fits candidates with the transform of s.
func (s Target) fitAlike(ctx context.Context, b Batch) (shared []string, err error) {
	if s.Smear {
		return nil, fitEach(ctx, b)
	}
	if !s.learns() {
		if maps, mapped, err := s.transformed(b.Data); err == nil {
			return s.fitMapped(ctx, b, mapped, func(int) targetMaps { return maps })
		}
	}
	for f := range b.Folds {
		part := b.onFold(f)
		maps, mapped, failed := s.transformedFold(b.Data, b.Folds[f].Train)
		if failed != nil {
			for i := range b.Candidates {
				if err := part.refuse(i, s.named(failed)); err != nil {
					return shared, err
				}
			}
			continue
		}
		names, err := s.fitMapped(ctx, part, mapped, func(int) targetMaps { return maps })
		if shared = append(shared, names...); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// transformedFold is transformed of the training rows of a fold. The targets of the others, which no model is
// to see, are 0.
func (s Target) transformedFold(data datasets.Set, train []int) (targetMaps, datasets.Set, error) {
	own := datasets.Set{X: data.X, Y: data.Y, Targets: data.Targets, Weights: data.Weights, Schema: data.Schema}
	y, count, err := design.BlockTargets(0, own)
	if err != nil {
		return nil, data, err
	}
	z, w := make([]float64, 0, len(train)*count), []float64(nil)
	for _, i := range train {
		if z = append(z, y[i*count:(i+1)*count]...); data.Weights != nil {
			w = append(w, data.Weights[i])
		}
	}
	maps := learnMaps(s.Transform, z, count, w)
	out := make([]float64, len(y))
	for _, i := range train {
		for j := range count {
			if out[i*count+j], err = maps[j].checked(y[i*count+j], data, i, j); err != nil {
				return nil, data, err
			}
		}
	}
	return maps, withTargets(data, out, count), nil
}

// fitMapped does a batch whose targets have been transformed.
func (s Target) fitMapped(ctx context.Context, b Batch, mapped datasets.Set, maps func(fold int) targetMaps) (shared []string, err error) {
	inner := b
	inner.Data = mapped
	inner.Candidates = heldBy(b.Candidates)
	var mu sync.Mutex
	whole := map[[2]int]bool{} // what was fitted with its whole pipeline, this wrapper within
	if b.Lone != nil {
		inner.Lone = func(ctx context.Context, candidate, fold int) Outcome {
			mu.Lock()
			whole[[2]int{candidate, fold}] = true
			mu.Unlock()
			return b.Lone(ctx, candidate, fold)
		}
	}
	inner.Yield = func(candidate, fold int, out Outcome) error {
		mu.Lock()
		done := whole[[2]int{candidate, fold}]
		mu.Unlock()
		if !done && out.Err == nil {
			if out.Prediction, out.Err = maps(fold).back(out.Prediction); out.Err != nil {
				out.Err = b.Data.AtRows(out.Err, b.Folds[fold].Test)
			}
		}
		if !done && out.Err != nil {
			out.Err = s.named(out.Err)
		}
		return b.Yield(candidate, fold, out)
	}
	return fitHeld(ctx, inner)
}

// withTargets returns data with other targets, rows × count.
func withTargets(data datasets.Set, y []float64, count int) datasets.Set {
	if data.Targets == nil {
		data.Y = y
		return data
	}
	data.Targets = mat.NewDense(len(y)/count, count, y)
	return data
}

// heldBy are the candidates that a Target each holds.
func heldBy(candidates []Candidate) []Candidate {
	out := make([]Candidate, len(candidates))
	for i, c := range candidates {
		out[i] = c
		if spec, ok := c.Estimator.(Target); ok {
			out[i].Estimator = spec.Of
		}
	}
	return out
}

// oneOut says why a spec cannot be left one row out.
func (s Target) oneOut(gcv bool) error {
	switch {
	case s.learns() || s.Smear:
		return errors.New("what it learns from the targets would be another without each row; use k folds")
	case gcv:
		return errors.New("generalised cross-validation speaks of errors in transformed targets; use loo or k folds")
	}
	return nil
}

// BatchCost is that of the models within.
func (s Target) BatchCost(b Batch) (cost datasets.Cost, shared []string, err error) {
	for i, c := range b.Candidates {
		spec, ok := c.Estimator.(Target)
		if !ok {
			return cost, nil, fmt.Errorf("estimator: target: candidate %d is a %T", i, c.Estimator)
		}
		if err = checkHeld(spec, spec.Of); err == nil && b.OneOut {
			err = spec.oneOut(b.GCV)
		}
		if err == nil && b.Mapped() && spec.Smear {
			err = errNotMapped
		}
		if err != nil {
			return cost, nil, s.named(err)
		}
	}
	cost, shared, err = costHeld(Batch{Shape: b.Shape, Folds: b.Folds, Candidates: heldBy(b.Candidates), Maps: b.Maps, OneOut: b.OneOut, GCV: b.GCV, Memory: b.Memory})
	return cost, shared, cmp.Or(s.named(err), err)
}
