package stacking

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
)

// outputs returns the outputs by which an ensemble combines its members, as rows of the given
// width.
func outputs(p model.Prediction, probable bool) (list []float64, width int) {
	switch {
	case probable:
		return design.DenseData(p.Probabilities), p.Probabilities.RawMatrix().Cols
	case p.Scores != nil:
		return design.DenseData(p.Scores), p.Scores.RawMatrix().Cols
	case p.Targets != nil:
		return design.DenseData(p.Targets), p.Targets.RawMatrix().Cols
	}
	return p.Values, 1
}

// Combine returns the weighted sum of the predictions of the members; sizes, unless nil, are the scales of their
// scores.
// A member of weight 0 needs no prediction.
func Combine(all []model.Prediction, weights, sizes []float64, classes int) (model.Prediction, error) {
	probable := classes > 0 && sizes == nil
	for k, p := range all {
		probable = probable && (p.Probabilities != nil || weights[k] == 0)
	}
	var sum []float64
	width, total := 0, 0.0
	for k, p := range all {
		w := weights[k]
		if w == 0 {
			continue
		}
		list, columns := outputs(p, probable)
		if sizes != nil {
			w *= sizes[k]
		}
		if sum == nil {
			sum, width = make([]float64, len(list)), columns
		}
		if len(list) != len(sum) || columns != width {
			return model.Prediction{}, errors.New("members have different numbers of outputs")
		}
		for i, v := range list {
			sum[i] += w * v
		}
		total += weights[k]
	}
	switch {
	case width == 0 || len(sum) == 0:
		return emptyPrediction(all, classes, probable), nil
	case classes == 0:
		return regression(sum, width, all), nil
	case probable:
		return fromProbabilities(sum, classes, total), nil
	}
	return fromScores(sum, width), nil
}

// emptyPrediction returns the prediction for no rows.
func emptyPrediction(all []model.Prediction, classes int, probable bool) model.Prediction {
	out := model.Prediction{Values: []float64{}}
	if classes > 0 {
		out.Scores = &mat.Dense{}
	}
	if probable {
		out.Probabilities = &mat.Dense{}
	}
	if slices.ContainsFunc(all, func(p model.Prediction) bool { return p.Targets != nil }) {
		out.Targets = &mat.Dense{}
	}
	return out
}

func regression(sum []float64, width int, all []model.Prediction) model.Prediction {
	if !slices.ContainsFunc(all, func(p model.Prediction) bool { return p.Targets != nil }) {
		return model.Prediction{Values: sum}
	}
	out := model.Prediction{Targets: mat.NewDense(len(sum)/width, width, sum)}
	out.Values = mat.Col(nil, 0, out.Targets)
	return out
}

func fromScores(sum []float64, width int) model.Prediction {
	out := model.Prediction{Scores: mat.NewDense(len(sum)/width, width, sum), Values: make([]float64, len(sum)/width)}
	for i := range out.Values {
		out.Values[i] = ClassOf(out.Scores.RawRowView(i))
	}
	return out
}

// ClassOf returns the class of a row of scores.
func ClassOf(scores []float64) float64 {
	if len(scores) > 1 {
		return float64(slices.Index(scores, slices.Max(scores)))
	}
	if scores[0] > 0 {
		return 1
	}
	return 0
}

// fromProbabilities divides sums of probabilities by the sum of the weights. The score of two classes is the log
// odds of the second, that of more are the probabilities.
func fromProbabilities(sum []float64, classes int, total float64) model.Prediction {
	n := len(sum) / classes
	out := model.Prediction{Values: make([]float64, n), Probabilities: mat.NewDense(n, classes, sum)}
	for i := range n {
		p := out.Probabilities.RawRowView(i)
		all := 0.0
		for _, v := range p {
			all += v
		}
		if !(all > 0) {
			all = total
		}
		for c := range p {
			p[c] /= all
		}
	}
	if classes > 2 {
		out.Scores = mat.DenseCopyOf(out.Probabilities)
	} else {
		const tiny = 1e-300
		out.Scores = mat.NewDense(n, 1, nil)
		for i := range n {
			p := out.Probabilities.RawRowView(i)
			out.Scores.Set(i, 0, math.Log(max(p[1], tiny))-math.Log(max(p[0], tiny)))
		}
	}
	for i := range n {
		out.Values[i] = ClassOf(out.Scores.RawRowView(i))
	}
	return out
}
