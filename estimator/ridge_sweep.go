package estimator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/param"
)

var (
	_ BatchFitter = Ridge{}
	_ BatchFitter = RidgeClassifier{}
)

// FitBatch shares work between candidates and folds in three ways.
//
// On rows as they are, candidates that differ in Alpha are fitted to the same sums of products, nd² flops
// for all of them and d³/3 more for each; and the sums of a fold's training rows are those of all rows
// less those of its test rows, 2nd² flops for any number of folds. Where a fold leaves less than half of
// the weight, or what is left is singular, its sums are added up from its rows, as they are where folds
// overlap.
//
// On related maps there is one pass over the rows for the sums and one for the predictions. The rows are
// cut into parts such that each fold trains on some of the parts; the Gram matrix of every part is made
// once for each map, nD² flops in all, and that of a fold's training rows is the sum of its parts', so that
// nothing cancels. Candidates with fewer columns have a leading block of it. Each Alpha then takes D³/3
// flops, and 2nD for predictions, which all candidates of a fold make in one product from features mapped
// once. No n×D matrix is stored. One factor for each Alpha is the cheaper way for lists of some forty: to
// bring the matrix to tridiagonal form, from where every Alpha is cheap, takes as long as 40 to 80 factors
// (measured). Candidates whose systems are so ill-conditioned that the order of summation would show are
// refined together, a pass over the rows for all of them. One whose system is singular to working
// precision, or of features in single precision whose rounding shows in predictions, is fitted by itself.
//
// Leaving one out costs nd² for all candidates that differ in Alpha only and nd² + d³/3 flops for each,
// by [Ridge.LeaveOneOut].
//
// Candidates that would not go by the solver cholesky are fitted by themselves.
func (s Ridge) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	return fitRidges(ctx, b, s.numberSettings)
}

// FitBatch shares work as [Ridge.FitBatch] does, between candidates of the same class weight; balanced
// weights differ between folds, and such candidates are fitted by themselves.
func (s RidgeClassifier) FitBatch(ctx context.Context, b Batch) (shared []string, err error) {
	return fitRidges(ctx, b, s.sweepSettings)
}

// fitRidges is FitBatch of candidates that are ridge regressions.
func fitRidges(ctx context.Context, b Batch, settings settingsOf) (shared []string, err error) {
	list, err := settings(b.Data, b.specs())
	if err != nil {
		return nil, err
	}
	switch {
	case b.OneOut:
		return sweepOneOut(ctx, b, list)
	case b.Mapped():
		return sweepRidgeFamily(ctx, b, list)
	}
	return sweepRidge(ctx, b, list)
}

// numberSettings are the settings as a sweep of these data takes them: each by itself, to say so, where
// the targets are no numbers.
func (s Ridge) numberSettings(data datasets.Set, settings []Estimator) ([]sweepSetting, error) {
	list, err := s.sweepSettings(data, settings)
	for i := range list {
		list[i].alone = forNumbers(data.Schema, "ridge") != nil
	}
	return list, err
}

func (s Ridge) sweepSettings(_ datasets.Set, settings []Estimator) ([]sweepSetting, error) {
	list := make([]sweepSetting, len(settings))
	for i, e := range settings {
		r, ok := e.(Ridge)
		if !ok {
			return nil, fmt.Errorf("estimator: ridge: setting %d is a %T", i, e)
		}
		list[i] = sweepSetting{Estimator: e, ridge: r, name: "ridge", key: fmt.Sprint(r.Intercept),
			problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				return leastsquares.NewProblem(leastsquares.Ridge(r), rows, design.BlockTargets, design.BlockWeights), nil
			},
			dress: func(model linear) Predictor { return &FittedLinear{model} }}
	}
	return list, nil
}

func (s RidgeClassifier) sweepSettings(data datasets.Set, settings []Estimator) ([]sweepSetting, error) {
	classes := data.Schema.Classes()
	list := make([]sweepSetting, len(settings))
	for i, e := range settings {
		r, ok := e.(RidgeClassifier)
		if !ok {
			return nil, fmt.Errorf("estimator: ridge_classifier: setting %d is a %T", i, e)
		}
		list[i] = sweepSetting{Estimator: e, ridge: r.ridge(), name: "ridge_classifier", key: fmt.Sprint(r.Intercept, r.ClassWeight.Plain()),
			alone: r.ClassWeight.Balanced || len(classes) == 0 || data.Y == nil,
			problem: func(rows *design.Rows) (*leastsquares.Problem, error) {
				p, _, err := r.coded(rows, classes)
				return p, err
			},
			check: func(train []int) error { return enoughClasses(data, train, classes) },
			dress: func(model linear) Predictor { return &FittedLinearClassifier{linear: model, classes: classes} }}
	}
	return list, nil
}

