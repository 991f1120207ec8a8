package transformertest

import (
	"context"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// derivedIsFitted: a search runs the first stage once for candidates with equal first stages, and
// uses the finished fits.
func derivedIsFitted(s *suite) {
	d, ok := s.spec.(transformer.TwoStageFitter)
	if !ok {
		s.Skip("not a Deriver")
	}
	learner := d.FirstStage()
	if reflect.TypeOf(learner) != reflect.TypeOf(s.spec) {
		s.Fatalf("the first stage of a %T must have the same type, got %T", s.spec, learner)
	}
	if again := learner.(transformer.TwoStageFitter).FirstStage(); !reflect.DeepEqual(again, learner) {
		s.Error("the learner's learner is another: no search would find that they learn the same")
	}
	if _, err := d.FinishFit(nil); err == nil {
		s.Error("Derive takes nil for what was learned")
	}
	if _, err := d.FinishFit(strange{}); err == nil {
		s.Error("Derive takes what another step was fitted to")
	}
	inputs := []mat.Matrix{s.Data.X}
	if !s.DenseOnly {
		inputs = append(inputs, s.sparseData())
	}
	for _, X := range inputs {
		s.derives(d, learner, s.with(X))
	}
	if learned, err := learner.Fit(context.Background(), s.with(s.sparseData())); s.DenseOnly && err == nil {
		if _, err := d.FinishFit(learned); err == nil {
			s.Error("Fit refuses sparse rows, Derive takes what was learned from them")
		}
	}
}

// derives checks that FinishFit after the first stage equals Fit.
func (s *suite) derives(d transformer.TwoStageFitter, learner transformer.Fitter, data datasets.Set) {
	s.Helper()
	learned, err := learner.Fit(context.Background(), data)
	if err != nil {
		s.Fatalf("Fit of the learner: %v", err)
	}
	before, kept := s.transform(learned, s.Data.X), stateOf(learned)
	derived, err := d.FinishFit(learned)
	if err != nil {
		s.Fatalf("Derive: %v", err)
	}
	fitted := s.fit(data)
	s.equal(s.transform(derived, s.Data.X), s.transform(fitted, s.Data.X), 0,
		"Derive makes the map that Fit makes, to the bit")
	if !reflect.DeepEqual(stateOf(derived), stateOf(fitted)) {
		s.Error("what is derived is kept in a file in another way than what is fitted")
	}
	s.equal(s.transform(learned, s.Data.X), before, 0, "Derive leaves what was learned as it is")
	if !reflect.DeepEqual(stateOf(learned), kept) {
		s.Error("Derive changes what a file keeps of what was learned")
	}
}

// stateOf returns the serialized state of a fitted step, nil if it has none.
func stateOf(f transformer.Transformer) *model.Archive {
	state, ok := f.(model.Stateful)
	if !ok {
		return nil
	}
	a, err := model.Record(state)
	if err != nil {
		return nil
	}
	return copyArchive(a)
}

// strange is a transformer of an unknown type.
type strange struct{}

func (strange) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	return X, nil
}
