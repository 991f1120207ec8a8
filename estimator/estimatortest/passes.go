package estimatortest

import (
	"context"
	"errors"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/matrices"
)

// learner returns the spec as a pass estimator, or skips the test. A spec whose Start returns an
// error, for example because its solver needs all rows, is exempt.
func (s *suite) learner(t testing.TB) passtest.Learner[estimator.Predictor] {
	t.Helper()
	spec, ok := s.spec.(estimator.PassEstimator)
	if !ok {
		t.Skip("not a PassEstimator")
	}
	if _, err := spec.Start(context.Background(), s.data.Schema, s.data.Cols()); errors.Is(err, datasets.ErrNoPasses) {
		t.Skip(err)
	}
	return s.learns(spec)
}

func (s *suite) learns(spec estimator.PassEstimator) passtest.Learner[estimator.Predictor] {
	other := estimator.PassEstimator(estimator.Ridge{Alpha: 123_456, Solver: "cholesky", Tol: 1, MaxIter: 1})
	if s.Classes > 0 {
		other = estimator.RidgeClassifier{Alpha: 123_456, Solver: "cholesky", Tol: 1, MaxIter: 1}
	}
	return passtest.Learner[estimator.Predictor]{Start: spec.Start, Finish: spec.Finish, Other: other.Start,
		Says: func(p estimator.Predictor) ([]float64, error) {
			all, err := estimator.Predict(context.Background(), p, s.probe, estimator.Request{})
			return numbersOf(all), err
		}}
}

// parts checks that the result does not depend on how the rows are divided among shards, nor on
// saving and restoring a pass in between.
func (s *suite) parts(t testing.TB) {
	l := s.learner(t)
	whole := predictions(t, s.fit(t, s.weighted()), s.probe)
	if err := l.Parts(s.weighted(), whole, s.Tolerance); err != nil {
		t.Error(err)
	}
	thin := s.weighted()
	thin.X = matrices.CSRFromDense(thin.X)
	if err := l.Parts(thin, whole, s.Tolerance); err != nil {
		t.Errorf("sparse rows: %v", err)
	}
}

// strangers checks that passes of different specs or schemas cannot be merged.
func (s *suite) strangers(t testing.TB) {
	l, wider := s.learner(t), s.data
	n, d := s.data.X.Dims()
	X := mat.NewDense(n, d+1, nil)
	X.Slice(0, n, 0, d).(*mat.Dense).Copy(s.data.X)
	wider.X = X
	wider.Schema.Columns = append(append([]datasets.Column(nil), s.data.Schema.Columns...),
		datasets.Column{Name: "one more"})
	if err := l.Strangers(s.data, wider); err != nil {
		t.Error(err)
	}
	if err := l.Short(s.data); err != nil {
		t.Error(err)
	}
}

// passesStop checks that a canceled pass returns the error of its context.
func (s *suite) passesStop(t testing.TB) {
	if err := s.learner(t).Stops(s.data); err != nil {
		t.Error(err)
	}
}

// passesSurvive checks that restoring a damaged pass returns an error and does not panic: files are
// untrusted input.
func (s *suite) passesSurvive(t testing.TB) {
	skipIfShort(t)
	if err := s.learner(t).Damage(s.data); err != nil {
		t.Error(err)
	}
}
