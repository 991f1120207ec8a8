package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/sparse"
)

// Gamma is the width parameter γ of a kernel, the larger the narrower: a positive number, one for
// each column ([FixedGamma]), or a rule that finds one from the training rows.
//
// [GammaScale] uses the variance of all entries of the training matrix, var (scikit-learn's
// X.var(), not the mean of the columns' variances), and the number of columns d. [GammaMedian] uses
// the median distance of two rows, med, over the pairs of 512 rows drawn by the seed; equal rows
// are left out. Distances are in the norm of the kernel.
//
//	kernel                              norm  scale          median
//	gaussian, rational_quadratic        L2    1/(d·var)      1/(2·med²)
//	exponential, matern, cauchy         L2    1/sqrt(d·var)  1/med
//	custom of an RFF                    L2    1/sqrt(d·var)  1/med
//	laplacian, hyperbolic, triangular,
//	smooth, custom of a Binning         L1    1/(d·sd)       1/med
//
// Where all rows are equal, γ is 1.
type Gamma struct {
	rule   string // scale, median or none
	values []float64
}

// The rules for γ.
var (
	GammaScale  = Gamma{rule: "scale"}
	GammaMedian = Gamma{rule: "median"}
)

// FixedGamma is one γ for all columns, or one for each.
func FixedGamma(values ...float64) Gamma { return Gamma{values: slices.Clone(values)} }

var _ param.Value = (*Gamma)(nil)

// Fixed returns the numbers, none where γ is found by a rule.
func (g Gamma) Fixed() []float64 { return slices.Clone(g.values) }

// Rule returns scale or median, or "" where γ is fixed.
func (g Gamma) Rule() string { return g.rule }

// Set takes a positive number, a list of them, or the name of a rule.
func (g *Gamma) Set(plain any) error {
	next := Gamma{}
	switch v := plain.(type) {
	case string:
		next.rule = v
	case int:
		next.values = []float64{float64(v)}
	case float64:
		next.values = []float64{v}
	case []any:
		for _, e := range v {
			var one Gamma
			if err := one.Set(e); err != nil || len(one.values) != 1 {
				return errors.New(g.Wanted())
			}
			next.values = append(next.values, one.values[0])
		}
	}
	*g = next
	return g.Check()
}

// Plain returns the number, the list or the name.
func (g *Gamma) Plain() any {
	switch {
	case g.rule != "":
		return g.rule
	case len(g.values) == 1:
		return g.values[0]
	}
	list := make([]any, len(g.values))
	for j, v := range g.values {
		list[j] = v
	}
	return list
}

// Wanted says what Set takes.
func (g *Gamma) Wanted() string {
	return "a number > 0, a list of them (one for each column), scale or median"
}

// Check reports numbers that are not positive and names that are no rules.
func (g *Gamma) Check() error {
	for j, v := range g.values {
		if !param.Positive.Contains(v) {
			if len(g.values) == 1 {
				return errors.New(g.Wanted())
			}
			return param.Fault{Wanted: g.Wanted(), Hint: fmt.Sprintf("element %d is %v", j, v)}
		}
	}
	switch {
	case g.rule == "" && len(g.values) > 0, g.rule == "scale", g.rule == "median":
		return nil
	}
	if near := param.Nearest(g.rule, []string{"scale", "median"}); near != "" && g.rule != "" {
		return param.Fault{Wanted: g.Wanted(), Hint: "did you mean " + near + "?"}
	}
	return errors.New(g.Wanted())
}

// resolve returns γ for each column of the source, which it reads for a rule only.
func (g Gamma) resolve(ctx context.Context, step string, k kernel, src datasets.Source, seed uint64) ([]float64, error) {
	width, err := widthOf(ctx, step, src)
	if err != nil {
		return nil, err
	}
	switch {
	case g.rule == "scale":
		v, err := scaleGamma(ctx, step, k, src)
		return slices.Repeat([]float64{v}, width), err
	case g.rule == "median":
		v, err := medianGamma(ctx, step, k, src, seed)
		return slices.Repeat([]float64{v}, width), err
	case len(g.values) == 1:
		return slices.Repeat(g.values, width), nil
	case len(g.values) != width:
		return nil, fmt.Errorf("transformer: %s: gamma has %d numbers, the data %d columns", step, len(g.values), width)
	}
	return slices.Clone(g.values), nil
}

// factors returns γ_j^power: the scale of input j under the kernel.
func (k kernel) factors(gamma []float64) []float64 {
	out := make([]float64, len(gamma))
	for j, g := range gamma {
		out[j] = g
		if k.power != 1 {
			out[j] = math.Pow(g, k.power)
		}
	}
	return out
}

