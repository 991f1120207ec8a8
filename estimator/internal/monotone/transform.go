package monotone

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/model"
)

// Kinds are the names of the transforms.
var Kinds = []string{"none", "log", "signed_log", "sqrt", "power", "quantile", "standardize"}

// Learns reports whether a kind of transform has fitted parameters.
func Learns(kind string) bool { return kind == "quantile" || kind == "standardize" }

// Transform is a fitted increasing function of one number, with its inverse.
type Transform struct {
	kind         string
	shift, scale float64   // of standardize; scale is the exponent of power
	values       []float64 // of quantile: ascending numbers …
	ranks        []float64 // … and their cumulative weight fractions
	residuals    []float64 // ascending residuals of transformed numbers for the mean; nil for the median
	shares       []float64 // weight fraction of each residual
	limits       []float64 // lowest and highest Value; nil for none
}

const (
	maxKnots = 1000 // of quantile

	// maxResiduals is the maximum number of residuals, or of means of neighbors, that are stored.
	maxResiduals = 256
)

// Learn fits a transform of the given kind to numbers with positive weights.
func Learn(kind string, y, weights []float64) *Transform {
	t := &Transform{kind: kind, scale: 1}
	switch kind {
	case "standardize":
		t.standardize(y, weights)
	case "quantile":
		t.values, t.ranks = quantiles(y, weights)
	}
	return t
}

// Power returns the transform ±|y|^exponent, for an exponent above 0.
func Power(exponent float64) *Transform { return &Transform{kind: "power", scale: exponent} }

// Positive reports whether the transform takes numbers above 0 only.
func (t *Transform) Positive() bool { return t.kind == "log" }

// Smear makes Value the mean of the inverse over residuals of transformed numbers. It is exact for
// log, standardize and few residuals, else that over means of neighboring residuals.
func (t *Transform) Smear(r *Residuals) {
	switch {
	case len(r.groups) == 0:
		t.residuals, t.shares = nil, nil
	case t.kind == "log": // the mean of exp(z+e) is exp(z)·mean(exp e)
		t.residuals, t.shares = []float64{r.logMeanExp()}, []float64{1}
	case t.kind == "none", t.kind == "standardize":
		t.residuals, t.shares = []float64{r.all.mean}, []float64{1}
	default:
		t.residuals, t.shares = r.spread()
	}
}

// standardize computes mean and standard deviation.
func (t *Transform) standardize(y, w []float64) {
	total, variance := 0.0, 0.0
	for i, v := range y {
		total += w[i]
		t.shift += w[i] / total * (v - t.shift)
	}
	for i, v := range y {
		variance += w[i] / total * (v - t.shift) * (v - t.shift)
	}
	if t.scale = math.Sqrt(variance); !(t.scale > 0) || math.IsInf(t.scale, 0) {
		t.scale = 1
	}
}

// quantiles returns the distinct values, ascending, and the middle rank of each; at most a
// thousand, at equal steps of rank.
func quantiles(y, w []float64) (values, ranks []float64) {
	order, total := ranked(y, w)
	below := 0.0
	for k := 0; k < len(order); {
		at, v := 0.0, y[order[k]]
		for ; k < len(order) && y[order[k]] == v; k++ {
			at += w[order[k]]
		}
		values, ranks = append(values, v), append(ranks, (below+at/2)/total)
		below += at
	}
	if len(values) <= maxKnots {
		return values, ranks
	}
	first, last := ranks[0], ranks[len(ranks)-1]
	fewer, at := make([]float64, maxKnots), make([]float64, maxKnots)
	for k := range fewer {
		at[k] = first + (last-first)*float64(k)/(maxKnots-1)
		fewer[k] = Interpolate(ranks, values, at[k])
	}
	return increasing(fewer, at)
}

