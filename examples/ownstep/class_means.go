package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// ClassMeans predicts the class whose mean is nearest. On random features z it is a classifier by
// kernel density: z(x)'mean_c is about the mean of k(x, x_i) over the training rows of class c.
//
// The score of class c is z'm_c − ½‖m_c‖², where m_c is the class's mean, moved by the share Shrink
// towards the mean of all rows. Cost: one pass over the rows; k·d numbers are kept.
type ClassMeans struct {
	Shrink float64 // from 0, not at all, to just below 1
}

// NewClassMeans returns the spec that does not shrink.
func NewClassMeans() ClassMeans { return ClassMeans{} }

// Params declares shrink.
func (s *ClassMeans) Params(l *param.List) {
	l.Float(&s.Shrink, "shrink", "share by which means are moved to that of all rows", param.Range{High: 1, HighOpen: true})
}

// Fit adds up the rows of each class; it returns a [*FittedClassMeans].
func (s ClassMeans) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := errors.Join(param.Check(s), data.Check()); err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	if err := data.CheckFinite(); err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	classes, err := classesOf(data)
	if err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	means, err := s.means(ctx, data, len(classes))
	if err != nil {
		return nil, err
	}
	return newFittedClassMeans(means, classes), nil
}

// means returns the shrunken mean of each class, one to a row.
func (s ClassMeans) means(ctx context.Context, data datasets.Set, classes int) (*mat.Dense, error) {
	means, weight := mat.NewDense(classes, data.Cols(), nil), make([]float64, classes)
	all, total := make([]float64, data.Cols()), 0.0
	for i := range data.Rows() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := 1.0
		if data.Weights != nil {
			w = data.Weights[i]
		}
		class := int(data.Y[i])
		sum := means.RawRowView(class)
		for j, x := range mat.Row(nil, i, data.X) {
			sum[j] += w * x
			all[j] += w * x
		}
		weight[class] += w
		total += w
	}
	for class, w := range weight {
		row := means.RawRowView(class)
		for j := range row {
			overall := all[j] / total
			if w > 0 {
				row[j] = (1-s.Shrink)*row[j]/w + s.Shrink*overall
			} else {
				row[j] = overall // no row of this class: nothing is known of it
			}
		}
	}
	return means, nil
}

// classesOf returns the names of the classes, "0", "1", … where the schema has none.
func classesOf(data datasets.Set) ([]string, error) {
	if len(data.Y) == 0 {
		return nil, errors.New("the data have no classes in Y")
	}
	classes := slices.Clone(data.Schema.Classes())
	if classes == nil {
		for i, y := range data.Y {
			if y != math.Trunc(y) || y < 0 || y > 1e6 {
				return nil, fmt.Errorf("row %d: target %v, wanted a class code 0, 1, …", i, y)
			}
			for float64(len(classes)) <= y {
				classes = append(classes, strconv.Itoa(len(classes)))
			}
		}
	}
	if slices.Min(data.Y) == slices.Max(data.Y) {
		return nil, fmt.Errorf("one class only, %q; there is nothing to tell apart", classes[int(data.Y[0])])
	}
	return classes, nil
}

// FittedClassMeans is what [ClassMeans] is fitted to: an [estimator.Classifier].
type FittedClassMeans struct {
	classes []string
	means   *mat.Dense // classes × d
	half    []float64  // ½‖m_c‖²
}

func newFittedClassMeans(means *mat.Dense, classes []string) *FittedClassMeans {
	f := &FittedClassMeans{classes: classes, means: means}
	for class := range classes {
		m := mat.NewVecDense(means.RawMatrix().Cols, means.RawRowView(class))
		f.half = append(f.half, mat.Dot(m, m)/2)
	}
	return f
}

// Classes returns the names of the classes in the order of their codes.
func (f *FittedClassMeans) Classes() []string { return slices.Clone(f.classes) }

// Decision returns the scores, rows × classes; one column, positive for the second class, where
// there are two.
func (f *FittedClassMeans) Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	scores, err := f.scores(ctx, X)
	if err != nil || len(f.classes) != 2 {
		return scores, err
	}
	n, _ := scores.Dims()
	out := mat.NewDense(n, 1, nil)
	for i := range n {
		out.Set(i, 0, scores.At(i, 1)-scores.At(i, 0))
	}
	return out, nil
}

// Predict returns the code of the class with the largest score for each row.
func (f *FittedClassMeans) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	scores, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	n, _ := scores.Dims()
	out := make([]float64, n)
	for i := range out {
		row := scores.RawRowView(i)
		out[i] = float64(slices.Index(row, slices.Max(row)))
	}
	return out, nil
}

func (f *FittedClassMeans) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	if X == nil {
		return nil, fmt.Errorf("class_means: no rows: %w", datasets.ErrEmpty)
	}
	n, d := X.Dims()
	switch _, want := f.means.Dims(); {
	case n == 0:
		return nil, fmt.Errorf("class_means: no rows: %w", datasets.ErrEmpty)
	case d != want:
		return nil, fmt.Errorf("class_means: %d columns at fit, %d now", want, d)
	}
	if err := (datasets.Set{X: X}).CheckFinite(); err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	scores := mat.NewDense(n, len(f.classes), nil)
	scores.Mul(X, f.means.T())
	for i := range n {
		row := scores.RawRowView(i)
		for class, half := range f.half {
			row[class] -= half
		}
	}
	return scores, ctx.Err()
}

// State is what a model file keeps.
func (f *FittedClassMeans) State(s *model.State) {
	s.Strings("classes", &f.classes)
	s.Matrix("means", &f.means)
	if !s.Reading() || s.Err() != nil {
		return
	}
	s.Require(f.means != nil && len(f.classes) >= 2, "there are no means")
	if s.Err() != nil {
		return
	}
	rows, _ := f.means.Dims()
	s.Require(rows == len(f.classes), "means and classes differ in number")
	s.Require((datasets.Set{X: f.means}).CheckFinite() == nil, "a mean is not finite")
	if s.Err() == nil {
		*f = *newFittedClassMeans(f.means, f.classes)
	}
}
