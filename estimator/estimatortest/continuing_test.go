package estimatortest

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// swayed is a classifier that violates an invariant of incremental learning.
type swayed struct {
	estimator.SGDClassifier
	breaks string
}

func (s swayed) PartialFit(ctx context.Context, previous estimator.Predictor,
	data datasets.Source) (estimator.Predictor, error) {
	switch s.breaks {
	case "it learns nothing":
		return previous, ctx.Err()
	case "it forgets":
		return s.FitSource(ctx, data)
	case "it cannot be stopped":
		ctx = context.WithoutCancel(ctx)
	case "it changes the model before":
		next, err := s.SGDClassifier.PartialFit(ctx, previous, data)
		if err == nil {
			reflect.ValueOf(previous).Elem().Set(reflect.ValueOf(next).Elem())
		}
		return next, err
	case "it panics":
		if p := previous.(interface{ Coef() *mat.Dense }); p.Coef().At(0, 0) > 1e299 {
			panic("damaged file")
		}
	}
	return s.SGDClassifier.PartialFit(ctx, previous, data)
}

func TestIncrementalChecksDetectViolations(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the invariants of damaged files take long")
	}
	spec := estimator.NewSGDClassifier()
	o := Options{Classes: 2, Minibatches: true}
	of := func(name string) invariant {
		return invariants[slices.IndexFunc(invariants, func(l invariant) bool { return l.name == name })]
	}
	on, damaged := of("incremental learning returns a new model"),
		of("incremental learning from a damaged model does not panic")
	for _, l := range []invariant{on, damaged} {
		if n := holds(l, spec, o); n.failed || n.skipped {
			t.Errorf("%s: a model that satisfies the invariant fails or is skipped", l.name)
		}
		if n := holds(l, estimator.NewRidgeClassifier(), o); !n.skipped {
			t.Errorf("%s: not skipped for a model without PartialFit", l.name)
		}
	}
	for breaks, l := range map[string]invariant{"it learns nothing": on, "it forgets": on, "it cannot be stopped": on,
		"it changes the model before": on, "it panics": damaged} {
		if n := holds(l, swayed{spec, breaks}, o); !n.failed {
			t.Errorf("%s: passes", breaks)
		}
	}
}