// scaleGamma reads src once for the variance of all entries.
func scaleGamma(ctx context.Context, step string, k kernel, src datasets.Source) (float64, error) {
	m, _, err := columnMoments(ctx, step, src, false)
	if err != nil {
		return 0, err
	}
	all := newMoments(1)
	for j := range m.count {
		all.merge(&moments{count: m.count[j : j+1], mean: m.mean[j : j+1], square: m.square[j : j+1]})
	}
	sd, d := all.deviation(0), float64(len(m.count))
	switch {
	case sd == 0:
		return 1, nil
	case k.power == 0.5:
		return usable(1 / (d * sd * sd)), nil
	case k.l1:
		return usable(1 / (d * sd)), nil
	}
	return usable(1 / (math.Sqrt(d) * sd)), nil
}

// usable replaces what only numbers at the end of the range lead to.
func usable(gamma float64) float64 {
	return min(max(gamma, math.SmallestNonzeroFloat64), math.MaxFloat64)
}

// sampleSize is the number of rows whose distances the median rule looks at.
const sampleSize = 512

// medianGamma reads src once for a sample of rows.
func medianGamma(ctx context.Context, step string, k kernel, src datasets.Source, seed uint64) (float64, error) {
	points, err := sample(ctx, step, src, seed)
	if err != nil {
		return 0, err
	}
	var distances []float64
	for i, p := range points {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for _, q := range points[:i] {
			if d := p.distance(q, k.l1); d > 0 {
				distances = append(distances, d)
			}
		}
	}
	if len(distances) == 0 {
		return 1, nil
	}
	sort.Float64s(distances)
	n := len(distances)
	median := between(distances[(n-1)/2], distances[n/2], 0.5)
	if k.power == 0.5 {
		return usable(1 / (2 * median * median)), nil
	}
	return usable(1 / median), nil
}

// point is a row; columns is nil where all values are there.
type point struct {
	columns []uint32
	values  []float64
}

// sample draws sampleSize rows, all where there are fewer: Vitter's algorithm R (1985).
func sample(ctx context.Context, step string, src datasets.Source, seed uint64) ([]point, error) {
	rng := newStream()
	rng.at(seed, sampleRows, 0)
	var points []point
	_, err := fold(ctx, step, src, false, func(first int, X mat.Matrix) error {
		n, _ := X.Dims()
		for i := range n {
			at := first + i
			if at >= sampleSize {
				at = rng.IntN(first + i + 1)
			}
			switch {
			case at >= sampleSize:
			case at == len(points):
				points = append(points, pointOf(X, i))
			default:
				points[at] = pointOf(X, i)
			}
		}
		return nil
	})
	return points, err
}

func pointOf(X mat.Matrix, i int) point {
	m, ok := X.(*sparse.CSR)
	if !ok {
		return point{values: slices.Clone(X.(*mat.Dense).RawRowView(i))}
	}
	columns, values := m.Row(i)
	if shared, ok := m.Shared(); ok {
		values = slices.Repeat([]float64{shared}, len(columns))
	}
	return point{columns: append([]uint32{}, columns...), values: slices.Clone(values)}
}

// distance returns ‖p − q‖₁ or ‖p − q‖₂.
func (p point) distance(q point, l1 bool) float64 {
	sum := 0.0
	add := func(delta float64) {
		if l1 {
			sum += math.Abs(delta)
		} else {
			sum += delta * delta
		}
	}
	switch {
	case p.columns == nil && q.columns == nil:
		for j, v := range p.values {
			add(v - q.values[j])
		}
	case p.columns == nil || q.columns == nil:
		a, b := p, q
		if a.columns != nil {
			a, b = b, a
		}
		for j, v := range a.values {
			if k, ok := slices.BinarySearch(b.columns, uint32(j)); ok {
				v -= b.values[k]
			}
			add(v)
		}
	default:
		p.merge(q, add)
	}
	if l1 {
		return sum
	}
	return math.Sqrt(sum)
}

// merge calls add with the difference in every column that one of two sparse rows stores.
func (p point) merge(q point, add func(delta float64)) {
	i, k := 0, 0
	for i < len(p.columns) || k < len(q.columns) {
		switch {
		case k == len(q.columns) || i < len(p.columns) && p.columns[i] < q.columns[k]:
			add(p.values[i])
			i++
		case i == len(p.columns) || q.columns[k] < p.columns[i]:
			add(-q.values[k])
			k++
		default:
			add(p.values[i] - q.values[k])
			i++
			k++
		}
	}
}
