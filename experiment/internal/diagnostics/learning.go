package diagnostics

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// minRows is the minimum size of the first training subset of a learning curve.
const minRows = 20

// learningStream is the random stream of learning curves.
const learningStream = 0x6c656172

// Learning sets f.LearningCurve. It fits a spec to nested random subsets of the training rows, each twice
// as large as the previous one; model is the fit to all rows. judge scores a model on its training rows and on
// held-out rows. Subsets that cannot be fitted are omitted; the result is empty for fewer than two.
func Learning(ctx context.Context, f *result.Findings, spec estimator.Estimator, model estimator.Predictor,
	train datasets.Set, points int, seed uint64,
	judge func(ctx context.Context, model estimator.Predictor, learned datasets.Set) (own, others float64,
		err error)) error {
	n := train.Rows()
	order := rand.New(rand.NewPCG(seed, learningStream)).Perm(n)
	out := result.Findings{}.LearningCurve
	for k := points - 1; k >= 0; k-- {
		rows := int(math.Round(float64(n) / math.Pow(2, float64(k))))
		if rows < minRows {
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
					return ctxerr.Check(ctx)
				}
				continue
			}
		}
		own, others, err := judge(ctx, fitted, part)
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if err != nil {
			continue
		}
		out.Rows, out.Train, out.Scores = append(out.Rows, rows), append(out.Train, own), append(out.Scores, others)
	}
	if len(out.Rows) >= 2 {
		f.LearningCurve = out
	}
	return nil
}
