package transformertest

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/transformer"
)

// learner returns the spec as a pass fitter, or skips the test.
func (s *suite) learner() passtest.Learner[transformer.Transformer] {
	s.Helper()
	spec, ok := s.spec.(transformer.PassFitter)
	if !ok {
		s.Skip("not a PassFitter")
	}
	if _, err := spec.Start(context.Background(), s.Data.Schema, s.Data.Cols()); errors.Is(err, datasets.ErrNoPasses) {
		s.Skip(err)
	}
	other := transformer.PassFitter(transformer.MinMax{Low: 0.25, High: 0.5})
	if s.Data.Schema.Column(0).Kind == datasets.Categorical {
		other = transformer.OneHot{MinCount: 123_456}
	}
	if s.hasText() {
		other = transformer.TFIDF{Analyzer: "char", MinN: 1, MaxN: 1, MinCount: 1, Hashing: 7}
	}
	return passtest.Learner[transformer.Transformer]{Start: spec.Start, Finish: spec.Finish, Other: other.Start,
		Says: func(f transformer.Transformer) ([]float64, error) {
			Z, err := f.Transform(context.Background(), s.Data.X)
			if err != nil {
				return nil, err
			}
			return mat.DenseCopyOf(Z).RawMatrix().Data, nil
		}}
}

// partsAreTheWhole checks that the result does not depend on how the rows are divided among shards,
// nor on saving and restoring a pass in between.
func partsAreTheWhole(s *suite) {
	l := s.learner()
	whole := mat.DenseCopyOf(s.transform(s.fit(s.Data), s.Data.X)).RawMatrix().Data
	data := s.with(s.rows())
	if err := l.Parts(data, whole, s.Tolerance); err != nil {
		s.Errorf("%v", err)
	}
	if s.DenseOnly || s.hasText() {
		return
	}
	sparse := s.with(s.sparseData())
	if s.Uncentered {
		whole = mat.DenseCopyOf(s.transform(s.fit(sparse), s.Data.X)).RawMatrix().Data
	}
	if err := l.Parts(sparse, whole, s.Tolerance); err != nil {
		s.Errorf("sparse rows: %v", err)
	}
}

// mergesItsOwn checks that passes of different specs or schemas cannot be merged.
func mergesItsOwn(s *suite) {
	wider, err := s.Data.WithText("one more", make([]string, s.Data.Rows()))
	if err != nil {
		s.Fatal(err)
	}
	if !s.hasText() {
		wider = s.widerNumbers()
	}
	if err := s.learner().Strangers(s.Data, wider); err != nil {
		s.Errorf("%v", err)
	}
	if err := s.learner().Short(s.Data); err != nil {
		s.Errorf("%v", err)
	}
}

// widerNumbers returns the data with one more column.
func (s *suite) widerNumbers() datasets.Set {
	wider := s.Data
	n, d := s.Data.X.Dims()
	X := mat.NewDense(n, d+1, nil)
	X.Slice(0, n, 0, d).(*mat.Dense).Copy(s.Data.X)
	wider.X = X
	wider.Schema.Columns = append(s.Data.Schema.Columns[:len(s.Data.Schema.Columns):len(s.Data.Schema.Columns)],
		s.Data.Schema.Column(0))
	wider.Schema.Columns[d].Name = "one more"
	return wider
}

// passesStop checks that a canceled pass returns the error of its context.
func passesStop(s *suite) {
	if err := s.learner().Stops(s.Data); err != nil {
		s.Errorf("%v", err)
	}
}

// passesSurviveDamage checks that restoring a damaged pass returns an error and does not panic:
// files are untrusted input.
func passesSurviveDamage(s *suite) {
	s.skipIfShort()
	if err := s.learner().Damage(s.Data); err != nil {
		s.Errorf("%v", err)
	}
}
