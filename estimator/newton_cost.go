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

// newtonFamilyCost counts flops at the rate of a product of large matrices: a pass of problems
// abreast packs more than it computes, one of a problem by itself waits for memory.
func newtonFamilyCost(rows, folds int, settings []FamilySetting) (sum datasets.Cost, shared []string) {
	const passes, packing, waiting = 16, 2.2, 8
	type kind struct{ which, width int }
	count := map[kind]int{}
	perMap, widest := map[int]int{}, map[int]int{}
	for _, s := range settings {
		count[kind{s.Map, s.Width}]++
		perMap[s.Map]++
		widest[s.Map] = max(widest[s.Map], s.Width)
	}
	n := float64(rows)
	for k, c := range count {
		d, problems := float64(k.width), float64(c*folds)
		rate := packing * (1 + 9/problems) // measured
		if c*folds < fewAbreast {
			rate = waiting
		}
		sum.Flops += passes*4*n*d*problems*rate + min(n, 4*d)*d*d + 2*float64(c)*d*d*d/3
		sum.Bytes = max(sum.Bytes, 8*(int64(rows)*int64(c*folds+2*folds)+3*int64(c)*int64(k.width)*int64(k.width)))
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
