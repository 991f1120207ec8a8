package auto

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
)

// scored is a candidate that was tried.
type scored struct {
	point
	round   int
	on      int       // rows that the folds are of
	folds   []float64 // scores
	mean    float64
	std     float64 // error of the mean, over the folds
	seconds float64 // of all its fits, work that was shared in part
	failed  string

	// said is what was predicted for each row by a model that has not seen it, rows × outputs: targets, or
	// probabilities or scores of classes. NaN where no fold tests on the row; nil where it was not kept.
	said    []float32
	outputs int
}

// errEnded ends a search from within: its time is over, or it was stopped.
var errEnded = errors.New("ended")

// fixed is a splitter with folds that are there already.
type fixed []datasets.Fold

func (f fixed) Split(datasets.Set) ([]datasets.Fold, error) { return f, nil }

// try scores points of one family on the first rows of the order.
func (r *run) try(ctx context.Context, rows, round int, points []point) ([]scored, error) {
	part, folds, err := r.partAndFolds(rows)
	if err != nil {
		return nil, err
	}
	list := make([]pipeline.Pipeline, len(points))
	for i, p := range points {
		if list[i], err = r.pipelineOf(ctx, p); err != nil {
			return nil, err
		}
	}
	key := trialKey(rows, list)
	out, seconds, noted := r.journal.find(key, len(points), len(folds))
	if noted {
		r.resumed += len(points)
	} else {
		began := time.Now()
		out, err = r.score(ctx, part, folds, points, list)
		if err != nil {
			return nil, err
		}
		seconds = time.Since(began).Seconds()
		if err := r.journal.note(key, seconds, out); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].point, out[i].round, out[i].on = points[i], round, part.Rows()
		r.seen[place{points[i], part.Rows()}] = true
	}
	r.tried += len(points)
	r.learnPace(points, list, part.Shape(), folds, seconds)
	r.log = append(r.log, out...)
	return out, nil
}

// score does the search over a list of pipelines.
func (r *run) score(ctx context.Context, part datasets.Set, folds []datasets.Fold, points []point, list []pipeline.Pipeline) ([]scored, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	said := make([][]estimator.Prediction, len(points))
	for i := range said {
		said[i] = make([]estimator.Prediction, len(folds))
	}
	numbers := make([]any, len(points))
	for i := range numbers {
		numbers[i] = i
	}
	spec := among{list: list, said: func(candidate, fold int, out estimator.Outcome) { said[candidate][fold] = out.Prediction }}
	search := gridsearch.NewSearch(spec, gridsearch.Axis{Path: "at", Values: numbers})
	search.Splitter, search.Score, search.Refit, search.Memory = fixed(folds), r.metric.Name, gridsearch.RefitNone, r.options.Memory
	search.Progress = func(gridsearch.Progress) { r.report("search") }
	result, err := search.Run(ctx, part)
	switch {
	case ctx.Err() != nil:
		return nil, errEnded
	case result == nil:
		return failures(points, len(folds), err), nil
	}
	out := make([]scored, len(points))
	for i, c := range result.Candidates {
		out[i] = scored{folds: c.Folds, mean: c.Mean, std: c.Std / math.Sqrt(float64(len(folds))), seconds: c.Seconds * float64(len(folds)), failed: c.Failed}
	}
	for _, i := range r.bests(points, out) {
		out[i].said, out[i].outputs = together(said[i], folds, part.Rows())
	}
	return out, nil
}

// failures is the outcome of points none of which could be scored.
func failures(points []point, folds int, err error) []scored {
	out := make([]scored, len(points))
	for i := range out {
		out[i] = scored{folds: slices.Repeat([]float64{math.NaN()}, folds), mean: math.NaN(), std: math.NaN(), failed: err.Error()}
	}
	return out
}

// bests returns the number of the best of each recipe, in the order of the points.
func (r *run) bests(points []point, out []scored) []int {
	best := map[int]int{}
	for i, p := range points {
		if at, ok := best[p.recipe]; !math.IsNaN(out[i].mean) && (!ok || r.metric.Better(out[i].mean, out[at].mean)) {
			best[p.recipe] = i
		}
	}
	var list []int
	for i, p := range points {
		if at, ok := best[p.recipe]; ok && at == i {
			list = append(list, i)
		}
	}
	return list
}

// together puts the predictions of the folds into the order of the rows. What several folds say of a row
// is averaged.
func together(said []estimator.Prediction, folds []datasets.Fold, rows int) ([]float32, int) {
	outputs := 0
	var sums []float64
	counts := make([]int, rows)
	for k, p := range said {
		m := outputsOf(p)
		if m == nil {
			return nil, 0
		}
		if _, cols := m.Dims(); sums == nil {
			outputs, sums = cols, make([]float64, rows*cols)
		}
		for t, i := range folds[k].Test {
			counts[i]++
			for j := range outputs {
				sums[i*outputs+j] += m.At(t, j)
			}
		}
	}
	out := make([]float32, len(sums))
	for i, v := range sums {
		out[i] = float32(v / float64(counts[i/outputs])) // NaN where there is none
	}
	return out, outputs
}

// outputsOf returns what a model says of rows as numbers to be averaged, nil where it says nothing.
func outputsOf(p estimator.Prediction) mat.Matrix {
	switch {
	case p.Probabilities != nil:
		return p.Probabilities
	case p.Scores != nil:
		return p.Scores
	case p.Targets != nil:
		return p.Targets
	case p.Values != nil:
		return mat.NewDense(len(p.Values), 1, p.Values)
	}
	return nil
}
