package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/calibration"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
)

// targetMaps is a transform for each target.
type targetMaps []*targetMap

// targetMap is one transform of a target, and what it has learned.
type targetMap struct {
	transform    string
	shift, scale float64   // of standardize
	values       []float64 // of quantile: rising targets …
	ranks        []float64 // … and the shares of weight below them
	residuals    []float64 // of z, rising, to be smeared over; none to predict the median
	shares       []float64 // of the weight, that each residual has
}

const (
	mostKnots     = 1000 // of quantile
	mostResiduals = 256
)

// learnMaps learns the transform of each of count targets, rows × count, from rows with weights.
func learnMaps(transform string, y []float64, count int, weights []float64) targetMaps {
	out := make(targetMaps, count)
	for j := range out {
		m := &targetMap{transform: transform, scale: 1}
		out[j] = m
		if transform != "quantile" && transform != "standardize" {
			continue
		}
		column, w := make([]float64, 0, len(y)/count), make([]float64, 0, len(y)/count)
		for i := j; i < len(y); i += count {
			if weights == nil {
				column, w = append(column, y[i]), append(w, 1)
			} else if weights[i/count] > 0 {
				column, w = append(column, y[i]), append(w, weights[i/count])
			}
		}
		if transform == "standardize" {
			m.standardize(column, w)
		} else {
			m.values, m.ranks = quantiles(column, w)
		}
	}
	return out
}

// standardize learns mean and standard deviation.
func (m *targetMap) standardize(y, w []float64) {
	total, variance := 0.0, 0.0
	for i, v := range y {
		total += w[i]
		m.shift += w[i] / total * (v - m.shift)
	}
	for i, v := range y {
		variance += w[i] / total * (v - m.shift) * (v - m.shift)
	}
	if m.scale = math.Sqrt(variance); !(m.scale > 0) || math.IsInf(m.scale, 0) {
		m.scale = 1
	}
}

// quantiles returns the values that occur in rising order and the middle rank of each, or a thousand values
// at equal steps of rank where there are more.
func quantiles(y, w []float64) (values, ranks []float64) {
	order := make([]int, len(y))
	total := 0.0
	for i := range order {
		order[i] = i
		total += w[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(y[a], y[b]) })
	below := 0.0
	for k := 0; k < len(order); {
		at, v := 0.0, y[order[k]]
		for ; k < len(order) && y[order[k]] == v; k++ {
			at += w[order[k]]
		}
		values, ranks = append(values, v), append(ranks, (below+at/2)/total)
		below += at
	}
	if len(values) <= mostKnots {
		return values, ranks
	}
	first, last := ranks[0], ranks[len(ranks)-1]
	fewer, at := make([]float64, mostKnots), make([]float64, mostKnots)
	for k := range fewer {
		at[k] = first + (last-first)*float64(k)/(mostKnots-1)
		fewer[k] = calibration.Interpolate(ranks, values, at[k])
	}
	return rising(fewer, at)
}

// rising leaves out values that do not rise, as rounding may have it.
func rising(values, ranks []float64) (v, r []float64) {
	for k := range values {
		if k == 0 || values[k] > v[len(v)-1] && ranks[k] > r[len(r)-1] {
			v, r = append(v, values[k]), append(r, ranks[k])
		}
	}
	return v, r
}

// forward is the transform.
func (m *targetMap) forward(y float64) float64 {
	switch m.transform {
	case "log":
		return math.Log(y)
	case "signed_log":
		return math.Copysign(math.Log1p(math.Abs(y)), y)
	case "sqrt":
		return math.Copysign(math.Sqrt(math.Abs(y)), y)
	case "quantile":
		return math.Sqrt2 * math.Erfinv(2*calibration.Interpolate(m.values, m.ranks, y)-1)
	}
	return (y - m.shift) / m.scale
}

// inverse is the way back.
func (m *targetMap) inverse(z float64) float64 {
	switch m.transform {
	case "log":
		return math.Exp(z)
	case "signed_log":
		return math.Copysign(math.Expm1(math.Abs(z)), z)
	case "sqrt":
		return math.Copysign(z*z, z)
	case "quantile":
		return calibration.Interpolate(m.ranks, m.values, 0.5*math.Erfc(-z/math.Sqrt2))
	}
	return m.shift + m.scale*z
}

