package batch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Ridge is a candidate that is a ridge regression.
type Ridge struct {
	leastsquares.Ridge
	Key     string // candidates with the same key have the same sums
	Alone   bool   // whether the candidate shares nothing
	Invalid error  // what is wrong with the candidate
	// Problem is the regression on rows.
	Problem func(*design.Rows) (*leastsquares.Problem, error)
	// Check says what is wrong with the rows to train on, once their sums are there. Nil for nothing.
	Check func(train []int) error
}

// ridgeSweep is one batch on rows as they are.
type ridgeSweep struct {
	Batch
	ctx      context.Context
	settings []Ridge
	alphas   bool // whether settings shared sums
	rest     bool // whether sums were got by subtraction, for more folds than one
}

// Ridges fits ridge regressions on rows as they are. Candidates with the same key have the same sums, those of a
// fold are the sums of all rows less those of the test rows.
func Ridges(ctx context.Context, b Batch, settings []Ridge) (shared []string, err error) {
	s := &ridgeSweep{Batch: b, ctx: ctx, settings: settings}
	r, err := design.OfSet(s.Data)
	if err == nil {
		err = s.checkFolds(r.N)
	}
	if err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	var keys []string
	groups := map[string][]int{}
	for i, setting := range settings {
		key := setting.Key
		if setting.Alone || setting.Invalid != nil || !s.cholesky(setting, r) {
			key = ""
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range keys {
		if key == "" {
			err = s.each(groups[key])
		} else {
			err = s.group(r, groups[key])
		}
		if err != nil {
			return nil, err
		}
	}
	if s.rest {
		shared = append(shared, "folds")
	}
	if s.alphas {
		shared = append(shared, "alpha")
	}
	return shared, nil
}

// cholesky reports whether a setting goes by the solver cholesky on half of the rows: the folds that
// happen to be swept are not to change a result.
func (s *ridgeSweep) cholesky(setting Ridge, r *design.Rows) bool {
	return setting.Way(r.N/2, r.Cols, r.Sparse) == "cholesky"
}

// wanted returns those of some settings that are wanted on a fold.
func (s *ridgeSweep) wanted(settings []int, fold int) (list []int) {
	for _, i := range settings {
		if s.Wants(i, fold) {
			list = append(list, i)
		}
	}
	return list
}

// each fits settings by themselves.
func (s *ridgeSweep) each(settings []int) error {
	for f, fold := range s.Folds {
		if len(s.wanted(settings, f)) == 0 {
			continue
		}
		split := &Split{s.Data.Select(fold.Train), datasets.SelectRows(s.Data.X, fold.Test)}
		for _, i := range s.wanted(settings, f) {
			if err := s.Single(s.ctx, i, f, split); err != nil {
				return err
			}
		}
	}
	return nil
}

// group fits settings that have the same sums.
func (s *ridgeSweep) group(r *design.Rows, settings []int) error {
	start := time.Now()
	first := s.settings[settings[0]]
	s.alphas = s.alphas || len(settings) > 1
	if !slices.ContainsFunc(settings, s.WantsAny) {
		return nil
	}
	var total *leastsquares.Moments
	failed := error(nil)
	if slices.ContainsFunc(s.Folds, s.complementary) {
		total, failed = s.sums(first, r)
	}
	seconds := time.Since(start).Seconds() / float64(len(settings)*max(1, len(s.Folds)))
	for f := range s.Folds {
		if err := s.fold(settings, f, total, failed, seconds); err != nil {
			return err
		}
	}
	return nil
}

// sums adds up the products of rows.
func (s *ridgeSweep) sums(setting Ridge, r *design.Rows) (*leastsquares.Moments, error) {
	p, err := setting.Problem(r)
	if err != nil {
		return nil, err
	}
	return p.Moments(s.ctx)
}

// complementary reports whether a fold trains on all rows that it does not test on. Training rows
// that come first and in order are left out: it is as well to add them up.
func (s *ridgeSweep) complementary(fold datasets.Fold) bool {
	n := s.Data.Rows()
	if len(fold.Train)+len(fold.Test) != n || fold.Train[0] == 0 && fold.Train[len(fold.Train)-1] == len(fold.Train)-1 && slices.IsSorted(fold.Train) {
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

// fold fits settings with the same sums on one fold.
func (s *ridgeSweep) fold(settings []int, f int, total *leastsquares.Moments, failed error, seconds float64) error {
	if settings = s.wanted(settings, f); len(settings) == 0 {
		return nil
	}
	start := time.Now()
	first := s.settings[settings[0]]
	fold := s.Folds[f]
	test := datasets.SelectRows(s.Data.X, fold.Test)
	var train *leastsquares.Moments
	subtracted := false
	if total != nil && s.complementary(fold) {
		train = s.remainder(first, total, fold.Test)
		subtracted = train != nil
		s.rest = s.rest || subtracted && len(s.Folds) > 1
	}
	if failed == nil && train == nil {
		train, failed = s.direct(first, fold)
	}
	if failed == nil && first.Check != nil {
		failed = first.Check(fold.Train)
	}
	seconds += time.Since(start).Seconds() / float64(len(settings))
	for _, i := range settings {
		start := time.Now()
		setting := s.settings[i]
		model, err := solve.Linear{}, failed
		if err == nil {
			model, err = s.model(setting, fold, train)
		}
		if err == nil && subtracted && model.Report.Solver != "cholesky" {
			// Singular to working precision: what there is must not be rounding of what was there.
			if plain, failed := s.direct(first, fold); failed == nil {
				model, err = s.model(setting, fold, plain)
			}
		}
		out := Result{Model: &model, Test: test, Err: err, Seconds: seconds + time.Since(start).Seconds()}
		if err := s.Yield(i, f, out); err != nil {
			return err
		}
	}
	return nil
}

// model solves for the sums of a fold's training rows.
func (s *ridgeSweep) model(setting Ridge, fold datasets.Fold, train *leastsquares.Moments) (solve.Linear, error) {
	p, err := setting.Problem(design.Selected(s.Data, fold.Train))
	if err != nil {
		return solve.Linear{}, err
	}
	return p.SolveMoments(s.ctx, train)
}

// direct adds up the training rows of a fold.
func (s *ridgeSweep) direct(setting Ridge, fold datasets.Fold) (*leastsquares.Moments, error) {
	return s.sums(setting, design.Selected(s.Data, fold.Train))
}

// remainder returns total less the sums of the test rows, nil where that would leave less than half
// of the weight or next to nothing of a column.
func (s *ridgeSweep) remainder(setting Ridge, total *leastsquares.Moments, test []int) *leastsquares.Moments {
	part, err := s.sums(setting, design.Selected(s.Data, test))
	if err != nil {
		return nil
	}
	return total.Without(part)
}
