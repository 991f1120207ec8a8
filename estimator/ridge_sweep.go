package estimator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
	"github.com/bochner-ml/bochner/param"
)

var (
	_ Sweeper = Ridge{}
	_ Sweeper = RidgeClassifier{}
)

// Sweep fits settings that differ in Alpha to the same sums of products, nd² flops for all of them
// and d³/3 more for each; and gets the sums of a fold's training rows by taking those of its test
// rows from those of all rows, 2nd² flops for any number of folds. Where a fold leaves less than
// half of the weight, or what is left is singular, its sums are added up from its rows, as they are
// where folds overlap. Settings that would not go by the solver cholesky are fitted by themselves.
// A result is the same to the bit, whatever other settings and folds are swept with it.
func (s Ridge) Sweep(ctx context.Context, data datasets.Set, folds []datasets.Fold, settings []Estimator,
	yield func(setting, fold int, held Held) error) (shared []string, err error) {
	list, err := s.numberSettings(data, settings)
	if err != nil {
		return nil, err
	}
	return sweepRidge(ctx, data, folds, list, yield)
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
			problem: func(rows *design.Rows) (*ridgeProblem, error) {
				return newProblem(leastRidge(r), rows, design.BlockTargets, design.BlockWeights), nil
			},
			dress: func(model linear) Predictor { return &FittedLinear{model} }}
	}
	return list, nil
}

// Sweep shares work as [Ridge.Sweep] does, between settings of the same class weight; balanced
// weights differ between folds, and such settings are fitted by themselves.
func (s RidgeClassifier) Sweep(ctx context.Context, data datasets.Set, folds []datasets.Fold, settings []Estimator,
	yield func(setting, fold int, held Held) error) (shared []string, err error) {
	list, err := s.sweepSettings(data, settings)
	if err != nil {
		return nil, err
	}
	return sweepRidge(ctx, data, folds, list, yield)
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
			problem: func(rows *design.Rows) (*ridgeProblem, error) {
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
	problem func(*design.Rows) (*ridgeProblem, error)
	check   func(train []int) error // once the sums are there; nil for none
	dress   func(linear) Predictor
}

// ridgeSweep is one call of Sweep.
type ridgeSweep struct {
	ctx      context.Context
	data     datasets.Set
	folds    []datasets.Fold
	settings []sweepSetting
	yield    func(setting, fold int, held Held) error
	alphas   bool // whether settings shared sums
	rest     bool // whether sums were got by subtraction, for more folds than one
}

func sweepRidge(ctx context.Context, data datasets.Set, folds []datasets.Fold, settings []sweepSetting,
	yield func(setting, fold int, held Held) error) (shared []string, err error) {
	s := &ridgeSweep{ctx: ctx, data: data, folds: folds, settings: settings, yield: yield}
	r, err := design.OfSet(data)
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

// checkFolds finds rows that there are not.
func (s *ridgeSweep) checkFolds(n int) error {
	for f, fold := range s.folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			return fmt.Errorf("fold %d has %d rows to train on and %d to test on", f, len(fold.Train), len(fold.Test))
		}
		for _, i := range slices.Concat(fold.Train, fold.Test) {
			if i < 0 || i >= n {
				return fmt.Errorf("fold %d has row %d of %d", f, i, n)
			}
		}
	}
	return nil
}

// cholesky reports whether a setting goes by the solver cholesky on half of the rows: the folds that
// happen to be swept are not to change a result.
func (s *ridgeSweep) cholesky(setting Ridge, r *design.Rows) bool {
	return leastRidge(setting).way(r.N/2, r.Cols, r.Sparse) == "cholesky"
}

