package diagnostics

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// leastRows is what the first model of a learning curve learns from at least.
const leastRows = 20

// learningStream tells the draw of a learning curve from others of the same seed.
const learningStream = 0x6c656172

// Learning fits a spec to more and more of the training rows, drawn by the seed, each part within the next, twice as
// large, the last all rows but for model, which has learned from these. judge scores on the rows that a model has
// learned from and on others. A part that cannot be fitted, as one with a single class, is left out; nil stands for fewer
// than two parts.
func Learning(ctx context.Context, spec estimator.Estimator, model estimator.Predictor, train datasets.Set, points int, seed uint64,
	judge func(ctx context.Context, model estimator.Predictor, learned datasets.Set) (own, others float64, err error)) (*result.LearningCurve, error) {
	n := train.Rows()
	order := rand.New(rand.NewPCG(seed, learningStream)).Perm(n)
	out := &result.LearningCurve{}
	for k := points - 1; k >= 0; k-- {
		rows := int(math.Round(float64(n) / math.Pow(2, float64(k))))
		if rows < leastRows {
			continue
		}
		fitted, part := model, train
		if rows < n {
			at := slices.Clone(order[:rows])
			slices.Sort(at)
			part = train.Select(at)
			var err error
			if fitted, err = spec.Fit(ctx, part); err != nil {
				if ctx.Err() != nil {
					return nil, ctxerr.Check(ctx)
				}
				continue
			}
		}
		own, others, err := judge(ctx, fitted, part)
		if ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		if err != nil {
			continue
		}
		out.Rows, out.Train, out.Scores = append(out.Rows, rows), append(out.Train, own), append(out.Scores, others)
	}
	if len(out.Rows) < 2 {
		return nil, nil
	}
	return out, nil
}
