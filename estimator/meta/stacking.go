package meta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// stacked are weights of members, and the factors by which the scores of each are brought to one size, nil
// where they are of one size already.
type stacked struct{ weights, sizes []float64 }

// outputs is what members of an ensemble are combined by, of one prediction.
func outputs(p estimator.Prediction, probable bool) (list []float64, width int) {
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

// stack finds the weights of least squared error on out-of-fold predictions of the rows of data.
func stack(ctx context.Context, predictions []estimator.Prediction, data datasets.Set, classes int, sumToOne bool) (stacked, error) {
	s := &stacking{m: len(predictions), probable: classes > 0}
	for _, p := range predictions {
		s.probable = s.probable && p.Probabilities != nil
	}
	if err := s.truth(data, classes); err != nil {
		return stacked{}, err
	}
	if err := s.sum(ctx, predictions, data); err != nil {
		return stacked{}, err
	}
	if classes == 0 || s.probable {
		return stacked{weights: s.solve(sumToOne || s.probable)}, nil
	}
	sizes := make([]float64, s.m)
	for k := range sizes {
		if s.G[k*s.m+k] > 0 {
			sizes[k] = max(s.c[k]/s.G[k*s.m+k], 0)
		}
	}
	for j := range s.m {
		s.c[j] *= sizes[j]
		for k := range s.m {
			s.G[j*s.m+k] *= sizes[j] * sizes[k]
		}
	}
	return stacked{weights: s.solve(sumToOne), sizes: sizes}, nil
}

// stacking is sums of products of what m members say, and of what is true.
type stacking struct {
	m, width int
	probable bool
	y        []float64 // rows × width: targets, codes ±1, or 1 for the class of the row and 0 for others
	scale    []float64 // weight of the squared error of each output
	G, c     []float64 // Σ w·aa', Σ w·ab
	b        float64   // Σ w·b²
}

// truth writes what the members should say.
func (s *stacking) truth(data datasets.Set, classes int) error {
	if classes == 0 {
		y, count, err := design.BlockTargets(0, data)
		s.y, s.width = y, count
		return err
	}
	names := data.Schema.Classes()
	if len(names) != classes {
		return fmt.Errorf("members of %d classes, the rows have %d", classes, len(names))
	}
	l, err := design.BlockLabels(0, data, names)
	if err != nil {
		return err
	}
	if s.width = l.Outputs(); !s.probable {
		s.y = l.Signs(make([]float64, len(l.Y)*s.width), 0)
		return nil
	}
	s.width = classes
	s.y = make([]float64, len(l.Y)*classes)
	for i, class := range l.Y {
		s.y[i*classes+int(class)] = 1
	}
	return nil
}

// sum adds up the rows that all members say something of.
func (s *stacking) sum(ctx context.Context, predictions []estimator.Prediction, data datasets.Set) error {
	n := len(s.y) / s.width
	lists := make([][]float64, s.m)
	for k, p := range predictions {
		list, width := outputs(p, s.probable)
		if len(p.Values) != n {
			return fmt.Errorf("member %d says something of %d rows, there are %d", k+1, len(p.Values), n)
		}
		if width != s.width || len(list) != n*width {
			return fmt.Errorf("member %d says %d numbers of each row, wanted %d", k+1, width, s.width)
		}
		lists[k] = list
	}
	weights := make([]float64, n)
	rows := 0
	for i := range weights {
		if weights[i] = 1; data.Weights != nil {
			weights[i] = data.Weights[i]
		}
		for _, p := range predictions {
			if math.IsNaN(p.Values[i]) {
				weights[i] = 0
			}
		}
		if weights[i] > 0 {
			rows++
		}
	}
	if rows == 0 {
		return errors.New("there is no row that every member says something of without having seen it")
	}
	s.scales(weights)
	s.G, s.c = make([]float64, s.m*s.m), make([]float64, s.m)
	a := make([]float64, s.m)
	for i, w := range weights {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for o := 0; o < s.width && w > 0; o++ {
			for k := range a {
				a[k] = lists[k][i*s.width+o]
			}
			s.add(w*s.scale[o], a, s.y[i*s.width+o])
		}
	}
	if total := s.b + sumOf(s.G) + sumOf(s.c); total-total != 0 {
		return errors.New("a member predicts numbers that are too large, or none")
	}
	return nil
}

// scales gives several targets errors of one size.
func (s *stacking) scales(weights []float64) {
	s.scale = slices.Repeat([]float64{1}, s.width)
	if s.width == 1 {
		return
	}
	for o := range s.scale {
		total, mean, square := 0.0, 0.0, 0.0
		for i, w := range weights {
			if w > 0 {
				v := s.y[i*s.width+o]
				total += w
				d := v - mean
				mean += w / total * d
				square += w * d * (v - mean)
			}
		}
		if variance := square / total; variance > 0 {
			s.scale[o] = 1 / variance
		}
	}
}

func (s *stacking) add(w float64, a []float64, b float64) {
	for j, v := range a {
		s.c[j] += w * v * b
		for k := range j + 1 {
			s.G[j*s.m+k] += w * v * a[k]
			s.G[k*s.m+j] = s.G[j*s.m+k]
		}
	}
	s.b += w * b * b
}

// solve returns the weights.
func (s *stacking) solve(sumToOne bool) []float64 {
	if !sumToOne {
		if w := solve.NonNegative(s.G, s.c); sumOf(w) > 0 {
			return w
		}
		sumToOne = true // a prediction of nothing but 0 is none
	}
	Q := make([]float64, s.m*s.m)
	for j := range s.m {
		for k := range s.m {
			Q[j*s.m+k] = s.G[j*s.m+k] - s.c[j] - s.c[k] + s.b
		}
	}
	return solve.OnSimplex(Q, s.m)
}

func sumOf(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

// combined is the weighted sum of what members say.
func combined(all []estimator.Prediction, weights, sizes []float64, classes int) (estimator.Prediction, error) {
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
			return estimator.Prediction{}, errors.New("members say different numbers of things")
		}
		for i, v := range list {
			sum[i] += w * v
		}
		total += weights[k]
	}
	switch {
	case width == 0 || len(sum) == 0:
		return nothing(all, classes, probable), nil
	case classes == 0:
		return regression(sum, width, all), nil
	case probable:
		return fromProbabilities(sum, classes, total), nil
	}
	return fromScores(sum, width), nil
}

