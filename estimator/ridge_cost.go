package estimator

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
)

// Cost estimates a fit to rows of a shape.
func (s Ridge) Cost(shape datasets.Shape) datasets.Cost { return s.cost(shape, 0) }

// Cost estimates a fit to rows of a shape, which has codes of the classes besides.
func (s RidgeClassifier) Cost(shape datasets.Shape) datasets.Cost {
	return s.ridge().cost(shape, float64(min(shape.Rows, design.SparseBlock)))
}

// cost is that of a fit whose targets are made of so many rows at a time. The targets of all rows are held
// where the solver reads them more than once.
func (s Ridge) cost(shape datasets.Shape, coded float64) datasets.Cost {
	n, d, t := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	cost := datasets.Cost{Width: max(shape.Outputs, 1)}
	if shape.Filled == 0 {
		coded = min(coded, datasets.BlockRows)
	}
	held := 6*d*t + coded*t
	switch leastsquares.Ridge(s).Way(shape.Rows, shape.Cols, shape.Filled > 0) {
	case "dual":
		cost.Flops = n*n*d + n*n*n/3 + 2*n*n*t
		held += n*(n+d) + 3*n*t
	case "cg":
		const steps = 100
		cost.Flops = steps * passFlops(shape)
		held += 6 * d
	default:
		cost.Flops = n*d*d + d*d*d/3 + 2*d*t*(n+d)
		if shape.Filled > 0 {
			cost.Flops = n*sparseWaitingFlops*shape.Entries() + n*shape.Entries()*shape.Entries()*4 + d*d*d/3 + 2*d*t*d
		}
		held += 2 * d * d
	}
	cost.Bytes = bytesOf(held)
	return cost
}

// BatchCost takes a batch of any kind. On related maps the solver is, or may be, cholesky.
func (s Ridge) BatchCost(b Batch) (datasets.Cost, []string, error) {
	return ridgeBatchCost(b, s, s.sweepSettings)
}

// BatchCost is [Ridge.BatchCost]. Classes are taken to be known; on related maps the class weight is one
// that does not depend on the rows.
func (s RidgeClassifier) BatchCost(b Batch) (datasets.Cost, []string, error) {
	switch {
	case b.Mapped() && s.ClassWeight.Balanced:
		return datasets.Cost{}, nil, errNotMapped
	case b.OneOut && s.ClassWeight.Balanced:
		return datasets.Cost{}, nil, errBalancedOneOut
	}
	return ridgeBatchCost(b, s.ridge(), s.sweepSettings)
}

func ridgeBatchCost(b Batch, s Ridge, of settingsOf) (sum datasets.Cost, shared []string, err error) {
	if b.Mapped() && s.Solver != "auto" && s.Solver != "cholesky" {
		return sum, nil, errNotMapped
	}
	list, err := of(someClasses, b.specs())
	switch {
	case err != nil || len(b.Folds) == 0:
		return sum, nil, nil
	case b.OneOut:
		return loneCost(b), []string{"rows"}, nil
	case b.Mapped():
		sum, shared = ridgeFamilyCost(b, list)
	default:
		sum, shared = ridgeSweepCost(b, list)
	}
	return sum, shared, nil
}

type settingsOf func(datasets.Set, []Estimator) ([]sweepSetting, error)

// someClasses stands for the classes of data that is not there yet.
var someClasses = datasets.Set{Y: []float64{}, Schema: datasets.Schema{
	Targets: []datasets.Column{{Kind: datasets.Categorical, Levels: []string{"0", "1"}}}}}

func ridgeSweepCost(b Batch, list []sweepSetting) (sum datasets.Cost, shared []string) {
	shape, folds := b.Shape, b.Folds
	cols, d, t := shape.Cols, float64(shape.Cols), float64(max(shape.Outputs, 1))
	groups := map[string]int{}
	names := map[string]bool{}
	train, rows := 0, 0
	for _, fold := range folds {
		train += len(fold.Train)
		rows = max(rows, len(fold.Train)+len(fold.Test))
	}
	for _, s := range list {
		if s.alone || leastsquares.Ridge(s.ridge).Way(rows/2, cols, shape.Filled > 0) != "cholesky" {
			for _, fold := range folds {
				alone := shape
				alone.Rows = len(fold.Train)
				cost := s.ridge.cost(alone, 0)
				sum.Flops += cost.Flops
				sum.Bytes = max(sum.Bytes, cost.Bytes)
			}
			continue
		}
		groups[s.key]++
		sum.Flops += float64(len(folds)) * (d*d*d/3 + 2*d*d*t + 2*float64(rows)/float64(len(folds))*d*t)
	}
	for _, n := range groups {
		sum.Flops += min(2*float64(rows), float64(train)) * d * (d + 2*t)
		if n > 1 {
			names["alpha"] = true
		}
		if 2*rows < train {
			names["folds"] = true
		}
	}
	sum.Width = max(shape.Outputs, 1)
	if len(groups) > 0 { // of the sums of each fold and all rows, the targets' part
		sum.Bytes = max(sum.Bytes, bytesOf(4*d*d+float64(len(folds)+4)*d*t+float64(rows)*t))
	}
	return sum, slices.Sorted(maps.Keys(names))
}

func ridgeFamilyCost(b Batch, list []sweepSetting) (sum datasets.Cost, shared []string) {
	shape, folds, settings := b.Shape, b.Folds, b.Candidates
	rows, t := shape.Rows, float64(max(shape.Outputs, 1))
	b.Memory, b.Wanted = 0, nil
	s := &ridgeFamily{Batch: b, settings: list, shared: map[string]bool{}}
	test, trained := 0, 0
	for _, fold := range folds {
		test += len(fold.Test)
		trained += len(fold.Train)
	}
	trained = min(trained, rows)
	for _, i := range s.plan(rows) {
		for _, fold := range folds {
			alone := datasets.Shape{Rows: len(fold.Train), Cols: settings[i].Width, Outputs: shape.Outputs}
			cost := list[i].ridge.cost(alone, 0)
			sum.Flops += cost.Flops
			sum.Bytes = max(sum.Bytes, cost.Bytes)
		}
	}
	for _, g := range s.groups {
		s.tell(g)
		w := float64(g.width)
		sum.Flops += float64(trained) * w * (w + 2*t)
		sum.Bytes += bytesOf(w * (w + t) * float64(len(s.parts)+4))
		for _, i := range g.members {
			d := float64(settings[i].Width)
			sum.Flops += float64(len(folds))*(d*d*d/3+2*d*d*t) + 2*float64(test)*d*t
		}
	}
	sum.Bytes += bytesOf(float64(test) * t)
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(s.shared))
}