// each fits settings by themselves.
func (s *ridgeSweep) each(settings []int) error {
	for f, fold := range s.folds {
		train, test := s.data.Select(fold.Train), datasets.SelectRows(s.data.X, fold.Test)
		for _, i := range settings {
			start := time.Now()
			fitted, err := s.settings[i].Fit(s.ctx, train)
			held := Held{Err: err}
			if err == nil {
				held.Prediction, err = Predict(s.ctx, fitted, test)
				held.Err = s.data.AtRows(err, fold.Test)
				held.Report = fitted.(Reporter).Report()
			}
			held.Seconds = time.Since(start).Seconds()
			if err := s.give(i, f, held); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *ridgeSweep) give(setting, fold int, held Held) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.yield(setting, fold, held)
}

// group fits settings that have the same sums.
func (s *ridgeSweep) group(r *design.Rows, settings []int) error {
	start := time.Now()
	first := s.settings[settings[0]]
	var total *moments
	failed := error(nil)
	if slices.ContainsFunc(s.folds, s.complementary) {
		total, failed = s.sums(first, r)
	}
	seconds := time.Since(start).Seconds() / float64(len(settings)*max(1, len(s.folds)))
	s.alphas = s.alphas || len(settings) > 1
	for f := range s.folds {
		if err := s.fold(settings, f, total, failed, seconds); err != nil {
			return err
		}
	}
	return nil
}

// sums adds up the products of rows.
func (s *ridgeSweep) sums(setting sweepSetting, r *design.Rows) (*moments, error) {
	p, err := setting.problem(r)
	if err != nil {
		return nil, err
	}
	return p.moments(s.ctx)
}

// complementary reports whether a fold trains on all rows that it does not test on. Training rows
// that come first and in order are left out: it is as well to add them up.
func (s *ridgeSweep) complementary(fold datasets.Fold) bool {
	n := s.data.Rows()
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
func (s *ridgeSweep) fold(settings []int, f int, total *moments, failed error, seconds float64) error {
	start := time.Now()
	first := s.settings[settings[0]]
	fold := s.folds[f]
	test := datasets.SelectRows(s.data.X, fold.Test)
	var train *moments
	subtracted := false
	if total != nil && s.complementary(fold) {
		train = s.remainder(first, total, fold.Test)
		subtracted = train != nil
		s.rest = s.rest || subtracted && len(s.folds) > 1
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
		held := Held{}
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
			held.Prediction, err = Predict(s.ctx, setting.dress(newLinear(model)), test)
			err = s.data.AtRows(err, fold.Test)
			held.Report = Report(model.Report)
		}
		if err != nil {
			held.Err = fmt.Errorf("estimator: %s: %w", setting.name, err)
		}
		held.Seconds = seconds + time.Since(start).Seconds()
		if err := s.give(i, f, held); err != nil {
			return err
		}
	}
	return nil
}

// model solves for the sums of a fold's training rows.
func (s *ridgeSweep) model(setting sweepSetting, fold datasets.Fold, train *moments) (solve.Linear, error) {
	p, err := setting.problem(design.Selected(s.data, fold.Train))
	if err != nil {
		return solve.Linear{}, err
	}
	return p.ridge(s.ctx, train)
}

// direct adds up the training rows of a fold.
func (s *ridgeSweep) direct(setting sweepSetting, fold datasets.Fold) (*moments, error) {
	return s.sums(setting, design.Selected(s.data, fold.Train))
}

// remainder returns total less the sums of the test rows, nil where that would leave less than half
// of the weight or next to nothing of a column.
func (s *ridgeSweep) remainder(setting sweepSetting, total *moments, test []int) *moments {
	part, err := s.sums(setting, design.Selected(s.data, test))
	if err != nil || part.weight > total.weight/2 {
		return nil
	}
	out := newMoments(total.cols, total.targets, total.centred)
	out.merge(total)
	out.subtract(part)
	const little = 1e-9
	for j := range total.cols {
		at := j*total.cols + j
		left := out.gram[at]
		if out.centred {
			left -= out.sum[j] * out.sum[j] / out.weight
		}
		if left < little*total.gram[at] {
			return nil
		}
	}
	return out
}
