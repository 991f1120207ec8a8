package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Calibrated gives any classifier probabilities: it is fitted to all rows, and a map from its scores to
// probabilities is learned from scores of rows that models had not seen. Which of two classes:
//
//	sigmoid      p = 1/(1 + exp(a·s + b)), of the largest likelihood of Platt's smoothed targets
//	isotonic     p = rising steps with straight lines between, of least squares: for thousands of rows
//	temperature  p = softmax(β·s), of the least log loss: it changes no prediction
//
// Of more classes sigmoid and isotonic learn a map for each class against all others, and probabilities are
// divided by their sum; temperature has one β for all. Weights of rows count in all three, class weights are
// the model's own affair.
//
// The scores come from Folds folds with the shares of the classes in each, by group where the rows have
// groups. With Folds 0 they are leave-one-out scores, exact and without fitting again, of a model that has these,
// as ridge_classifier has, and of one that has none from 5 folds. It costs Folds + 1 fits, which share what
// candidates and folds share in a search; a search around it shares that within each of its own folds.
//
// The score of two classes is a log odds of the second (isotonic: p − ½), that of more their probabilities. It
// is scikit-learn's CalibratedClassifierCV with ensemble=False. (Platt 1999; Zadrozny & Elkan, KDD 2002; Guo
// et al., ICML 2017.)
type Calibrated struct {
	Method string
	Folds  int
	Of     Estimator
}

// NewCalibrated returns the spec that calibrates of by a sigmoid.
func NewCalibrated(of Estimator) Calibrated { return Calibrated{Method: "sigmoid", Of: of} }

var (
	_ BatchFitter     = Calibrated{}
	_ datasets.Coster = Calibrated{}
	_ param.Declarer  = (*Calibrated)(nil)
)

// Params declares the method, the number of folds, and the parameters of the model, below of.
func (s *Calibrated) Params(l *param.List) {
	l.Choice(&s.Method, "method", "map from scores to probabilities", "sigmoid", "isotonic", "temperature")
	l.Int(&s.Folds, "folds", "folds that scores are from; 0: one row left out where that is exact, else 5", param.NonNegative)
	l.Also("folds", func() error {
		if s.Folds == 1 {
			return errors.New("0, or a whole number ≥ 2")
		}
		return nil
	})
	l.Child("of", &s.Of)
}

func (s Calibrated) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("estimator: calibrated: %w", err)
}

func (s Calibrated) division(classes int) division { return division{folds: s.Folds, classes: classes} }

// Cost is that of the model for each fold, or for what leaves one out, and once more.
func (s Calibrated) Cost(shape datasets.Shape) datasets.Cost {
	rows := make([]int, max(shape.Rows, 0))
	cost, _, _ := s.division(2).cost(Batch{Shape: shape, Folds: []datasets.Fold{{Train: rows, Test: nil}}, Candidates: Candidates(s.Of)})
	return datasets.Cost{Flops: cost.Flops, Bytes: cost.Bytes}
}

// Fit calibrates the model on data; the result is a [*FittedCalibrated].
func (s Calibrated) Fit(ctx context.Context, data datasets.Set) (Predictor, error) {
	fitted, err := s.fit(ctx, data)
	if err != nil {
		return nil, s.named(err)
	}
	return fitted, nil
}

func (s Calibrated) fit(ctx context.Context, data datasets.Set) (*FittedCalibrated, error) {
	if err := checkHeld(s, s.Of); err != nil {
		return nil, err
	}
	labels, err := labelsOf(ctx, data)
	if err != nil {
		return nil, err
	}
	data = namedClasses(data, labels.Classes)
	fitted, err := s.Of.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	var classes Classifier
	if !As(fitted, &classes) {
		return nil, errNoScores
	}
	found, _, err := s.division(len(labels.Classes)).heldOut(ctx, Batch{Data: data, Shape: data.Shape(), Candidates: Candidates(s.Of)}, allOf(data), false, []int{0})
	if err == nil {
		err = found[0].err
	}
	if err != nil {
		return nil, err
	}
	maps, err := learnClassMaps(s.Method, found[0], labels.Y, labels.Weights, len(labels.Classes))
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	return &FittedCalibrated{cols: data.Cols(), classes: labels.Classes, maps: maps, within: fitted}, nil
}

var errNoScores = errors.New("the model within has no scores of classes")