// value is what is predicted where the model within predicts z.
func (m *targetMap) value(z float64) float64 {
	if len(m.residuals) == 0 {
		return m.inverse(z)
	}
	mean := 0.0
	for k, e := range m.residuals {
		mean += m.shares[k] * m.inverse(z+e)
	}
	return mean
}

// deviation is the standard deviation of the inverse of a normal with that mean and deviation.
func (m *targetMap) deviation(z, std float64) float64 {
	v := std * std
	switch m.transform {
	case "standardize":
		return m.scale * std
	case "log":
		return math.Exp(z+v/2) * math.Sqrt(math.Expm1(v))
	}
	// The midpoint rule on ±8 deviations, which for a smooth function of a normal is exact to rounding.
	const steps = 256
	total, mean, square := 0.0, 0.0, 0.0
	for k := range steps {
		u := 16*(float64(k)+0.5)/steps - 8
		w, y := math.Exp(-u*u/2), m.inverse(z+std*u)
		total += w
		mean, square = mean+w*y, square+w*y*y
	}
	mean, square = mean/total, square/total
	return math.Sqrt(max(square-mean*mean, 0))
}

var errNotPositive = errors.New("log takes numbers > 0; signed_log takes all")

// block returns rows with transformed targets.
func (m targetMaps) block(data datasets.Set) (datasets.Set, error) {
	out := data
	if data.Targets == nil {
		if len(m) != 1 {
			return out, fmt.Errorf("one target, %d were expected", len(m))
		}
		out.Y = make([]float64, len(data.Y))
		for i, y := range data.Y {
			z, err := m[0].checked(y, data, i, 0)
			if err != nil {
				return out, err
			}
			out.Y[i] = z
		}
		return out, nil
	}
	n, t := data.Targets.Dims()
	if t != len(m) {
		return out, fmt.Errorf("%d targets, %d were expected", t, len(m))
	}
	out.Targets = mat.NewDense(n, t, nil)
	for i := range n {
		for j := range t {
			z, err := m[j].checked(data.Targets.At(i, j), data, i, j)
			if err != nil {
				return out, err
			}
			out.Targets.Set(i, j, z)
		}
	}
	return out, nil
}

// checked is forward, or the error of a target that the transform does not take.
func (m *targetMap) checked(y float64, data datasets.Set, row, target int) (float64, error) {
	if m.transform == "log" && !(y > 0) {
		name := "target"
		if target < len(data.Schema.Targets) && data.Schema.Targets[target].Name != "" {
			name = data.Schema.Targets[target].Name
		}
		return 0, data.Locate(&datasets.RowError{Row: row, Column: name, Err: fmt.Errorf("%v, and %w", y, errNotPositive)}, 0)
	}
	return m.forward(y), nil
}

// back turns a prediction back. A value that is too large to be one is an error.
func (m targetMaps) back(p estimator.Prediction) (estimator.Prediction, error) {
	if len(m) == 0 || p.Targets != nil && !p.Targets.IsEmpty() && p.Targets.RawMatrix().Cols != len(m) {
		return p, errors.New("the model predicts another number of targets")
	}
	out := estimator.Prediction{Values: make([]float64, len(p.Values))}
	if p.Std != nil {
		out.Std = make([]float64, len(p.Std))
	}
	for i, z := range p.Values {
		out.Values[i] = m[0].value(z)
		finite := out.Values[i]
		if p.Std != nil {
			out.Std[i] = m[0].deviation(z, p.Std[i])
			finite += out.Std[i]
		}
		if err := tooLarge(i, finite); err != nil {
			return p, err
		}
	}
	if p.Targets == nil || p.Targets.IsEmpty() {
		out.Targets = p.Targets
		return out, nil
	}
	n, t := p.Targets.Dims()
	out.Targets = mat.NewDense(n, t, nil)
	for i := range n {
		for j := range t {
			v := m[j].value(p.Targets.At(i, j))
			if err := tooLarge(i, v); err != nil {
				return p, err
			}
			out.Targets.Set(i, j, v)
		}
	}
	return out, nil
}

