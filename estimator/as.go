package estimator

import (
	"context"
	"reflect"

	"github.com/bochner-ml/bochner/datasets"
)

// As finds the first value of the type that target points to in the chain of p, the model that p
// wraps, and so on. It sets target and returns true, as errors.As does for errors:
//
//	var linear interface{ Coef() *mat.Dense }
//	if estimator.As(model, &linear) {
//		fmt.Println(linear.Coef())
//	}
//
// The type is concrete, or an interface whose methods take no rows, such as [Reporter]. A method of
// an inner model takes rows as that model does: in a pipeline, these are the output of its steps.
// [Predict] and [OutputsOf] return the outputs of p itself. As panics if target is not a pointer.
func As(p Predictor, target any) bool {
	to := reflect.ValueOf(target)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		panic("estimator: As: target must be a non-nil pointer")
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
		p, _ = w.Unwrap()
	}
	return false
}

// Refit fits a spec, of which fitted is a fit to some of the rows, to data: a model that was evaluated on held-out rows
// to all rows. Unlike a new fit, it keeps what held-out rows decided: thresholds, calibrations, the residuals of
// conformal intervals, weights of ensembles. A pipeline also keeps representations that its steps learned from the
// targets. The result is an estimate for rows that neither fit has seen; scores are those of fitted.
func Refit(ctx context.Context, spec Estimator, fitted Predictor, data datasets.Set) (Predictor, error) {
	if f, ok := fitted.(Refitter); ok {
		return f.Refit(ctx, spec, data)
	}
	return spec.Fit(ctx, data)
}

// FittedTags returns the tags of a fitted model, those of its inner model if it declares none.
func FittedTags(p Predictor) (out datasets.Tags) {
	var t datasets.Tagger
	if As(p, &t) {
		out = t.Tags()
	}
	return out
}
