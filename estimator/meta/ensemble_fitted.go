package meta

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/model"
)

// FittedEnsemble is a fitted [Ensemble]. It has the outputs that all of its members have.
type FittedEnsemble struct {
	cols    int
	members []FittedMember
	sizes   []float64 // scale of the scores of each member; nil if scores are not scaled
	outputs estimator.Outputs
}

// newFittedEnsemble combines members, which agree on their classes.
func newFittedEnsemble(cols int, members []FittedMember, sizes []float64) (*FittedEnsemble, error) {
	f := &FittedEnsemble{cols: cols, members: members, sizes: sizes}
	return f, f.setOutputs()
}

// setOutputs determines the outputs common to all members.
func (f *FittedEnsemble) setOutputs() error {
	first, has := f.members[0], estimator.OutputValues|estimator.OutputTargets|estimator.OutputScores
	if f.sizes == nil {
		has |= estimator.OutputProbabilities
	}
	classes := classesOf(first.Predictor)
	for _, m := range f.members {
		one := estimator.OutputsOf(m.Predictor)
		if one.Labels != nil {
			return errLabels
		}
		if !slices.Equal(one.Classes, classes) {
			return fmt.Errorf("members must have the same classes, got %s with %q and %s with %q", first.Name, classes, m.Name,
				one.Classes)
		}
		has &= one.Has
	}
	f.outputs = estimator.Outputs{Has: has, Classes: classes}
	return nil
}

// combinedOutputs are the outputs that an ensemble requests from its members.
var combinedOutputs = estimator.Request{
	Outputs: estimator.OutputValues | estimator.OutputTargets | estimator.OutputScores | estimator.OutputProbabilities,
}

// Combined returns the members with their weights.
func (f *FittedEnsemble) Combined() []FittedMember { return slices.Clone(f.members) }

// Refit fits the members to data and keeps their weights.
func (f *FittedEnsemble) Refit(ctx context.Context, spec estimator.Estimator, data datasets.Set) (estimator.Predictor,
	error) {
	s, ok := spec.(Ensemble)
	if !ok {
		return nil, Ensemble{}.named(fmt.Errorf("must be the spec of the fitted model, got %T", spec))
	}
	parts, err := s.memberList()
	if err == nil && len(parts) != len(f.members) {
		err = fmt.Errorf("must have the %d members of the fitted model, got %d", len(f.members), len(parts))
	}
	members := slices.Clone(f.members)
	for k := range members {
		if err == nil {
			members[k].Predictor, err = guard.NotNil(estimator.Refit(ctx, parts[k].Estimator, members[k].Predictor, data))
		}
	}
	if err != nil {
		return nil, s.named(err)
	}
	out, err := newFittedEnsemble(data.Cols(), members, f.sizes)
	return out, s.named(err)
}

// Tags returns the number of input columns.
func (f *FittedEnsemble) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.cols} }

// Predict returns the value, or the code of the class, of each row of X.
func (f *FittedEnsemble) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictFull(ctx, X, estimator.Request{})
	return all.Values, err
}

// Outputs returns the outputs common to all members, without standard deviations, intervals and
// sets.
func (f *FittedEnsemble) Outputs() estimator.Outputs { return f.outputs }

// PredictFull returns the weighted sum of the predictions of the members for each row of X. Members
// of weight 0 are not evaluated.
func (f *FittedEnsemble) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (estimator.Prediction,
	error) {
	all, weights := make([]estimator.Prediction, len(f.members)), make([]float64, len(f.members))
	for k, m := range f.members {
		if weights[k] = m.Weight; m.Weight == 0 {
			continue
		}
		var err error
		if all[k], err = estimator.Predict(ctx, m.Predictor, X, combinedOutputs); err != nil {
			return estimator.Prediction{}, Ensemble{}.named(fmt.Errorf("%s: %w", m.Name, err))
		}
	}
	out, err := stacking.Combine(all, weights, f.sizes, len(f.outputs.Classes))
	return out, Ensemble{}.named(err)
}

// Report returns the combined report of the fits of all members.
func (f *FittedEnsemble) Report() estimator.Report {
	out := estimator.Report{Solver: "ensemble", Converged: true}
	for _, m := range f.members {
		var r estimator.Reporter
		if !estimator.As(m.Predictor, &r) {
			continue
		}
		one := r.Report()
		out.Iterations, out.Converged = max(out.Iterations, one.Iterations), out.Converged && one.Converged
		out.Gradient, out.Gap = max(out.Gradient, one.Gradient), max(out.Gap, one.Gap)
		for _, w := range one.Warnings {
			out.Warnings = append(out.Warnings, m.Name+": "+w)
		}
	}
	return out
}

// State serializes the members and their weights.
func (f *FittedEnsemble) State(s *model.State) {
	var names []string
	var weights []float64
	for _, m := range f.members {
		names, weights = append(names, m.Name), append(weights, m.Weight)
	}
	s.Int("columns", &f.cols)
	s.Strings("members", &names)
	s.Floats("weights", &weights)
	s.Floats("sizes", &f.sizes)
	if s.Restoring() && s.Err() == nil {
		f.read(s, names, weights)
	}
	for k := range f.members {
		if s.Err() != nil {
			return
		}
		modelState(s, fmt.Sprintf("%d.%s", k, names[k]), &f.members[k].Predictor, f.cols)
	}
	if s.Restoring() && s.Err() == nil {
		if err := f.setOutputs(); err != nil {
			s.Fail("%v", err)
		}
		s.Require(len(f.sizes) == 0 || f.outputs.Classes != nil, "scores of no classes")
	}
}

// read makes the members, which the file has names and weights of.
func (f *FittedEnsemble) read(s *model.State, names []string, weights []float64) {
	if len(f.sizes) == 0 {
		f.sizes = nil
	}
	s.Require(f.cols > 0, "there are no columns")
	s.Require(len(names) > 0 && len(names) == len(weights) && (f.sizes == nil || len(f.sizes) == len(names)),
		"there are no members, or other weights")
	sum := 0.0
	for _, w := range slices.Concat(weights, f.sizes) {
		s.Require(w >= 0 && !math.IsInf(w, 0), "a weight is not a number ≥ 0")
	}
	for _, w := range weights {
		sum += w
	}
	s.Require(sum > 0, "every weight is 0")
	for _, name := range names {
		s.Require(suggest.ValidName(name), "the name of a member is none")
	}
	if s.Err() != nil {
		return
	}
	for k, name := range names {
		f.members = append(f.members, FittedMember{Name: name, Weight: weights[k]})
	}
}
