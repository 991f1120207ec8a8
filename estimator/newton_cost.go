package estimator

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
)

// newtonFamilyCost counts flops at the rate of a product of large matrices: while a pass reads a
// feature from memory, so many could be made, and the products of few problems go at half that rate.
func newtonFamilyCost(shape datasets.Shape, folds int, settings []Candidate) (sum datasets.Cost, shared []string) {
	const reading, steps = 100, 3 // measured
	perMap, widest := map[int]int{}, map[int]int{}
	held, factors := map[int]float64{}, map[int]float64{}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	for _, s := range settings {
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
			sum.Flops += passes * passFlops(alone) * problems
		} else {
			// Problems are done one after the other: a third of them are in a pass.
			sum.Flops += passes * n * d * (reading + 2*4*problems/3)
		}
		sum.Flops += factors[which]
		sum.Bytes = max(sum.Bytes, bytesOf(held[which]+2*n*float64(folds)))
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
	sum.Bytes += bytesOf(n * float64(most))
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(names))
}