// nothing is the prediction for no rows.
func nothing(all []estimator.Prediction, classes int, probable bool) estimator.Prediction {
	out := estimator.Prediction{Values: []float64{}}
	if classes > 0 {
		out.Scores = &mat.Dense{}
	}
	if probable {
		out.Probabilities = &mat.Dense{}
	}
	if slices.ContainsFunc(all, func(p estimator.Prediction) bool { return p.Targets != nil }) {
		out.Targets = &mat.Dense{}
	}
	return out
}

func regression(sum []float64, width int, all []estimator.Prediction) estimator.Prediction {
	if !slices.ContainsFunc(all, func(p estimator.Prediction) bool { return p.Targets != nil }) {
		return estimator.Prediction{Values: sum}
	}
	out := estimator.Prediction{Targets: mat.NewDense(len(sum)/width, width, sum)}
	out.Values = mat.Col(nil, 0, out.Targets)
	return out
}

func fromScores(sum []float64, width int) estimator.Prediction {
	out := estimator.Prediction{Scores: mat.NewDense(len(sum)/width, width, sum), Values: make([]float64, len(sum)/width)}
	for i := range out.Values {
		out.Values[i] = classOf(out.Scores.RawRowView(i))
	}
	return out
}

// classOf returns the class of a row of scores.
func classOf(scores []float64) float64 {
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
func fromProbabilities(sum []float64, classes int, total float64) estimator.Prediction {
	n := len(sum) / classes
	out := estimator.Prediction{Values: make([]float64, n), Probabilities: mat.NewDense(n, classes, sum)}
	for i := range n {
		p := out.Probabilities.RawRowView(i)
		all := sumOf(p)
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
		out.Values[i] = classOf(out.Scores.RawRowView(i))
	}
	return out
}
