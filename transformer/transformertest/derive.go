package transformertest

import (
	"context"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// derivedIsFitted checks that finishing a shared first stage, which a search fits once for
// candidates with equal first stages, equals a separate fit.
func derivedIsFitted(s *suite) {
	d, ok := s.spec.(transformer.TwoStageFitter)
	if !ok {
		s.Skip("not a TwoStageFitter")
	}
	learner := d.FirstStage()
	if reflect.TypeOf(learner) != reflect.TypeOf(s.spec) {
		s.Fatalf("the first stage of a %T must have the same type, got %T", s.spec, learner)
	}
	if again := learner.(transformer.TwoStageFitter).FirstStage(); !reflect.DeepEqual(again, learner) {
		s.Error("FirstStage of the first stage differs from it, so searches cannot share the fit")
	}
	if _, err := d.FinishFit(nil); err == nil {
		s.Error("FinishFit accepts nil")
	}
	if _, err := d.FinishFit(unknownTransformer{}); err == nil {
		s.Error("FinishFit accepts the fit of another step")
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
			s.Error("Fit rejects sparse rows, but FinishFit accepts a first stage fitted to them")
		}
	}
}

// derives checks that FinishFit after the first stage equals Fit.
func (s *suite) derives(d transformer.TwoStageFitter, learner transformer.Fitter, data datasets.Set) {
	s.Helper()
	learned, err := learner.Fit(context.Background(), data)
	if err != nil {
		s.Fatalf("Fit of the first stage: %v", err)
	}
	before, kept := s.transform(learned, s.Data.X), stateOf(learned)
	derived, err := d.FinishFit(learned)
	if err != nil {
		s.Fatalf("FinishFit: %v", err)
	}
	fitted := s.fit(data)
	s.equal(s.transform(derived, s.Data.X), s.transform(fitted, s.Data.X), 0,
		"FinishFit returns the same map as Fit, bit for bit")
	if !reflect.DeepEqual(stateOf(derived), stateOf(fitted)) {
		s.Error("the state after FinishFit differs from the state after Fit")
	}
	s.equal(s.transform(learned, s.Data.X), before, 0, "FinishFit does not modify the first stage")
	if !reflect.DeepEqual(stateOf(learned), kept) {
		s.Error("FinishFit changes the state of the first stage")
	}
}

// stateOf returns the serialized state of a fitted step, nil if it has none.
func stateOf(f transformer.Transformer) *archive.Archive {
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

// unknownTransformer is a transformer of an unknown type.
type unknownTransformer struct{}

func (unknownTransformer) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	return X, nil
}
