package estimatortest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
)

// continuer returns the spec as an incremental estimator, or skips the test if it is not one.
func (s *suite) continuer(t testing.TB, from estimator.Predictor) estimator.IncrementalEstimator {
	t.Helper()
	c, ok := s.spec.(estimator.IncrementalEstimator)
	if !ok {
		t.Skip("no incremental learning")
	}
	if _, err := c.PartialFit(context.Background(), from, s.more().Source()); errors.Is(err, estimator.ErrNoPartialFit) {
		t.Skip("no incremental learning: ", err)
	}
	return c
}

// more returns new rows of the same kind.
func (s *suite) more() datasets.Set { return s.sample(5, 60) }

// continues checks that incremental learning returns a new model, because fitted models are
// immutable, and that a model file contains all state needed to continue.
func (s *suite) continues(t testing.TB) {
	p, ctx := s.fit(t, s.data), context.Background()
	c := s.continuer(t, p)
	before := predictions(t, p, s.probe)
	on := func(from estimator.Predictor, data datasets.Source) []float64 {
		next, err := c.PartialFit(ctx, from, data)
		if err != nil {
			t.Fatalf("Continue: %v", err)
		}
		return predictions(t, next, s.probe)
	}
	data := s.more()
	after := on(p, data.Source())
	agree(t, "the model before", predictions(t, p, s.probe), before, 0)
	agree(t, "repeated", on(p, data.Source()), after, 0)
	agree(t, "the same blocks cut otherwise", on(p, stream{data}), after, s.Tolerance)
	if fmt.Sprint(after) == fmt.Sprint(before) {
		t.Error("the new rows have changed nothing")
	}
	q := zero(p)
	if err := model.Restore(clone(t, record(t, p)), q.(model.Stateful)); err != nil {
		t.Fatal(err)
	}
	agree(t, "from a file", on(q, data.Source()), after, 0)
	s.refusesToContinue(t, c, p)
}

// refusesToContinue checks that continuing with rows that do not match the model is an error.
func (s *suite) refusesToContinue(t testing.TB, c estimator.IncrementalEstimator, p estimator.Predictor) {
	t.Helper()
	missing, wide, other := cloneSet(s.more()), cloneSet(s.more()), cloneSet(s.more())
	missing.X.(*mat.Dense).Set(7, 1, math.NaN())
	x := mat.NewDense(60, 6, nil)
	x.Slice(0, 60, 0, 5).(*mat.Dense).Copy(wide.X)
	wide.X, wide.Schema.Columns = x, nil
	try := func(what string, data datasets.Set, words ...string) {
		_, err := c.PartialFit(context.Background(), p, data.Source())
		mentions(t, what, err, words...)
	}
	try("a missing value", missing, "row 7", "width", "missing")
	try("more columns", wide, "5", "6")
	if s.Classes > 0 {
		levels := []string{"stranger"}
		other.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
			Categories: append(levels, s.data.Schema.Classes()[1:]...)}}
		try("other classes", other)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.PartialFit(ended, p, s.more().Source()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// continuesDamaged checks that no content of a file makes incremental learning panic.
func (s *suite) continuesDamaged(t testing.TB) {
	skipIfShort(t)
	p := s.fit(t, s.data)
	c, whole := s.continuer(t, p), record(t, p)
	try := func(what string, harm func(a *archive.Archive)) {
		a, q := clone(t, whole), zero(p)
		if harm(a); model.Restore(a, q.(model.Stateful)) != nil {
			return
		}
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%s was accepted, then PartialFit panicked: %v", what, r)
			}
		}()
		_, _ = c.PartialFit(context.Background(), q, s.more().Source())
	}
	for name := range whole.Scalars {
		for _, v := range []any{true, "other", -1.0, 1e300, []string{}, []string{"one"}} {
			try(fmt.Sprintf("%s = %v", name, v), func(a *archive.Archive) { a.Scalars[name] = v })
		}
	}
	for name, array := range whole.Arrays {
		try(name+" empty", func(a *archive.Archive) { a.Arrays[name] = archive.Array{Shape: make([]int, len(array.Shape))} })
		try(name+" flat", func(a *archive.Archive) { a.Arrays[name] = archive.Array{Shape: []int{1}, Floats: []float64{1}} })
		for _, v := range []float64{math.NaN(), math.Inf(1), -1e300, 1e300} {
			try(fmt.Sprintf("%s of %v", name, v), func(a *archive.Archive) {
				for i := range a.Arrays[name].Floats {
					a.Arrays[name].Floats[i] = v
				}
			})
		}
	}
}
