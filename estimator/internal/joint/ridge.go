package joint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Ridge is a ridge regression candidate.
type Ridge struct {
	leastsquares.Ridge
	Independent bool  // whether the candidate shares nothing
	Invalid     error // validation error of the candidate
	// Problem returns the regression on rows.
	Problem func(*design.Rows) (*leastsquares.Problem, error)
	// Check validates the training rows after their sums are known. May be nil.
	Check func(train []int) error
}

// ridgeBatch is one call of FitRidges.
type ridgeBatch struct {
	Batch
	candidates   []Ridge
	shared       []int // equal for candidates that differ only in alpha
	alphasShared bool  // whether candidates shared sums
	foldsShared  bool  // whether several folds used subtraction
}

// FitRidges fits ridge regressions on rows without maps. Candidates with equal keys share sums;
// those of a fold are the sums of all rows minus those of its test rows. CG candidates share
// products.
func FitRidges(ctx context.Context, b Batch, candidates []Ridge) (shared []string, err error) {
	s := &ridgeBatch{Batch: b, candidates: candidates, shared: b.SharedKeys()}
	r, err := design.FromSet(s.Data)
	if err == nil {
		err = s.CheckFolds(r.N)
	}
	if err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	var keys []ridgeKey
	groups := map[ridgeKey][]int{}
	for i := range candidates {
		key := s.groupKey(i, r)
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range keys {
		members := groups[key]
		switch {
		case key.method == separate, s.usesSharedCG(s.candidates[members[0]], r) && len(members) == 1:
			err = s.fitEach(members)
		case key.method == bySums:
			err = s.fitGroup(r, members)
		default:
			err = s.fitSharedCG(members)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.foldsShared {
		shared = append(shared, "folds")
	}
	if s.alphasShared {
		shared = append(shared, "alpha")
	}
	return shared, nil
}

// ridgeKey is equal for candidates that are fitted jointly.
type ridgeKey struct {
	method ridgeMethod
	shared int
}

type ridgeMethod int

const (
	separate ridgeMethod = iota
	bySums
	byProducts
)

func (s *ridgeBatch) groupKey(i int, r *design.Rows) ridgeKey {
	switch candidate := s.candidates[i]; {
	case candidate.Independent || candidate.Invalid != nil:
	case s.usesCholesky(candidate, r):
		return ridgeKey{bySums, s.shared[i]}
	case s.usesSharedCG(candidate, r):
		return ridgeKey{byProducts, s.shared[i]}
	}
	return ridgeKey{}
}

// usesCholesky reports whether a candidate uses Cholesky on half of the rows. It does not depend on
// the included folds, so that results do not either.
func (s *ridgeBatch) usesCholesky(candidate Ridge, r *design.Rows) bool {
	return candidate.SharedSolverFor(r.N/2, r.Cols, r.Sparse) == "cholesky"
}

// fitEach fits candidates independently.
func (s *ridgeBatch) fitEach(members []int) error {
	for f, fold := range s.Folds {
		if len(s.want(members, f)) == 0 {
			continue
		}
		if err := ctxerr.Check(s.ctx); err != nil {
			return err
		}
		split := &Split{design.Select(s.Data, fold.Train), rowblock.Select(s.Data.X, fold.Test)}
		for _, i := range s.want(members, f) {
			if err := s.fitOne(i, f, split); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitGroup fits candidates that share sums.
func (s *ridgeBatch) fitGroup(r *design.Rows, members []int) error {
	start := time.Now()
	first := s.candidates[members[0]]
	s.alphasShared = s.alphasShared || len(members) > 1
	if !slices.ContainsFunc(members, s.IncludesAny) {
		return nil
	}
	var total *leastsquares.Moments
	failed := error(nil)
	if slices.ContainsFunc(s.Folds, s.complementary) {
		total, failed = s.sums(first, r)
	}
	seconds := time.Since(start).Seconds() / float64(len(members)*max(1, len(s.Folds)))
	for f := range s.Folds {
		if err := s.fitFold(members, f, total, failed, seconds); err != nil {
			return err
		}
	}
	return nil
}

// sums computes the moments of rows.
func (s *ridgeBatch) sums(candidate Ridge, r *design.Rows) (*leastsquares.Moments, error) {
	p, err := candidate.Problem(r)
	if err != nil {
		return nil, err
	}
	return p.Moments(s.ctx)
}

// complementary reports whether a fold trains on exactly the rows that it does not test on. It is
// false for a leading block of training rows, which is as fast to sum directly.
func (s *ridgeBatch) complementary(fold datasets.Fold) bool {
	leading := fold.Train[0] == 0 && fold.Train[len(fold.Train)-1] == len(fold.Train)-1 && slices.IsSorted(fold.Train)
	return !leading && complementary(s.Data.Rows(), fold)
}

// complementary reports whether a fold trains on exactly those of n rows that it does not test on.
func complementary(n int, fold datasets.Fold) bool {
	if len(fold.Train)+len(fold.Test) != n {
		return false
	}
	seen := make([]bool, n)
	for _, i := range slices.Concat(fold.Train, fold.Test) {
		if seen[i] {
			return false
		}
		seen[i] = true
	}
	return true
}

// fitFold fits candidates that share sums on one fold.
func (s *ridgeBatch) fitFold(members []int, f int, total *leastsquares.Moments, failed error, seconds float64) error {
	if members = s.want(members, f); len(members) == 0 {
		return nil
	}
	start := time.Now()
	first := s.candidates[members[0]]
	fold := s.Folds[f]
	test := rowblock.Select(s.Data.X, fold.Test)
	var train *leastsquares.Moments
	subtracted := false
	if total != nil && s.complementary(fold) {
		train = s.subtractTest(first, total, fold.Test)
		subtracted = train != nil
		s.foldsShared = s.foldsShared || subtracted && len(s.Folds) > 1
	}
	if failed == nil && train == nil {
		train, failed = s.sumTrain(first, fold)
	}
	if failed == nil && first.Check != nil {
		failed = first.Check(fold.Train)
	}
	seconds += time.Since(start).Seconds() / float64(len(members))
	for _, i := range members {
		start := time.Now()
		candidate := s.candidates[i]
		model, err := solve.Linear{}, failed
		if err == nil {
			model, err = s.solve(candidate, fold, train)
		}
		if err == nil && subtracted && model.Report.Solver != "cholesky" {
			// A singular system must not depend on the rounding of a difference.
			if plain, failed := s.sumTrain(first, fold); failed == nil {
				model, err = s.solve(candidate, fold, plain)
			}
		}
		out := Result{Model: &model, Test: test, Err: err, Seconds: seconds + time.Since(start).Seconds()}
		if err := s.yield(i, f, out); err != nil {
			return err
		}
	}
	return nil
}

// solve solves given the moments of a fold's training rows.
func (s *ridgeBatch) solve(candidate Ridge, fold datasets.Fold, train *leastsquares.Moments) (solve.Linear, error) {
	p, err := candidate.Problem(design.FromSelection(s.Data, fold.Train))
	if err != nil {
		return solve.Linear{}, err
	}
	return p.SolveMoments(s.ctx, train)
}

// sumTrain computes the moments of the training rows of a fold.
func (s *ridgeBatch) sumTrain(candidate Ridge, fold datasets.Fold) (*leastsquares.Moments, error) {
	return s.sums(candidate, design.FromSelection(s.Data, fold.Train))
}

// subtractTest returns total minus the moments of the test rows, nil if too little of the weight or
// of a column would be left.
func (s *ridgeBatch) subtractTest(candidate Ridge, total *leastsquares.Moments, test []int) *leastsquares.Moments {
	part, err := s.sums(candidate, design.FromSelection(s.Data, test))
	if err != nil {
		return nil
	}
	return total.Complement(part)
}
