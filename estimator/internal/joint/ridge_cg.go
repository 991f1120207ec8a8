package joint

import (
	"time"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// usesSharedCG reports whether a candidate uses shifted CG on sparse rows. CG is not preconditioned
// there. With more rows than columns only rows without values, such as those of random binning, are
// known to converge.
func (s *ridgeBatch) usesSharedCG(candidate Ridge, r *design.Rows) bool {
	plain := false
	if x, ok := s.Data.X.(*matrices.CSR); ok {
		_, plain = x.Shared()
	}
	return r.Sparse && (plain || r.N < r.Cols) && candidate.Alpha > 0 && candidate.SolverFor(r.N/2, r.Cols, true) == "cg"
}

// fitSharedCG fits candidates that differ only in alpha by shifted CG. Candidates that do not
// converge are fitted independently.
func (s *ridgeBatch) fitSharedCG(members []int) error {
	s.alphasShared = true
	for f, fold := range s.Folds {
		want := s.want(members, f)
		if len(want) == 0 {
			continue
		}
		if err := ctxerr.Check(s.ctx); err != nil {
			return err
		}
		start := time.Now()
		split := &Split{design.Select(s.Data, fold.Train), rowblock.Select(s.Data.X, fold.Test)}
		models, err := s.solveAlphas(members, f)
		if err != nil {
			if s.ctx.Err() != nil {
				return ctxerr.Check(s.ctx)
			}
			models = make([]*solve.Linear, len(members)) // each fit reports its own error
		}
		seconds := time.Since(start).Seconds() / float64(len(want))
		for k, i := range members {
			switch {
			case !s.Includes(i, f):
				continue
			case models[k] == nil:
				err = s.fitOne(i, f, split)
			default:
				err = s.yield(i, f, Result{Model: models[k], Test: split.Test, Seconds: seconds})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// solveAlphas returns the models on the training rows of a fold, nil if not included or not
// converged.
func (s *ridgeBatch) solveAlphas(members []int, fold int) ([]*solve.Linear, error) {
	first, train := s.candidates[members[0]], s.Folds[fold].Train
	if first.Check != nil {
		if err := first.Check(train); err != nil {
			return nil, err
		}
	}
	p, err := first.Problem(design.FromSelection(s.Data, train))
	if err != nil {
		return nil, err
	}
	var alphas []float64
	var want []bool
	for _, i := range members {
		alphas, want = append(alphas, s.candidates[i].Alpha), append(want, s.Includes(i, fold))
	}
	return p.SolveAlphas(s.ctx, alphas, want)
}
