package estimator

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// given is a model with a fixed prediction.
type given struct {
	has Outputs
	Prediction
}

func (g given) Predict(context.Context, mat.Matrix) ([]float64, error) { return g.Values, nil }

func (g given) Outputs() Outputs { return g.has }

func (g given) PredictFull(context.Context, mat.Matrix, Request) (Prediction, error) {
	return g.Prediction, nil
}

// Outputs of a model must have a row for each row, and a column for each class or label.
func TestPredictChecksOutputs(t *testing.T) {
	dense := func(rows, cols int) *mat.Dense { return mat.NewDense(rows, cols, nil) }
	X, values := dense(3, 2), []float64{0, 1, 0}
	two, three := Outputs{Classes: []string{"a", "b"}}, Outputs{Classes: []string{"a", "b", "c"}}
	labels := Outputs{Classes: []string{"0", "1"}, Labels: []string{"a", "b", "c"}}
	for name, c := range map[string]struct {
		outputs Outputs
		made    Prediction
		want    string // "" for none
	}{
		"values":                  {Outputs{}, Prediction{Values: values}, ""},
		"fewer values":            {Outputs{}, Prediction{Values: values[:2]}, "Values must have a value for each of 3 rows"},
		"more deviations":         {Outputs{}, Prediction{Values: values, Std: make([]float64, 4)}, "Std must have"},
		"targets":                 {Outputs{}, Prediction{Values: values, Targets: dense(3, 7)}, ""},
		"fewer rows of targets":   {Outputs{}, Prediction{Values: values, Targets: dense(2, 7)}, "Targets must have a row"},
		"scores of two":           {two, Prediction{Values: values, Scores: dense(3, 1)}, ""},
		"two scores of two":       {two, Prediction{Values: values, Scores: dense(3, 2)}, "must have 1 columns, got 2"},
		"probabilities":           {three, Prediction{Values: values, Probabilities: dense(3, 3)}, ""},
		"fewer probabilities":     {three, Prediction{Values: values, Probabilities: dense(3, 2)}, "must have 3 columns"},
		"scores of labels":        {labels, Prediction{Values: values, Scores: dense(3, 3)}, ""},
		"fewer scores of labels":  {labels, Prediction{Values: values, Scores: dense(3, 1)}, "must have 3 columns, got 1"},
		"fewer rows of class set": {three, Prediction{Values: values, Sets: dense(1, 3)}, "Sets must have a row"},
	} {
		_, err := Predict(t.Context(), given{c.outputs, c.made}, X, Request{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}
