package joint

import (
	"context"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/estimator/internal/lasso"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
)

// foldSums are the sums of products of the test rows of each fold. Those of training rows are the sums of the others.
type foldSums map[bool][]*leastsquares.Moments // by whether they are centered

// maxSumColumns is the number of columns up to which folds share sums.
const maxSumColumns = 4096

// sharesSums reports whether paths of a number of candidates share sums: every candidate takes at least one pass over
// the training rows of each fold without them. It depends on no outcome and not on what is included.
func sharesSums(j batch.Job, candidates int) bool {
	cols := j.Shape.Cols
	if j.Shape.NonZeros > 0 || j.HasMaps() || len(j.Folds) < 2 || cols > maxSumColumns ||
		candidates*len(j.Folds)*lasso.DenseProducts < cols {
		return false
	}
	tested := make([]bool, j.Shape.Rows)
	for _, fold := range j.Folds {
		for _, i := range fold.Test {
			if i >= len(tested) || tested[i] {
				return false
			}
			tested[i] = true
		}
		if !complementary(len(tested), fold) {
			return false
		}
	}
	return !slices.Contains(tested, false)
}

// PathSumsBytes returns the memory of the sums that paths of all candidates of a job share, 0 if they share none.
func PathSumsBytes(j batch.Job) int64 {
	if !sharesSums(j, len(j.Candidates)) {
		return 0
	}
	matrices := 2*len(j.Folds) + min(runtime.GOMAXPROCS(0), len(j.Folds))
	return design.Float64Bytes(float64(matrices) * float64(j.Shape.Cols) * float64(j.Shape.Cols))
}

// sumAll sums the products of the test rows of all folds. It returns nil if folds share none, or if there are none of
// these rows: the paths then return the error.
func (s *descentBatch) sumAll(ctx context.Context) foldSums {
	var with []PenalizedLoss
	for _, c := range s.candidates {
		if c.SumsPath != nil && c.Invalid == nil && !c.Independent {
			with = append(with, c)
		}
	}
	job := s.Job
	job.Shape = s.Data.Shape()
	if _, dense := s.Data.X.(*mat.Dense); !dense || len(with) == 0 || !sharesSums(job, len(with)) {
		return nil
	}
	r, err := design.FromSet(s.Data)
	if err != nil {
		return nil
	}
	l, err := with[0].Labels(ctx, r)
	if err != nil {
		return nil
	}
	out := foldSums{}
	for _, fold := range s.Folds {
		x, size := design.Select(s.Data, fold.Test).X, len(fold.Test)
		y, weights := make([]float64, size), make([]float64, size)
		for k, i := range fold.Test {
			y[k], weights[k] = l.Y[i], l.Weights[i]
		}
		for _, centered := range []bool{false, true} {
			if !slices.ContainsFunc(with, func(c PenalizedLoss) bool { return c.Intercept == centered }) {
				continue
			}
			part := leastsquares.NewMoments(r.Cols, 1, centered)
			if len(out[centered]) > 0 {
				part = out[centered][0].EmptyLike()
			}
			if part.Add(ctx, x, y, weights) != nil {
				return nil
			}
			out[centered] = append(out[centered], part)
		}
	}
	return out
}

// train returns the problem of the training rows of a fold, nil if all of their weights are 0.
func (s foldSums) train(fold, rows int, centered bool) *lasso.Problem {
	var m leastsquares.Moments
	parts := s[centered]
	m.SetSum(parts[0], slices.Concat(parts[:fold], parts[fold+1:]))
	if !(m.Weight > 0) {
		return nil
	}
	return lasso.FromMoments(&m, rows)
}

// followSums solves the candidates of a path by the sums of its fold, and scores the test rows in one product. It
// reports whether there are such sums.
func (d *descentFold) followSums(ctx context.Context, path []int) bool {
	if d.sums == nil || len(path) == 0 {
		return false
	}
	first, fold := d.candidates[path[0]], d.Folds[d.number]
	if first.SumsPath == nil || first.Invalid != nil || first.Independent {
		return false
	}
	start := time.Now()
	if d.train == nil {
		d.train = map[bool]*lasso.Problem{}
	}
	m, known := d.train[first.Intercept]
	if !known {
		m = d.sums.train(d.number, len(fold.Train), first.Intercept)
		d.train[first.Intercept] = m
	}
	if m == nil {
		return false
	}
	next, cols := first.SumsPath(m), d.Data.Shape().Cols
	seconds := time.Since(start).Seconds() / float64(len(path))
	var models []fittedModel
	for k, i := range path {
		if d.stopped() || ctx.Err() != nil {
			return true
		}
		began := time.Now()
		solved, err := next(ctx, d.candidates[i].C)
		one := fittedModel{candidate: i, width: cols, report: solved.Report, err: err}
		if d.Includes(i, d.number) && err == nil {
			one.weights, one.offset = solved.Weights, solved.Intercept
		}
		one.seconds = seconds + time.Since(began).Seconds()
		models = append(models, one)
		d.warmStarted.CompareAndSwap(false, k > 0)
	}
	began, test := time.Now(), design.Select(d.Data, fold.Test).X
	for _, b := range scoreBlocks(models, len(fold.Test)) {
		b.score(test, 0)
		b.spread()
	}
	seconds = time.Since(began).Seconds() / float64(len(path))
	for _, m := range models {
		d.fail(d.yield(m.candidate, d.number, Result{Scores: m.scores, Report: m.report, Seconds: m.seconds + seconds,
			Err: m.err}))
	}
	return true
}
