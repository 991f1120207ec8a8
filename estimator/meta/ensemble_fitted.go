package meta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// FittedEnsemble is what [Ensemble] is fitted to. It is an [estimator.Classifier], [estimator.Probabilistic] or
// [estimator.MultiPredictor], as [estimator.As] finds, where its members are.
type FittedEnsemble struct {
	cols    int
	members []FittedMember
	sizes   []float64 // by which scores are brought to one size; nil where they are of one size
	classes []string
	face    estimator.Predictor
}

var (
	_ estimator.WholePredictor = (*FittedEnsemble)(nil)
	_ estimator.Wrapper        = (*FittedEnsemble)(nil)
	_ estimator.Reporter       = (*FittedEnsemble)(nil)
	_ Combination              = (*FittedEnsemble)(nil)
	_ model.Stateful           = (*FittedEnsemble)(nil)
)

// newFittedEnsemble combines members, which agree on their classes.
func newFittedEnsemble(cols int, members []FittedMember, sizes []float64) (*FittedEnsemble, error) {
	f := &FittedEnsemble{cols: cols, members: members, sizes: sizes}
	return f, f.look()
}

// look finds what the members have in common.
func (f *FittedEnsemble) look() error {
	f.classes = classesOf(f.members[0].Predictor)
	probable, several := f.sizes == nil, true
	for _, m := range f.members {
		if classes := classesOf(m.Predictor); !slices.Equal(classes, f.classes) {
			return fmt.Errorf("%s tells apart the classes %q, and %s %q", f.members[0].Name, f.classes, m.Name, classes)
		}
		var p estimator.Probabilistic
		probable = probable && estimator.As(m.Predictor, &p)
		var t estimator.MultiPredictor
		several = several && estimator.As(m.Predictor, &t)
	}
	switch {
	case f.classes != nil && probable:
		f.face = probableFace{classFace{face{}, f.classes}}
	case f.classes != nil:
		f.face = classFace{face{}, f.classes}
	case several:
		f.face = targetsFace{}
	default:
		f.face = face{}
	}
	return nil
}

// face stands for the model within, of which there is not one but several: by it As sees what the ensemble
// can do, and asks the ensemble for it.
type face struct{}

var errFace = errors.New("estimator: the members of an ensemble predict only together")

func (face) Predict(context.Context, mat.Matrix) ([]float64, error) { return nil, errFace }

type classFace struct {
	face
	classes []string
}

func (f classFace) Classes() []string { return f.classes }

func (classFace) Decision(context.Context, mat.Matrix) (*mat.Dense, error) { return nil, errFace }

type probableFace struct{ classFace }

func (probableFace) Probabilities(context.Context, mat.Matrix) (*mat.Dense, error) {
	return nil, errFace
}

type targetsFace struct{ face }

func (targetsFace) PredictTargets(context.Context, mat.Matrix) (*mat.Dense, error) {
	return nil, errFace
}

// Combined returns the members with their weights.
func (f *FittedEnsemble) Combined() []FittedMember { return slices.Clone(f.members) }

// InputWidth returns the number of columns that go in.
func (f *FittedEnsemble) InputWidth() int { return f.cols }

// Unwrap returns no member: that the members predict together is what [estimator.As] is to see.
func (f *FittedEnsemble) Unwrap() (within estimator.Predictor, sameRows bool) { return f.face, false }

// Predict returns the value, or the code of the class, of each row of X.
func (f *FittedEnsemble) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictAll(ctx, X)
	return all.Values, err
}

// PredictAll returns the weighted sum of what the members say of each row of X. Those of weight 0 are not asked.
func (f *FittedEnsemble) PredictAll(ctx context.Context, X mat.Matrix) (estimator.Prediction, error) {
	all, weights := make([]estimator.Prediction, len(f.members)), make([]float64, len(f.members))
	for k, m := range f.members {
		if weights[k] = m.Weight; m.Weight == 0 {
			continue
		}
		var err error
		if all[k], err = estimator.Predict(ctx, m.Predictor, X); err != nil {
			return estimator.Prediction{}, Ensemble{}.named(fmt.Errorf("%s: %w", m.Name, err))
		}
	}
	out, err := combined(all, weights, f.sizes, len(f.classes))
	return out, Ensemble{}.named(err)
}

// Report says how the fits of all members went.
func (f *FittedEnsemble) Report() estimator.Report {
	out := estimator.Report{Solver: "ensemble", Converged: true}
	for _, m := range f.members {
		var r estimator.Reporter
		if !estimator.AsWithin(m.Predictor, &r) {
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

// State keeps the members and their weights.
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
	if s.Reading() && s.Err() == nil {
		f.read(s, names, weights)
	}
	for k := range f.members {
		if s.Err() != nil {
			return
		}
		keepModel(s, fmt.Sprintf("%d.%s", k, names[k]), &f.members[k].Predictor, f.cols)
	}
	if s.Reading() && s.Err() == nil {
		if err := f.look(); err != nil {
			s.Fail("%v", err)
		}
		s.Require(len(f.sizes) == 0 || f.classes != nil, "scores of no classes")
	}
}

// read makes the members, which the file has names and weights of.
func (f *FittedEnsemble) read(s *model.State, names []string, weights []float64) {
	if len(f.sizes) == 0 {
		f.sizes = nil
	}
	s.Require(f.cols > 0, "there are no columns")
	s.Require(len(names) > 0 && len(names) == len(weights) && (f.sizes == nil || len(f.sizes) == len(names)), "there are no members, or other weights")
	sum := 0.0
	for _, w := range slices.Concat(weights, f.sizes) {
		s.Require(w >= 0 && !math.IsInf(w, 0), "a weight is not a number ≥ 0")
	}
	for _, w := range weights {
		sum += w
	}
	s.Require(sum > 0, "every weight is 0")
	for _, name := range names {
		s.Require(param.ValidName(name), "the name of a member is none")
	}
	if s.Err() != nil {
		return
	}
	for k, name := range names {
		f.members = append(f.members, FittedMember{Name: name, Weight: weights[k]})
	}
}
