package meta

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
)

var errNoScores = errors.New("the model within has no scores of classes")

// learnMap learns the map to probabilities from out-of-fold scores.
func (s Calibrated) learnMap(found outOfFold, labels *design.Labels) (m calibration.Map, err error) {
	if found.Scores == nil {
		return m, errNoScores
	}
	classes := len(labels.Classes)
	n, width := found.Scores.Dims()
	if width != calibration.Outputs(classes) {
		return m, fmt.Errorf("%d scores of %d classes", width, classes)
	}
	weights, class, absent := make([]float64, n), make([]int, n), slices.Repeat([]bool{true}, classes)
	rows := 0
	for i := range n {
		class[i] = int(labels.Y[i])
		if labels.Weights[i] > 0 {
			absent[class[i]] = false
		}
		if found.seen[i] {
			weights[i] = labels.Weights[i]
		}
		if weights[i] > 0 {
			rows++
		}
	}
	if rows == 0 {
		return m, errors.New("no row has a score of a model that has not seen it")
	}
	return calibration.Learn(s.Method, design.DenseData(found.Scores), class, weights, absent), nil
}

// calibrate returns classes, scores and probabilities.
func calibrate(m calibration.Map, scores *mat.Dense, classes int) (estimator.Prediction, error) {
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
	out := estimator.Prediction{Values: make([]float64, n), Scores: mat.DenseCopyOf(scores), Probabilities: mat.NewDense(n, classes, nil)}
	for i := range n {
		m.Calibrate(out.Probabilities.RawRowView(i), out.Scores.RawRowView(i))
		out.Values[i] = classOf(out.Scores.RawRowView(i))
	}
	return out, nil
}
