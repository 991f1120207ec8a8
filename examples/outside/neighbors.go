package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Neighbors is k-nearest-neighbor regression: the weighted mean target of the training rows that are at most as
// far away as the nearest rows of total weight K. A search computes the distances once, for all K and all folds.
type Neighbors struct{ K int }

// Params declares k.
func (s *Neighbors) Params(l *param.List) { l.Int(&s.K, "k", "number of neighbors", param.AtLeast(1)) }

// Fit stores the rows; it returns a [*FittedNeighbors].
func (s Neighbors) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	err := errors.Join(param.Check(s), data.Check(), data.CheckFinite(), ctx.Err())
	if err == nil && (len(data.Schema.Classes()) > 0 || data.Y == nil) {
		err = errors.New("no targets that are numbers, one for each row")
	}
	if err != nil {
		return nil, fmt.Errorf("neighbors: %w", err)
	}
	weights := append(slices.Clone(data.Weights), slices.Repeat([]float64{1}, data.Rows()-len(data.Weights))...)
	return &FittedNeighbors{s.K, mat.DenseCopyOf(data.X), slices.Clone(data.Y), weights}, nil
}

// PlanBatch returns the bytes of the distances.
func (s Neighbors) PlanBatch(j batch.Job) (int64, error) {
	return 8 * int64(j.Shape.Rows) * int64(j.Shape.Cols+len(j.Folds)*(1+len(j.Candidates))), nil
}

// FitBatch sorts the rows by their distance to each test row once, for all candidates and folds.
func (s Neighbors) FitBatch(ctx context.Context, j batch.Job) ([]string, error) {
	specs, _ := batch.Specs[Neighbors](j) // all have the type of s
	fitted, err := Neighbors{1}.Fit(ctx, j.Data)
	if err != nil { // each fit reports its own error
		return nil, estimator.FitSeparately(ctx, j)
	}
	all, weights := fitted.(*FittedNeighbors), make([][]float64, len(j.Folds))
	var tested []int
	for f, fold := range j.Folds {
		weights[f] = make([]float64, len(all.targets))
		for _, i := range fold.Train {
			weights[f][i] += all.weights[i]
		}
		if j.IncludesFold(f) {
			tested = append(tested, fold.Test...)
		}
	}
	slices.Sort(tested)
	tested = slices.Compact(tested)
	values, err := all.means(ctx, j.Data.Select(tested).X, weights, specs)
	for f, fold := range j.Folds {
		for c, spec := range specs {
			out := batch.Outcome{Err: param.Check(spec)}
			for _, i := range fold.Test {
				if at, ok := slices.BinarySearch(tested, i); ok && err == nil {
					out.Values = append(out.Values, values[f][c][at])
				}
			}
			if err == nil && j.Includes(c, f) {
				err = j.Yield(c, f, out)
			}
		}
	}
	return []string{"distances"}, err
}

// FittedNeighbors is a fitted [Neighbors]: the training rows.
type FittedNeighbors struct {
	k                int
	rows             *mat.Dense
	targets, weights []float64
}

var distances atomic.Int64 // number of computed distances

// means returns the mean target of the neighbors of each row of X, for each list of weights and each spec.
func (f *FittedNeighbors) means(ctx context.Context, X mat.Matrix, weights [][]float64,
	specs []Neighbors) (out [][][]float64, err error) {
	n, d := X.Dims()
	if n > 0 {
		err = datasets.CheckInput(ctx, X, f.rows.RawMatrix().Cols)
	}
	for range weights {
		out = append(out, make([][]float64, len(specs)))
	}
	far, order, x := make([]float64, len(f.targets)), make([]int, len(f.targets)), make([]float64, d)
	for i := 0; i < n && err == nil; i, err = i+1, ctx.Err() {
		mat.Row(x, i, X)
		for r := range order {
			order[r], far[r] = r, 0
			for c, v := range f.rows.RawRowView(r) {
				far[r] += (v - x[c]) * (v - x[c])
			}
		}
		distances.Add(int64(len(far)))
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far[a], far[b]) })
		for w := range weights {
			for c, spec := range specs {
				out[w][c] = append(out[w][c], f.mean(order, far, weights[w], float64(spec.K)))
			}
		}
	}
	return out, errors.Join(err, ctx.Err())
}

// mean returns the mean target of the first rows of total weight k, and of those that are as near.
func (f *FittedNeighbors) mean(order []int, far, weights []float64, k float64) float64 {
	sum, total, last := 0.0, 0.0, 0.0
	for _, r := range order {
		if total >= k && far[r] > last {
			break
		}
		if w := weights[r]; w > 0 {
			sum, total, last = sum+w*f.targets[r], total+w, far[r]
		}
	}
	return sum / total
}

// Predict returns the mean target of the neighbors of each row of X.
func (f *FittedNeighbors) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.means(ctx, X, [][]float64{f.weights}, []Neighbors{{f.k}})
	if err != nil {
		return nil, err
	}
	return append([]float64{}, out[0][0]...), nil
}

// ExportModel selects rows by |r|² − 2x'r instead of the distance, and counts them.
func (f *FittedNeighbors) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	if slices.Min(f.weights) != 1 || slices.Max(f.weights) != 1 {
		return graph.Prediction{}, errors.New("neighbors: cannot export weighted rows; fit without weights")
	}
	n, d := f.rows.Dims()
	targets, norms, twice := mat.NewDense(n, 2, nil), make([]float64, n), mat.NewDense(d, n, nil)
	for i, y := range f.targets {
		targets.SetRow(i, []float64{y, 1})
		norms[i] = mat.Dot(f.rows.RowView(i), f.rows.RowView(i))
	}
	twice.Scale(-2, f.rows.T())
	far := g.Affine(rows, g.Matrix(twice), g.Row(norms))
	sums := g.MatMul(g.LessEqual(far, g.KthSmallest(far, min(f.k, n))), g.Matrix(targets))
	return g.Regression(g.Div(g.Columns(sums, []int{0}), g.Columns(sums, []int{1}))), nil
}

// State serializes the rows.
func (f *FittedNeighbors) State(s *model.State) {
	s.Int("k", &f.k)
	s.Matrix("rows", &f.rows)
	s.Floats("targets", &f.targets)
	s.Floats("weights", &f.weights)
	s.Require(f.k > 0 && f.rows != nil && len(f.targets) > 0 && len(f.weights) == len(f.targets) &&
		f.rows.RawMatrix().Rows == len(f.targets), "rows, targets and weights must be equal in number")
}
