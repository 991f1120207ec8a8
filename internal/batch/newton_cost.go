package batch

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/newton"
)

// NewtonsCost estimates what [Newtons] costs beside the mapping of rows, and names what it would share. To read a feature in a pass
// is other work, and the products of few problems go at half the rate of large ones.
func NewtonsCost(b Batch, shape datasets.Shape) (sum datasets.Cost, shared []string) {
	const reading, problem, steps = 27, 4.3, 3 // measured
	const single = 0.6                         // of reading in double precision
	const started = 0.55                       // of the passes takes a solution that begins where a pilot or another one has led
	folds := len(b.Folds)
	perMap, widest, apart := map[int]int{}, map[int]int{}, map[int]float64{}
	bytes, factors := map[int]float64{}, map[int]float64{}
	n, t := float64(shape.Rows), float64(max(shape.Outputs, 1))
	for _, s := range b.Features {
		d := float64(s.Width)
		perMap[s.Map]++
		widest[s.Map] = max(widest[s.Map], s.Width)
		apart[s.Map] += started * newton.PassesFlops(datasets.Shape{Rows: shape.Rows, Cols: s.Width, Outputs: shape.Outputs}) * float64(folds)
		bytes[s.Map] += n*float64(folds)*t + 3*d*d + 14*d*t
		factors[s.Map] += steps * d * d * d / 3
	}
	for _, s := range b.Features {
		if d := float64(s.Width); s.Width == widest[s.Map] { // the sums of others are parts of these
			factors[s.Map] += min(n, 4*d) * d * d
		}
	}
	for which, c := range perMap {
		d, problems := float64(widest[which]), float64(c*folds)
		read := 1.0
		if _, narrow := cached(max(shape.Rows, 0), widest[which]); narrow {
			read = single
		}
		if c*folds < fewTogether || t > 1 {
			sum.Flops += read * apart[which]
		} else {
			passes := started * newton.Passes * n * d
			sum.Flops += passes * (read*reading + problem*problems)
		}
		sum.Flops += factors[which]
		sum.Bytes = max(sum.Bytes, design.Bytes(bytes[which]+2*n*float64(folds)))
	}
	names := map[string]bool{}
	most := 0
	for which, c := range perMap {
		if c*folds > 1 {
			names["features"] = true
		}
		most = max(most, widest[which])
	}
	features, _ := cached(max(shape.Rows, 0), most)
	sum.Bytes += features
	sum.Width = max(shape.Outputs, 1)
	return sum, slices.Sorted(maps.Keys(names))
}
