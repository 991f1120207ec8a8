package main

import (
	"context"
	"fmt"
	"image/color"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

const (
	boundaryGamma = 2.0
	boundaryAlpha = 0.1
	gridSize      = 90 // points of an axis where scores are computed
)

// boundaries draws the decision boundary of a ridge classifier on random Fourier features with
// increasing D, and that of the exact kernel, on two moons.
func boundaries(ctx context.Context, name string) error {
	moons, err := synthetic.Moons(200, 0.25, 3)
	if err != nil {
		return err
	}
	x, y := axisValues(moons.X, 0), axisValues(moons.X, 1)
	grid := mat.NewDense(gridSize*gridSize, 2, nil)
	for i := range gridSize {
		for j := range gridSize {
			grid.SetRow(i*gridSize+j, []float64{x[j], y[i]})
		}
	}
	exact := estimator.NewKernelRidgeClassifier()
	exact.Gamma, exact.Alpha = kernel.FixedGamma(boundaryGamma), boundaryAlpha
	models := []struct {
		title string
		spec  estimator.Estimator
	}{{"exact kernel", exact}}
	for _, features := range []int{500, 50, 10} {
		rff := transformer.NewRFF()
		rff.Gamma, rff.Features, rff.Seed = kernel.FixedGamma(boundaryGamma), features, 1
		ridge := estimator.NewRidgeClassifier()
		ridge.Alpha = boundaryAlpha
		models = append(models, struct {
			title string
			spec  estimator.Estimator
		}{fmt.Sprintf("D = %d random features", features), pipeline.Steps(rff).Then(ridge)})
	}
	row := make([]*plot.Plot, len(models))
	for i, m := range models {
		fitted, err := m.spec.Fit(ctx, moons)
		if err != nil {
			return err
		}
		out, err := estimator.Predict(ctx, fitted, grid, estimator.Request{Outputs: estimator.Scores})
		if err != nil {
			return err
		}
		if row[len(row)-1-i], err = boundary(m.title, moons, scoreGrid{x, y, out.Scores}); err != nil {
			return err
		}
	}
	return save(name, 9.2*vg.Inch, 2.4*vg.Inch, [][]*plot.Plot{row})
}

// boundary plots the points of both classes and the curve where the score is 0.
func boundary(title string, moons datasets.Set, scores scoreGrid) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.HideAxes()
	for class, c := range []color.Color{blue, orange} {
		var points plotter.XYs
		for i, code := range moons.Y {
			if int(code) == class {
				points = append(points, plotter.XY{X: moons.X.At(i, 0), Y: moons.X.At(i, 1)})
			}
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		dots.Color, dots.Shape, dots.Radius = c, draw.CircleGlyph{}, vg.Points(1.8)
		p.Add(dots)
	}
	line := plotter.NewContour(scores, []float64{0}, nil)
	line.LineStyles = []draw.LineStyle{{Color: color.Black, Width: vg.Points(1.5)}}
	p.Add(line)
	return p, nil
}

// axisValues returns gridSize values that cover column j with a margin.
func axisValues(X mat.Matrix, j int) []float64 {
	column := mat.Col(nil, j, X)
	lo, hi := column[0], column[0]
	for _, v := range column {
		lo, hi = min(lo, v), max(hi, v)
	}
	margin := 0.1 * (hi - lo)
	out := make([]float64, gridSize)
	for i := range out {
		out[i] = lo - margin + float64(i)/float64(gridSize-1)*(hi-lo+2*margin)
	}
	return out
}

// scoreGrid is a plotter.GridXYZ of decision scores.
type scoreGrid struct {
	x, y   []float64
	scores mat.Matrix
}

func (g scoreGrid) Dims() (columns, rows int) { return len(g.x), len(g.y) }
func (g scoreGrid) X(column int) float64      { return g.x[column] }
func (g scoreGrid) Y(row int) float64         { return g.y[row] }
func (g scoreGrid) Z(column, row int) float64 { return g.scores.At(row*len(g.x)+column, 0) }