// ranked returns the sort order of the numbers, and the sum of their weights.
func ranked(list, weights []float64) (order []int, total float64) {
	order = make([]int, len(list))
	for i := range order {
		order[i] = i
		total += weights[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	return order, total
}

// increasing removes values that do not increase, due to rounding.
func increasing(values, ranks []float64) (v, r []float64) {
	for k := range values {
		if k == 0 || values[k] > v[len(v)-1] && ranks[k] > r[len(r)-1] {
			v, r = append(v, values[k]), append(r, ranks[k])
		}
	}
	return v, r
}

// Forward is the transform.
func (t *Transform) Forward(y float64) float64 {
	switch t.kind {
	case "log":
		return math.Log(y)
	case "signed_log":
		return math.Copysign(math.Log1p(math.Abs(y)), y)
	case "sqrt":
		return math.Copysign(math.Sqrt(math.Abs(y)), y)
	case "power":
		return math.Copysign(math.Pow(math.Abs(y), t.scale), y)
	case "quantile":
		return math.Sqrt2 * math.Erfinv(2*Interpolate(t.values, t.ranks, y)-1)
	}
	return (y - t.shift) / t.scale
}

// Inverse returns the inverse of the transform at z.
func (t *Transform) Inverse(z float64) float64 {
	switch t.kind {
	case "log":
		return math.Exp(z)
	case "signed_log":
		return math.Copysign(math.Expm1(math.Abs(z)), z)
	case "sqrt":
		return math.Copysign(z*z, z)
	case "power":
		return math.Copysign(math.Pow(math.Abs(z), 1/t.scale), z)
	case "quantile":
		return Interpolate(t.ranks, t.values, 0.5*math.Erfc(-z/math.Sqrt2))
	}
	return t.shift + t.scale*z
}

// Limit bounds Value.
func (t *Transform) Limit(low, high float64) { t.limits = []float64{low, high} }

// Value returns the prediction on the original scale for a prediction z of the inner model.
func (t *Transform) Value(z float64) float64 {
	v := t.unlimited(z)
	if t.limits != nil {
		v = min(max(v, t.limits[0]), t.limits[1])
	}
	return v
}

func (t *Transform) unlimited(z float64) float64 {
	if len(t.residuals) == 0 {
		return t.Inverse(z)
	}
	mean := 0.0
	for k, e := range t.residuals {
		mean += t.shares[k] * t.Inverse(z+e)
	}
	return mean
}

// Deviation is the standard deviation of the inverse of a normal with that mean and deviation.
func (t *Transform) Deviation(z, std float64) float64 {
	v := std * std
	switch t.kind {
	case "none", "standardize":
		return t.scale * std
	case "log":
		return math.Exp(z+v/2) * math.Sqrt(math.Expm1(v))
	}
	// The midpoint rule on ±8 deviations, which for a smooth function of a normal is exact to rounding.
	const steps = 256
	total, mean, square := 0.0, 0.0, 0.0
	for k := range steps {
		u := 16*(float64(k)+0.5)/steps - 8
		w, y := math.Exp(-u*u/2), t.Inverse(z+std*u)
		total += w
		mean, square = mean+w*y, square+w*y*y
	}
	mean, square = mean/total, square/total
	return math.Sqrt(max(square-mean*mean, 0))
}

// State serializes the transform.
func (t *Transform) State(s *model.State) {
	s.String("transform", &t.kind)
	s.Float("shift", &t.shift)
	s.Float("scale", &t.scale)
	s.Floats("values", &t.values)
	s.Floats("ranks", &t.ranks)
	s.Floats("residuals", &t.residuals)
	s.Floats("shares", &t.shares)
	if s.Restoring() && s.Has("limits") || t.limits != nil {
		s.Floats("limits", &t.limits)
		s.Require(len(t.limits) == 2 && t.limits[0] <= t.limits[1] && t.limits[1]-t.limits[0] < math.Inf(1),
			"the limits are not two ascending numbers")
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(slices.Contains(Kinds, t.kind), "the transform is not known")
	s.Require(t.scale > 0 && !math.IsInf(t.scale+t.shift, 0) && !math.IsNaN(t.shift), "the scale is not a number > 0")
	s.Require(len(t.values) == len(t.ranks) && (t.kind != "quantile" || len(t.values) > 0),
		"values and ranks differ in number")
	s.Require(Ascends(t.values) && Ascends(t.ranks), "values or ranks do not rise")
	s.Require(len(t.shares) == len(t.residuals), "residuals and their shares differ in number")
	for _, e := range slices.Concat(t.residuals, t.shares) {
		s.Require(e-e == 0, "a residual is not finite")
	}
}