// labelsOf returns class and weight of every row, or what is wrong with them.
func labelsOf(ctx context.Context, data datasets.Set) (*design.Labels, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	for _, c := range data.Schema.Targets {
		if c.Kind != datasets.Categorical {
			return nil, fmt.Errorf("the target %s is a number, and probabilities are of classes", c.Name)
		}
	}
	own := datasets.Set{X: mat.NewDense(data.Rows(), 1, nil), Y: data.Y, Targets: data.Targets, Weights: data.Weights, Schema: datasets.Schema{Targets: data.Schema.Targets}}
	r, err := design.OfSet(own)
	if err != nil {
		return nil, err
	}
	l, err := r.ReadClasses(ctx, ClassWeight{}.factors)
	return l, data.Locate(err, 0)
}

// allOf is all rows to learn from.
func allOf(data datasets.Set) datasets.Fold {
	out := datasets.Fold{Train: make([]int, data.Rows())}
	for i := range out.Train {
		out.Train[i] = i
	}
	return out
}

// FitBatch shares, within each fold, what the models within share between candidates and folds.
func (s Calibrated) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	specs, err := specsOf[Calibrated](b, "calibrated")
	if err != nil {
		return nil, err
	}
	if b.OneOut {
		return nil, s.named(errNotOneOut)
	}
	if len(b.Data.Schema.Classes()) == 0 { // each fold has the classes that its rows have
		return nil, fitEach(ctx, b)
	}
	groups, folds := map[int][]int{}, []int(nil)
	for i, spec := range specs {
		if wrong := checkHeld(spec, spec.Of); wrong != nil {
			if err := b.refuse(i, spec.named(wrong)); err != nil {
				return nil, err
			}
			continue
		}
		if groups[spec.Folds] == nil {
			folds = append(folds, spec.Folds)
		}
		groups[spec.Folds] = append(groups[spec.Folds], i)
	}
	for _, k := range folds {
		group := b.only(groups[k])
		for f := range b.Folds {
			if !group.wantsFold(f) {
				continue
			}
			names, err := fitCalibrated(ctx, group.onFold(f), specs[groups[k][0]].Folds)
			if shared = append(shared, names...); err != nil {
				return shared, err
			}
		}
	}
	return shared, nil
}

// wantsFold reports whether any candidate is wanted on a fold.
func (b Batch) wantsFold(fold int) bool {
	for i := range b.Candidates {
		if b.Wants(i, fold) {
			return true
		}
	}
	return false
}

// fitCalibrated fits candidates with the same number of folds on the one fold of a batch.
func fitCalibrated(ctx context.Context, b Batch, folds int) (shared []string, err error) {
	fold := b.Folds[0]
	labels, err := labelsOf(ctx, b.Data)
	if err == nil { // and now those to learn from
		own := datasets.Set{X: mat.NewDense(b.Data.Rows(), 1, nil), Y: b.Data.Y, Weights: b.Data.Weights, Schema: datasets.Schema{Targets: namedClasses(b.Data, labels.Classes).Schema.Targets}}
		labels, err = labelsOf(ctx, own.Select(fold.Train))
	}
	if err != nil {
		for i := range b.Candidates {
			if failed := b.refuse(i, Calibrated{}.named(err)); failed != nil {
				return nil, failed
			}
		}
		return nil, nil
	}
	inner := b
	inner.Data = namedClasses(b.Data, labels.Classes)
	inner.Candidates = make([]Candidate, len(b.Candidates))
	each := make([]int, len(b.Candidates))
	for i, c := range b.Candidates {
		each[i] = i
		inner.Candidates[i] = c
		inner.Candidates[i].Estimator = c.Estimator.(Calibrated).Of
	}
	found, shared, err := (division{folds: folds, classes: len(labels.Classes)}).heldOut(ctx, inner, fold, true, each)
	if err != nil {
		return shared, err
	}
	for i, c := range b.Candidates {
		if !b.Wants(i, 0) {
			continue
		}
		if err := b.Yield(i, 0, c.Estimator.(Calibrated).outcome(ctx, b, i, found[i], labels)); err != nil {
			return shared, err
		}
	}
	return shared, ctx.Err()
}

