package estimator

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// SweepCost estimates what [Ridge.Sweep] of dense rows with cols columns costs, and names what it
// would share.
func (s Ridge) SweepCost(cols int, folds []datasets.Fold, settings []Estimator) (datasets.Cost, []string) {
	return ridgeSweepCost(cols, folds, settings, s.sweepSettings)
}

// SweepCost is [Ridge.SweepCost] for one output. Classes are taken to be known.
func (s RidgeClassifier) SweepCost(cols int, folds []datasets.Fold, settings []Estimator) (datasets.Cost, []string) {
	return ridgeSweepCost(cols, folds, settings, s.sweepSettings)
}

// FamilyCost estimates what [Ridge.SweepFamily] costs beside the mapping of rows, and names what it
// would share.
func (s Ridge) FamilyCost(rows int, folds []datasets.Fold, settings []FamilySetting) (datasets.Cost, []string) {
	return ridgeFamilyCost(rows, folds, settings, s.sweepSettings)
}

// FamilyCost is [Ridge.FamilyCost] for one output.
func (s RidgeClassifier) FamilyCost(rows int, folds []datasets.Fold, settings []FamilySetting) (datasets.Cost, []string) {
	return ridgeFamilyCost(rows, folds, settings, s.sweepSettings)
}

type settingsOf func(datasets.Set, []Estimator) ([]sweepSetting, error)

// someClasses stands for the classes of data that is not there yet.
var someClasses = datasets.Set{Y: []float64{}, Schema: datasets.Schema{
	Targets: []datasets.Column{{Kind: datasets.Categorical, Levels: []string{"0", "1"}}}}}

func ridgeSweepCost(cols int, folds []datasets.Fold, settings []Estimator, of settingsOf) (sum datasets.Cost, shared []string) {
	list, err := of(someClasses, settings)
	if err != nil || len(folds) == 0 {
		return sum, nil
	}
	d := float64(cols)
	groups := map[string]int{}
	names := map[string]bool{}
	train, rows := 0, 0
	for _, fold := range folds {
		train += len(fold.Train)
		rows = max(rows, len(fold.Train)+len(fold.Test))
	}
	for _, s := range list {
		if s.alone || s.ridge.way(rows/2, cols, false) != "cholesky" {
			for _, fold := range folds {
				sum.Flops += s.ridge.cost(len(fold.Train), cols, 1).Flops
			}
			continue
		}
		groups[s.key]++
		sum.Flops += float64(len(folds)) * (d*d*d/3 + 2*float64(rows)/float64(len(folds))*d)
	}
	for _, n := range groups {
		sum.Flops += min(2*float64(rows), float64(train)) * d * d
		if n > 1 {
			names["alpha"] = true
		}
		if 2*rows < train {
			names["folds"] = true
		}
	}
	sum.Bytes, sum.Width = 8*4*int64(cols)*int64(cols), 1
	return sum, slices.Sorted(maps.Keys(names))
}

func ridgeFamilyCost(rows int, folds []datasets.Fold, settings []FamilySetting, of settingsOf) (sum datasets.Cost, shared []string) {
	specs := make([]Estimator, len(settings))
	for i, s := range settings {
		specs[i] = s.Estimator
	}
	list, err := of(someClasses, specs)
	if err != nil {
		return sum, nil
	}
	s := &ridgeFamily{Family: Family{Folds: folds, Settings: settings, Memory: 1 << 62}, settings: list, shared: map[string]bool{}}
	test, trained := 0, 0
	for _, fold := range folds {
		test += len(fold.Test)
		trained += len(fold.Train)
	}
	trained = min(trained, rows)
	for _, i := range s.plan(rows) {
		for _, fold := range folds {
			sum.Flops += list[i].ridge.cost(len(fold.Train), settings[i].Width, 1).Flops
		}
	}
	for _, g := range s.groups {
		s.tell(g)
		w := float64(g.width)
		sum.Flops += float64(trained) * w * w
		sum.Bytes += 8 * int64(g.width) * int64(g.width) * int64(len(s.parts)+4)
		for _, i := range g.members {
			d := float64(settings[i].Width)
			sum.Flops += float64(len(folds))*d*d*d/3 + 2*float64(test)*d
		}
	}
	sum.Width = 1
	return sum, slices.Sorted(maps.Keys(s.shared))
}
