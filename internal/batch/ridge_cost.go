package batch

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/leastsquares"
)

// RidgesCost estimates what [Ridges] costs on rows of a shape, and names what it would share.
func RidgesCost(b Batch, shape datasets.Shape, list []Ridge) (sum datasets.Cost, shared []string) {
	folds := b.Folds
	cols, d, t := shape.Cols, float64(shape.Cols), float64(max(shape.Outputs, 1))
	groups := map[string]int{}
	names, paths := map[string]bool{}, map[string]bool{}
	train, rows := 0, 0
	for _, fold := range folds {
		train += len(fold.Train)
		rows = max(rows, len(fold.Train)+len(fold.Test))
	}
	for _, s := range list {
		if s.Alone || s.SharedWay(rows/2, cols, shape.Filled > 0) != "cholesky" {
			if !s.Alone && s.Alpha > 0 && shape.Filled > 0 && rows < cols && s.Way(rows/2, cols, true) == "cg" {
				key := fmt.Sprint(s.Key, s.Tol, s.MaxIter)
				if paths[key] {
					names["alpha"] = true // its steps are those of another
					continue
				}
				paths[key] = true
			}
			for _, fold := range folds {
				one := shape
				one.Rows = len(fold.Train)
				cost := s.Cost(one, 0)
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
	folds, candidates := b.Folds, b.Features
	rows, t := shape.Rows, float64(max(shape.Outputs, 1))
	b.Memory, b.Wants = math.MaxInt64, func(int, int) bool { return true }
	s := &mappedRidges{Batch: b, candidates: list, shared: map[string]bool{}}
	test, trained := 0, 0
	for _, fold := range folds {
		test += len(fold.Test)
		trained += len(fold.Train)
	}
	trained = min(trained, rows)
	for _, i := range s.plan(rows) {
		for _, fold := range folds {
			one := datasets.Shape{Rows: len(fold.Train), Cols: candidates[i].Width, Outputs: shape.Outputs}
			cost := list[i].Cost(one, 0)
			sum.Flops += cost.Flops

			sum.Bytes = max(sum.Bytes, cost.Bytes)
		}
	}
	for _, g := range s.groups {
		s.noteShared(g)
		w := float64(g.width)
		sum.Flops += float64(trained) * w * (w + 2*t)
		sum.Bytes += design.Bytes(w * t * float64(len(s.parts)+4))
		systems := map[int]bool{}
		for _, i := range g.members {
			d, alphas := float64(candidates[i].Width), g.count(candidates, candidates[i].Width)
			sum.Flops += float64(len(folds))*leastsquares.PathFlops(candidates[i].Width, alphas, int(t), !systems[candidates[i].Width]) + 2*float64(test)*d*t
			systems[candidates[i].Width] = true
		}
	}
	sum.Bytes += s.bytes(s.groups...)
	cores, widest := runtime.GOMAXPROCS(0), 0
	for _, g := range s.groups {
		widest = max(widest, g.width)
	}
	// Parts are mapped side by side, folds are scored so: a further tile of features and angles for each, and their scores.
	tiles, scored := min(cores, len(s.parts)), min(cores, len(folds))
	sum.Bytes += design.Bytes(float64(max(tiles-1, 0)) * 2 * float64(s.rowsAtOnce()) * float64(widest))
	sum.Bytes += design.Bytes(float64(test)*t + 2*float64(test*len(list)*scored)*t/float64(len(folds)))
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(s.shared))
}

// bytes returns those of the matrices of groups that are done at once: the sums of each part, for each core that of a fold,
// a corner of it, and a factor, or what a band is made in. Of the group that is solved first folds may keep theirs for
// refinements, when its parts are still there; later ones take the place of those parts.
func (s *mappedRidges) bytes(groups ...*ridgeGroup) (sum int64) {
	cores, most := int64(runtime.GOMAXPROCS(0)), int64(0)
	for _, g := range groups {
		whole, corner := int64(g.width)*int64(g.width), int64(g.below)*int64(g.below)
		sum += 8 * whole * int64(len(s.parts))
		most = max(most, 8*(whole*(int64(len(s.Folds))+2*cores)+corner*(int64(len(s.Folds))+cores)))
	}
	return sum + most
}