func tooLarge(row int, v float64) error {
	if v-v == 0 {
		return nil
	}
	return &datasets.RowError{Row: row, Err: errors.New("the prediction, turned back from the transformed target, is too large to be a number")}
}

// smear keeps the residuals of the fitted model on the rows that it has learned from.
func (m targetMaps) smear(ctx context.Context, fitted estimator.Predictor, mapped datasets.Source) error {
	residuals, weights := make([][]float64, len(m)), []float64(nil)
	err := mapped.Blocks(ctx, func(block datasets.Set) error {
		all, err := estimator.Predict(ctx, fitted, block.X)
		if err != nil {
			return err
		}
		y, count, err := design.BlockTargets(0, block)
		if err != nil {
			return err
		}
		for i := range block.Rows() {
			w := 1.0
			if block.Weights != nil {
				w = block.Weights[i]
			}
			if w == 0 {
				continue
			}
			weights = append(weights, w)
			for j := range m {
				z := all.Values[i]
				if all.Targets != nil {
					z = all.Targets.At(i, j)
				}
				residuals[j] = append(residuals[j], y[i*count+j]-z)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for j := range m {
		m[j].residuals, m[j].shares = spread(residuals[j], weights)
	}
	return nil
}

// spread returns the numbers that occur, in rising order, with their shares of the weight, or so many
// quantiles at equal steps where there are more.
func spread(list, weights []float64) (values, shares []float64) {
	order, total := make([]int, len(list)), 0.0
	for i := range order {
		order[i] = i
		total += weights[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	for _, i := range order {
		if k := len(values) - 1; k >= 0 && values[k] == list[i] {
			shares[k] += weights[i] / total
		} else {
			values, shares = append(values, list[i]), append(shares, weights[i]/total)
		}
	}
	if len(values) <= mostResiduals {
		return values, shares
	}
	fewer, below := make([]float64, 0, mostResiduals), 0.0
	for k, v := range values {
		below += shares[k]
		for len(fewer) < mostResiduals && (float64(len(fewer))+0.5)/mostResiduals <= below {
			fewer = append(fewer, v)
		}
	}
	return fewer, slices.Repeat([]float64{1 / float64(len(fewer))}, len(fewer))
}

// state keeps the maps, and reads them into to.
func (m targetMaps) state(s *model.State, to *targetMaps) {
	count := len(m)
	s.Int("targets", &count)
	if s.Reading() {
		if s.Require(count >= 1 && count <= 1<<16, "the number of targets is none"); s.Err() != nil {
			return
		}
		m = make(targetMaps, count)
		for j := range m {
			m[j] = &targetMap{}
		}
		*to = m
	}
	for j, one := range m {
		if s.Err() != nil {
			return
		}
		one.state(s.Child(fmt.Sprintf("target%d", j)))
	}
}

func (m *targetMap) state(s *model.State) {
	s.String("transform", &m.transform)
	s.Float("shift", &m.shift)
	s.Float("scale", &m.scale)
	s.Floats("values", &m.values)
	s.Floats("ranks", &m.ranks)
	s.Floats("residuals", &m.residuals)
	s.Floats("shares", &m.shares)
	if !s.Reading() || s.Err() != nil {
		return
	}
	s.Require(slices.Contains([]string{"log", "signed_log", "sqrt", "quantile", "standardize"}, m.transform), "the transform is not known")
	s.Require(m.scale > 0 && !math.IsInf(m.scale+m.shift, 0) && !math.IsNaN(m.shift), "the scale is not a number > 0")
	s.Require(len(m.values) == len(m.ranks) && (m.transform != "quantile" || len(m.values) > 0), "values and ranks differ in number")
	s.Require(ascends(m.values) && ascends(m.ranks), "values or ranks do not rise")
	s.Require(len(m.shares) == len(m.residuals), "residuals and their shares differ in number")
	for _, e := range slices.Concat(m.residuals, m.shares) {
		s.Require(e-e == 0, "a residual is not finite")
	}
}

// ascends reports whether numbers rise, all of them finite.
func ascends(list []float64) bool {
	for i, v := range list {
		if v-v != 0 || i > 0 && !(v > list[i-1]) {
			return false
		}
	}
	return true
}
