package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
)

var errNoScores = errors.New("the model within has no scores of classes")

// calibratedScores is the map from the scores of the classes to probabilities.
type calibratedScores struct {
	calibration.Map
	classes int
}

// learn fits the map from scores to probabilities to out-of-fold scores.
func (s Calibrated) learn(_ context.Context, found outOfFold, labels *design.Labels) (scoreMap, error) {
	if found.Values == nil {
		return nil, errNoTestRows
	}
	if found.Scores == nil {
		return nil, errNoScores
	}
	classes := len(labels.Classes)
	n, width := found.Scores.Dims()
	if width != calibration.Outputs(classes) {
		return nil, fmt.Errorf("%d scores of %d classes", width, classes)
	}
	weights, class, absent := make([]float64, n), make([]int, n), slices.Repeat([]bool{true}, classes)
	rows := 0
	for i := range n {
		class[i] = int(labels.Y[i])
		if labels.Weights[i] > 0 {
			absent[class[i]] = false
		}
		if found.present[i] {
			weights[i] = labels.Weights[i]
		}
		if weights[i] > 0 {
			rows++
		}
	}
	if rows == 0 {
		return nil, errors.New("no row has a score of a model that has not seen it")
	}
	return calibratedScores{calibration.Learn(s.Method, design.DenseData(found.Scores), class, weights, absent), classes},
		nil
}

// read returns classes, scores and probabilities.
func (m calibratedScores) read(pred estimator.Prediction) (estimator.Prediction, error) {
	scores, classes := pred.Scores, m.classes
	if scores == nil {
		return estimator.Prediction{}, errNoScores
	}
	if scores.IsEmpty() {
		return estimator.Prediction{Values: []float64{}, Scores: &mat.Dense{}, Probabilities: &mat.Dense{}}, nil
	}
	n, width := scores.Dims()
	if width != calibration.Outputs(classes) {
		return estimator.Prediction{}, fmt.Errorf("%d scores of %d classes", width, classes)
	}
	out := estimator.Prediction{Values: make([]float64, n), Scores: mat.DenseCopyOf(scores),
		Probabilities: mat.NewDense(n, classes, nil)}
	for i := range n {
		m.Calibrate(out.Probabilities.RawRowView(i), out.Scores.RawRowView(i))
		out.Values[i] = stacking.ClassOf(out.Scores.RawRowView(i))
	}
	return out, nil
}