// outcome is what the calibrated model says of the test rows of the one fold of a batch.
func (s Calibrated) outcome(ctx context.Context, b Batch, candidate int, found heldOut, labels *design.Labels) Outcome {
	if errors.Is(found.err, errAlone) {
		return b.Lone(ctx, candidate, 0)
	}
	out := found.last
	out.Seconds = found.seconds
	if out.Err = found.err; out.Err == nil {
		var maps classMaps
		if maps, out.Err = learnClassMaps(s.Method, found, labels.Y, labels.Weights, len(labels.Classes)); out.Err == nil {
			out.Prediction, out.Err = maps.apply(found.last.Scores)
		}
	}
	out.Err = s.named(out.Err)
	return out
}

// BatchCost is that of the folds within, on each fold. A batch on related maps is taken where scores come
// from folds.
func (s Calibrated) BatchCost(b Batch) (cost datasets.Cost, shared []string, err error) {
	if b.OneOut {
		return cost, nil, s.named(errNotOneOut)
	}
	groups, folds := map[int][]Candidate{}, []int(nil)
	for i, c := range b.Candidates {
		spec, ok := c.Estimator.(Calibrated)
		if !ok {
			return cost, nil, fmt.Errorf("estimator: calibrated: candidate %d is a %T", i, c.Estimator)
		}
		if err := checkHeld(spec, spec.Of); err != nil {
			return cost, nil, s.named(err)
		}
		if c.Estimator = spec.Of; groups[spec.Folds] == nil {
			folds = append(folds, spec.Folds)
		}
		groups[spec.Folds] = append(groups[spec.Folds], c)
	}
	for _, k := range folds {
		part := b
		part.Candidates = groups[k]
		one, names, err := (division{folds: k, classes: 2}).cost(part)
		if err != nil {
			return cost, nil, s.named(err)
		}
		cost.Flops, cost.Bytes = cost.Flops+one.Flops, max(cost.Bytes, one.Bytes)
		shared = append(shared, names...)
	}
	return cost, shared, nil
}

// FittedCalibrated is what [Calibrated] is fitted to: a classifier and the map from its scores to
// probabilities.
type FittedCalibrated struct {
	cols    int
	classes []string
	maps    classMaps
	within  Predictor
}

var (
	_ Classifier     = (*FittedCalibrated)(nil)
	_ Probabilistic  = (*FittedCalibrated)(nil)
	_ WholePredictor = (*FittedCalibrated)(nil)
	_ Wrapper        = (*FittedCalibrated)(nil)
	_ model.Stateful = (*FittedCalibrated)(nil)
)

// Classes returns the names of the classes.
func (f *FittedCalibrated) Classes() []string { return f.classes }

// InputWidth returns the number of columns that go in.
func (f *FittedCalibrated) InputWidth() int { return f.cols }

// Unwrap returns the classifier within.
func (f *FittedCalibrated) Unwrap() (within Predictor, sameRows bool) { return f.within, true }

// PredictAll returns class, scores and probabilities of each row of X.
func (f *FittedCalibrated) PredictAll(ctx context.Context, X mat.Matrix) (Prediction, error) {
	var c Classifier
	if !As(f.within, &c) {
		return Prediction{}, Calibrated{}.named(errNoScores)
	}
	scores, err := c.Decision(ctx, X)
	if err != nil {
		return Prediction{}, Calibrated{}.named(err)
	}
	out, err := f.maps.apply(scores)
	return out, Calibrated{}.named(err)
}

// Predict returns the code of the most probable class of each row of X.
func (f *FittedCalibrated) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.PredictAll(ctx, X)
	return all.Values, err
}

// Decision returns the log odds of the second of two classes, or the probabilities of more.
func (f *FittedCalibrated) Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	all, err := f.PredictAll(ctx, X)
	return all.Scores, err
}

// Probabilities returns rows × classes.
func (f *FittedCalibrated) Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	all, err := f.PredictAll(ctx, X)
	return all.Probabilities, err
}

// State keeps the map and the model.
func (f *FittedCalibrated) State(s *model.State) {
	s.Int("columns", &f.cols)
	s.Strings("classes", &f.classes)
	f.maps.state(s, len(f.classes))
	KeepPredictor(s.Child("of"), &f.within)
	s.Require(f.cols > 0, "there are no columns")
	s.Require(f.within != nil, "there is no model")
	requireWidth(s, f.within, f.cols)
	if s.Reading() && s.Err() == nil {
		var c Classifier
		s.Require(As(f.within, &c) && len(c.Classes()) == len(f.classes), "the model within is of other classes")
	}
}
