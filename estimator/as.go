package estimator

import (
	"context"
	"reflect"

	"gonum.org/v1/gonum/mat"
)

// As finds what target points to, an interface or a type, in p or in the model that p wraps, and sets it,
// as errors.As does of errors:
//
//	var c estimator.Classifier
//	if estimator.As(model, &c) {
//		fmt.Println(c.Classes())
//	}
//
// It returns the outermost that there is. Where a wrapper between changes the rows, as the steps of a
// pipeline do, what it returns takes rows as p takes them: a [Classifier], [Probabilistic],
// [MultiPredictor], [StdPredictor], [IntervalPredictor], [SetPredictor], [MultiStdPredictor] or
// [AnomalyScorer] is made of what p predicts, and another interface is not found, for what is behind takes other
// rows: [AsWithin] finds it.
// A type, such as *[FittedLinear], is found wherever it is and takes the rows that it was fitted to. As panics
// where target is no pointer.
func As(p Predictor, target any) bool { return find(p, target, false) }

// AsWithin is [As] for an interface whose methods take no rows, such as [Reporter]: it is found in p and in every
// model that p wraps, also behind the steps of a pipeline.
func AsWithin(p Predictor, target any) bool { return find(p, target, true) }

func find(p Predictor, target any, anyRows bool) bool {
	to := reflect.ValueOf(target)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		panic("estimator: As: the target is no pointer to an interface or a type")
	}
	for p != nil {
		if v := reflect.ValueOf(p); v.Type().AssignableTo(to.Elem().Type()) {
			to.Elem().Set(v)
			return true
		}
		w, ok := p.(Wrapper)
		if !ok {
			return false
		}
		within, sameRows := w.Unwrap()
		if !sameRows && !anyRows {
			if lent, known := lend(w, within, target); known {
				return lent
			}
			if to.Elem().Kind() == reflect.Interface { // its methods may take rows
				return false
			}
		}
		p = within
	}
	return false
}

// lend sets a target of this package's interfaces to what w, which changes the rows, says as the model
// within would. It returns whether there is any, and whether the target is one that is lent.
func lend(w Wrapper, within Predictor, target any) (lent, known bool) {
	whole, ok := w.(WholePredictor)
	all := lender{w, whole}
	switch t := target.(type) {
	case *Classifier:
		var c Classifier
		if ok = ok && As(within, &c); ok {
			*t = lentClassifier{all, c}
		}
	case *Probabilistic:
		var q Probabilistic
		if ok = ok && As(within, &q); ok {
			*t = lentProbabilities{all}
		}
	case *MultiPredictor:
		var m MultiPredictor
		if ok = ok && As(within, &m); ok {
			*t = lentTargets{all}
		}
	case *StdPredictor:
		var s StdPredictor
		if ok = ok && As(within, &s); ok {
			*t = lentStd{all}
		}
	case *IntervalPredictor:
		var i IntervalPredictor
		around, can := w.(Rewrapper)
		if ok = ok && can && As(within, &i); ok {
			*t = lentIntervals{all, around, within, i}
		}
	case *SetPredictor:
		var s SetPredictor
		around, can := w.(Rewrapper)
		if ok = ok && can && As(within, &s); ok {
			*t = lentSets{all, around, within, s}
		}
	case *AnomalyScorer:
		var a AnomalyScorer
		if ok = ok && As(within, &a); ok {
			*t = lentAnomaly{all}
		}
	case *MultiStdPredictor:
		var s MultiStdPredictor
		if ok = ok && As(within, &s); ok {
			*t = lentTargetsStd{all}
		}
	default:
		return false, false
	}
	return ok, true
}

// lender predicts as a wrapper does.
type lender struct {
	Predictor
	whole WholePredictor
}

type lentClassifier struct {
	lender
	within Classifier
}

func (l lentClassifier) Classes() []string { return l.within.Classes() }

func (l lentClassifier) Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Scores, err
}

type lentProbabilities struct{ lender }

func (l lentProbabilities) Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Probabilities, err
}

type lentTargets struct{ lender }

func (l lentTargets) PredictTargets(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Targets, err
}

type lentStd struct{ lender }

func (l lentStd) PredictStd(ctx context.Context, X mat.Matrix) (mean, std []float64, err error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Values, all.Std, err
}

// lentIntervals puts the wrapper around the model at one level.
type lentIntervals struct {
	lender
	around    Rewrapper
	within    Predictor
	intervals IntervalPredictor
}

func (l lentIntervals) PredictInterval(ctx context.Context, X mat.Matrix, level float64) (lower, upper []float64, err error) {
	all, err := Predict(ctx, l.around.Rewrap(atLevel{Predictor: l.within, intervals: l.intervals, level: level}), X)
	return all.Lower, all.Upper, err
}

type lentSets struct {
	lender
	around Rewrapper
	within Predictor
	sets   SetPredictor
}

func (l lentSets) PredictSet(ctx context.Context, X mat.Matrix, level float64) (*mat.Dense, error) {
	all, err := Predict(ctx, l.around.Rewrap(atLevel{Predictor: l.within, sets: l.sets, level: level}), X)
	return all.Sets, err
}

// atLevel is a model with the intervals or sets of one level.
type atLevel struct {
	Predictor
	intervals IntervalPredictor
	sets      SetPredictor
	level     float64
}

func (a atLevel) PredictAll(ctx context.Context, X mat.Matrix) (out Prediction, err error) {
	out.Values, err = a.Predict(ctx, X)
	if err == nil && a.intervals != nil {
		out.Lower, out.Upper, err = a.intervals.PredictInterval(ctx, X, a.level)
	}
	if err == nil && a.sets != nil {
		out.Sets, err = a.sets.PredictSet(ctx, X, a.level)
	}
	return out, err
}

type lentAnomaly struct{ lender }

func (l lentAnomaly) AnomalyScores(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Anomaly, err
}

type lentTargetsStd struct{ lender }

func (l lentTargetsStd) PredictTargetsStd(ctx context.Context, X mat.Matrix) (mean, std *mat.Dense, err error) {
	all, err := l.whole.PredictAll(ctx, X)
	return all.Targets, all.StdTargets, err
}
