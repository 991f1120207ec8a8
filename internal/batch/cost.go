package batch

import (
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/newton"
)

// RidgesCost estimates what [Ridges] costs on rows of a shape, and names what it would share.
func RidgesCost(b Batch, shape datasets.Shape, list []Ridge) (sum datasets.Cost, shared []string) {
	folds := b.Folds
	cols, d, t := shape.Cols, float64(shape.Cols), float64(max(shape.Outputs, 1))
	groups := map[string]int{}
	names := map[string]bool{}
	train, rows := 0, 0
	for _, fold := range folds {
		train += len(fold.Train)
		rows = max(rows, len(fold.Train)+len(fold.Test))
	}
	for _, s := range list {
		if s.Alone || s.Way(rows/2, cols, shape.Filled > 0) != "cholesky" {
			for _, fold := range folds {
				alone := shape
				alone.Rows = len(fold.Train)
				cost := s.Cost(alone, 0)
				sum.Flops += cost.Flops
				sum.Bytes = max(sum.Bytes, cost.Bytes)
			}
			continue
		}
		groups[s.Key]++
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
		sum.Bytes = max(sum.Bytes, design.Bytes(4*d*d+float64(len(folds)+4)*d*t+float64(rows)*t))
	}
	return sum, slices.Sorted(maps.Keys(names))
}

// RidgesMappedCost estimates what [RidgesMapped] costs beside the mapping of rows, and names what it would share.
func RidgesMappedCost(b Batch, shape datasets.Shape, list []Ridge) (sum datasets.Cost, shared []string) {
	folds, settings := b.Folds, b.Features
	rows, t := shape.Rows, float64(max(shape.Outputs, 1))
	b.Memory, b.Wants = math.MaxInt64, func(int, int) bool { return true }
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
			cost := list[i].Cost(alone, 0)
			sum.Flops += cost.Flops
			sum.Bytes = max(sum.Bytes, cost.Bytes)
		}
	}
	for _, g := range s.groups {
		s.tell(g)
		w := float64(g.width)
		sum.Flops += float64(trained) * w * (w + 2*t)
		sum.Bytes += design.Bytes(w * (w + t) * float64(len(s.parts)+4))
		for _, i := range g.members {
			d := float64(settings[i].Width)
			sum.Flops += float64(len(folds))*(d*d*d/3+2*d*d*t) + 2*float64(test)*d*t
		}
	}
	sum.Bytes += design.Bytes(float64(test) * t)
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(s.shared))
}

// NewtonsCost estimates what [Newtons] costs beside the mapping of rows, and names what it would share. It counts flops at the rate of a product of large matrices: while a pass reads a
// feature from memory, so many could be made, and the products of few problems go at half that rate.
func NewtonsCost(b Batch, shape datasets.Shape) (sum datasets.Cost, shared []string) {
	const reading, steps = 100, 3 // measured
	folds := len(b.Folds)
	perMap, widest := map[int]int{}, map[int]int{}
	held, factors := map[int]float64{}, map[int]float64{}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	for _, s := range b.Features {
		d := float64(s.Width)
		perMap[s.Map]++
		widest[s.Map] = max(widest[s.Map], s.Width)
		held[s.Map] += n*float64(folds)*t + 3*d*d + 14*d*t
		factors[s.Map] += steps*d*d*d/3 + min(n, 4*d)*d*d
	}
	for which, c := range perMap {
		d, problems := float64(widest[which]), float64(c*folds)
		if c*folds < fewAbreast || t > 1 {
			alone := datasets.Shape{Rows: shape.Rows, Cols: widest[which], Outputs: shape.Outputs}
			sum.Flops += newton.Passes * design.PassFlops(alone) * problems
		} else {
			// Problems are done one after the other: a third of them are in a pass.
			sum.Flops += newton.Passes * n * d * (reading + 2*4*problems/3)
		}
		sum.Flops += factors[which]
		sum.Bytes = max(sum.Bytes, design.Bytes(held[which]+2*n*float64(folds)))
	}
	names := map[string]bool{}
	most := 0
	for which, c := range perMap {
		if c*folds > 1 {
			names["features"] = true
		}
		if c > 1 {
			names["path"] = true
		}
		most = max(most, widest[which])
	}
	sum.Bytes += design.Bytes(n * float64(most))
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(names))
}
