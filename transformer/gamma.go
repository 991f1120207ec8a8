package transformer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/param"
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
func (g Gamma) resolve(ctx context.Context, step string, k spectral.Kernel, src datasets.Source, seed uint64) ([]float64, error) {
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

// scaleGamma reads src once for the variance of all entries.
func scaleGamma(ctx context.Context, step string, k spectral.Kernel, src datasets.Source) (float64, error) {
	m, _, err := columnMoments(ctx, step, src, false)
	if err != nil {
		return 0, err
	}
	all := newMoments(1)
	for j := range m.count {
		all.merge(&moments{count: m.count[j : j+1], mean: m.mean[j : j+1], square: m.square[j : j+1]})
	}
	return k.GammaOfScale(len(m.count), all.deviation(0)), nil
}

// medianGamma reads src once for a sample of rows.
func medianGamma(ctx context.Context, step string, k spectral.Kernel, src datasets.Source, seed uint64) (float64, error) {
	sample := spectral.NewSample(seed)
	_, err := fold(ctx, step, src, false, func(_ int, X mat.Matrix) error {
		sample.Add(X)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return k.GammaOfSample(ctx, sample)
}