// enoughClasses fails where the training rows of positive weight are all of one class.
func enoughClasses(data datasets.Set, train []int, classes []string) error {
	mass := make([]float64, len(classes))
	for _, i := range train {
		c := int(data.Y[i])
		if data.Weights == nil {
			mass[c]++
		} else {
			mass[c] += data.Weights[i]
		}
	}
	return design.SeveralClasses(classes, mass)
}

// sweepSetting is a setting of a sweep as a ridge regression.
type sweepSetting struct {
	Estimator
	ridge   Ridge
	name    string
	key     string // settings with the same key have the same sums
	alone   bool   // whether the setting shares nothing
	problem func(*design.Rows) (*leastsquares.Problem, error)
	check   func(train []int) error // once the sums are there; nil for none
	dress   func(linear) Predictor
}

// ridgeSweep is one batch on rows as they are.
type ridgeSweep struct {
	Batch
	ctx      context.Context
	settings []sweepSetting
	alphas   bool // whether settings shared sums
	rest     bool // whether sums were got by subtraction, for more folds than one
}

func sweepRidge(ctx context.Context, b Batch, settings []sweepSetting) (shared []string, err error) {
	s := &ridgeSweep{Batch: b, ctx: ctx, settings: settings}
	r, err := design.OfSet(s.Data)
	if err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	if err := s.checkFolds(r.N); err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	var keys []string
	groups := map[string][]int{}
	for i, setting := range settings {
		key := setting.key
		if setting.alone || param.Check(setting.Estimator) != nil || !s.cholesky(setting.ridge, r) {
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
	return leastsquares.Ridge(setting).Way(r.N/2, r.Cols, r.Sparse) == "cholesky"
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
		train, test := s.Data.Select(fold.Train), datasets.SelectRows(s.Data.X, fold.Test)
		for _, i := range s.wanted(settings, f) {
			start := time.Now()
			fitted, err := s.settings[i].Fit(s.ctx, train)
			out := Outcome{Err: err}
			if err == nil {
				out.Prediction, err = Predict(s.ctx, fitted, test)
				out.Err = s.Data.AtRows(err, fold.Test)
				out.Report = fitted.(Reporter).Report()
			}
			out.Seconds = time.Since(start).Seconds()
			if err := s.give(i, f, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *ridgeSweep) give(setting, fold int, out Outcome) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Yield(setting, fold, out)
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
func (s *ridgeSweep) sums(setting sweepSetting, r *design.Rows) (*leastsquares.Moments, error) {
	p, err := setting.problem(r)
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
	if failed == nil && first.check != nil {
		failed = first.check(fold.Train)
	}
	seconds += time.Since(start).Seconds() / float64(len(settings))
	for _, i := range settings {
		start := time.Now()
		setting := s.settings[i]
		out := Outcome{}
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
		if err == nil {
			out.Prediction, err = Predict(s.ctx, setting.dress(newLinear(model)), test)
			err = s.Data.AtRows(err, fold.Test)
			out.Report = Report(model.Report)
		}
		if err != nil {
			out.Err = fmt.Errorf("estimator: %s: %w", setting.name, err)
		}
		out.Seconds = seconds + time.Since(start).Seconds()
		if err := s.give(i, f, out); err != nil {
			return err
		}
	}
	return nil
}

// model solves for the sums of a fold's training rows.
func (s *ridgeSweep) model(setting sweepSetting, fold datasets.Fold, train *leastsquares.Moments) (solve.Linear, error) {
	p, err := setting.problem(design.Selected(s.Data, fold.Train))
	if err != nil {
		return solve.Linear{}, err
	}
	return p.SolveMoments(s.ctx, train)
}

// direct adds up the training rows of a fold.
func (s *ridgeSweep) direct(setting sweepSetting, fold datasets.Fold) (*leastsquares.Moments, error) {
	return s.sums(setting, design.Selected(s.Data, fold.Train))
}

// remainder returns total less the sums of the test rows, nil where that would leave less than half
// of the weight or next to nothing of a column.
func (s *ridgeSweep) remainder(setting sweepSetting, total *leastsquares.Moments, test []int) *leastsquares.Moments {
	part, err := s.sums(setting, design.Selected(s.Data, test))
	if err != nil {
		return nil
	}
	return total.Without(part)
}
