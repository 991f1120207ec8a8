package estimator

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// FamilyCost estimates what [Logistic.SweepFamily] costs for two classes beside the mapping of rows,
// and names what it would share.
func (s Logistic) FamilyCost(rows int, folds []datasets.Fold, settings []FamilySetting) (datasets.Cost, []string) {
	return newtonFamilyCost(rows, len(folds), settings)
}

// FamilyCost is [Logistic.FamilyCost].
func (s SVM) FamilyCost(rows int, folds []datasets.Fold, settings []FamilySetting) (datasets.Cost, []string) {
	return newtonFamilyCost(rows, len(folds), settings)
}

// A fit by Newton's method takes about so many passes, and while it waits for a feature from memory so
// many flops of a product of large matrices could be made, two of which the pass makes of it. Both are
// measured.
const passes, waitingFlops = 25, 60

// newtonFamilyCost counts flops at the rate of a product of large matrices: while a pass reads a
// feature from memory, so many could be made, and the products of few problems go at half that rate.
func newtonFamilyCost(rows, folds int, settings []FamilySetting) (sum datasets.Cost, shared []string) {
	const reading, steps = 100, 3 // measured
	perMap, widest := map[int]int{}, map[int]int{}
	held, factors := map[int]int64{}, map[int]float64{}
	for _, s := range settings {
		d := float64(s.Width)
		perMap[s.Map]++
		widest[s.Map] = max(widest[s.Map], s.Width)
		held[s.Map] += 8 * (int64(rows)*int64(folds) + 3*int64(s.Width)*int64(s.Width))
		factors[s.Map] += steps*d*d*d/3 + min(float64(rows), 4*d)*d*d
	}
	n := float64(rows)
	for which, c := range perMap {
		d, problems := float64(widest[which]), float64(c*folds)
		if c*folds < fewAbreast {
			sum.Flops += passes * n * d * problems * waitingFlops
		} else {
			// Problems are done one after the other: a third of them are in a pass.
			sum.Flops += passes * n * d * (reading + 2*4*problems/3)
		}
		sum.Flops += factors[which]
		sum.Bytes = max(sum.Bytes, held[which]+16*int64(rows)*int64(folds))
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
	sum.Bytes += 8 * int64(rows) * int64(most)
	sum.Width = 1
	return sum, slices.Sorted(maps.Keys(names))
}
