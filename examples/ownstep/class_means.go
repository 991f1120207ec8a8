package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// ClassMeans predicts the class with the nearest mean m_c: the score of class c is −½‖x − m_c‖². On
// random features it is a kernel density classifier, because z(x)'m_c approximates the mean of k(x,
// x_i) over the training rows x_i of class c.
//
// Shapes: n×d inputs, k classes, k×d numbers stored. Cost: one pass over the rows.
type ClassMeans struct {
	Shrink float64 // fraction by which every mean is moved towards that of all rows, below 1
}

// NewClassMeans returns the spec that does not shrink.
func NewClassMeans() ClassMeans { return ClassMeans{} }

// Params declares shrink.
func (s *ClassMeans) Params(l *param.List) {
	l.Float(&s.Shrink, "shrink", "share by which means are moved to that of all rows",
		param.Range{High: 1, HighOpen: true})
}

// Fit adds up the rows of each class; it returns a [*FittedClassMeans].
func (s ClassMeans) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	f, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	return f, nil
}

func (s ClassMeans) fit(ctx context.Context, data datasets.Set) (*FittedClassMeans, error) {
	if err := errors.Join(param.Check(s), data.Check()); err != nil {
		return nil, err
	}
	if err := data.CheckFinite(); err != nil {
		return nil, err
	}
	classes, err := classesOf(data)
	if err != nil {
		return nil, err
	}
	f := &FittedClassMeans{classes: classes, means: mat.NewDense(len(classes), data.Cols(), nil),
		weight: make([]float64, len(classes))}
	all := make([]float64, data.Cols())
	for i := range data.Rows() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, class := 1.0, int(data.Y[i])
		if data.Weights != nil {
			w = data.Weights[i]
		}
		x := mat.Row(nil, i, data.X)
		floats.AddScaled(f.means.RawRowView(class), w, x)
		floats.AddScaled(all, w, x)
		f.weight[class] += w
	}
	if class := slices.Index(f.weight, floats.Sum(f.weight)); class >= 0 {
		return nil, fmt.Errorf("at least two classes are required, got only %q", classes[class])
	}
	floats.Scale(s.Shrink/floats.Sum(f.weight), all)
	for class, w := range f.weight {
		if w > 0 {
			mean := f.means.RawRowView(class)
			floats.Scale((1-s.Shrink)/w, mean)
			floats.Add(mean, all)
		}
	}
	return f, nil
}

// classesOf returns the names of the classes, "0", "1", … where the schema has none.
func classesOf(data datasets.Set) ([]string, error) {
	if len(data.Y) == 0 {
		return nil, errors.New("the data have no targets")
	}
	if classes := data.Schema.Classes(); classes != nil {
		return slices.Clone(classes), nil
	}
	var classes []string
	for i, y := range data.Y {
		if y != math.Trunc(y) || y < 0 || y > 1e6 {
			return nil, fmt.Errorf("row %d: target must be a class code 0, 1, …, got %v", i, y)
		}
		for float64(len(classes)) <= y {
			classes = append(classes, strconv.Itoa(len(classes)))
		}
	}
	return classes, nil
}

// FittedClassMeans is a fitted [ClassMeans]: a classifier.
type FittedClassMeans struct {
	classes []string
	means   *mat.Dense // classes × d
	weight  []float64  // of each class; 0 for one that no row has
}

// Outputs returns values and scores.
func (f *FittedClassMeans) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputScores, Classes: slices.Clone(f.classes)}
}

// Predict returns the code of the class with the largest score for each row.
func (f *FittedClassMeans) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

// PredictFull returns the class and the scores of each row: rows × classes, or one column, positive for the second
// class, if there are two.
func (f *FittedClassMeans) PredictFull(ctx context.Context, X mat.Matrix,
	_ estimator.Request) (out estimator.Prediction, err error) {
	if out.Scores, err = f.scores(ctx, X); err != nil {
		return out, err
	}
	n, _ := out.Scores.Dims()
	out.Values = make([]float64, n)
	for i := range out.Values {
		out.Values[i] = float64(floats.MaxIdx(out.Scores.RawRowView(i)))
	}
	if n > 0 && len(f.classes) == 2 {
		difference := mat.NewDense(n, 1, nil)
		difference.Sub(out.Scores.Slice(0, n, 1, 2), out.Scores.Slice(0, n, 0, 1))
		out.Scores = difference
	}
	return out, nil
}

func (f *FittedClassMeans) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, _ := X.Dims()
	if n == 0 {
		return &mat.Dense{}, nil
	}
	if err := datasets.CheckInput(ctx, X, f.means.RawMatrix().Cols); err != nil {
		return nil, fmt.Errorf("class_means: %w", err)
	}
	out := mat.NewDense(n, len(f.classes), nil)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x := mat.Row(nil, i, X)
		for class, w := range f.weight {
			score := -math.MaxFloat64 // never, of a class that no row has
			if w > 0 {
				distance := floats.Distance(x, f.means.RawRowView(class), 2)
				score = -distance * distance / 2
			}
			out.Set(i, class, score)
		}
	}
	return out, nil
}

// ExportModel adds the class of the largest score x'm_c − ½‖m_c‖² − ½‖x‖², and the scores, to g.
func (f *FittedClassMeans) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	half := make([]float64, len(f.weight))
	for class, w := range f.weight {
		mean := f.means.RawRowView(class)
		if half[class] = -floats.Dot(mean, mean) / 2; w == 0 {
			half[class] = -math.MaxFloat64
		}
	}
	scores := g.Affine(rows, g.Matrix(f.means.T()), g.Row(half))
	if len(f.classes) == 2 { // ‖x‖² is in both
		return g.ClassFromScores(g.Sub(g.Columns(scores, []int{1}), g.Columns(scores, []int{0}))), nil
	}
	return g.ClassFromScores(g.Sub(scores, g.Mul(g.RowSum(g.Square(rows)), g.Scalar(0.5)))), nil
}

// State serializes the fitted parameters. Require validates a possibly damaged file, so that
// Predict cannot fail.
func (f *FittedClassMeans) State(s *model.State) {
	s.Strings("classes", &f.classes)
	s.Matrix("means", &f.means)
	s.Floats("weight", &f.weight)
	s.Require(f.means != nil && len(f.classes) > 1, "there are no means")
	if s.Err() != nil {
		return
	}
	rows, _ := f.means.Dims()
	s.Require(rows == len(f.classes) && rows == len(f.weight), "means and classes differ in number")
	s.Require((datasets.Set{X: f.means}).CheckFinite() == nil, "a mean is not finite")
}
