// Package kernel defines the kernels of maps and exact models: their names, their width parameter γ
// ([Gamma]), products and sums of kernels of columns ([Product], [Sum]), and kernels that are Go
// functions ([Register]).
//
// A map and an exact model of the same kernel have the same γ on the same rows. [Matrix] computes a
// kernel matrix without a fit.
package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Gamma is the inverse width γ of a kernel: a positive number, one per column ([FixedGamma]), or a
// rule that estimates it from the training rows.
//
// [GammaScale] uses the variance var of all entries of the training matrix (scikit-learn's X.var(),
// not the mean of the column variances) and the number of columns d. [GammaMedian] uses the median
// distance med of the pairs among 512 seeded rows, without equal pairs. Distances are in the norm
// of the kernel.
//
//	kernel                              norm  scale          median
//	gaussian, rational_quadratic,
//	polynomial                          L2    1/(d·var)      1/(2·med²)
//	exponential, powered_exponential,
//	matern, cauchy                      L2    1/sqrt(d·var)  1/med
//	custom of an RFF                    L2    1/sqrt(d·var)  1/med
//	laplacian, chi2, hyperbolic, triangular,
//	smooth, custom of a Binning         L1    1/(d·sd)       1/med
//
// Rows of weight 0 are excluded; all other weights count as 1. If all rows are equal, γ is 1. The cosine kernel has no γ.
type Gamma struct {
	rule   string // scale, median or none
	values []float64
}

// GammaScale returns the rule of the variances of the columns.
func GammaScale() Gamma { return Gamma{rule: "scale"} }

// GammaMedian returns the rule of the median distance.
func GammaMedian() Gamma { return Gamma{rule: "median"} }

// FixedGamma returns a fixed γ: one value for all columns, or one per column.
func FixedGamma(values ...float64) Gamma { return Gamma{values: slices.Clone(values)} }

var _ param.Value = (*Gamma)(nil)

// Fixed returns the fixed values; nil for a rule.
func (g Gamma) Fixed() []float64 { return slices.Clone(g.values) }

// Rule returns "scale" or "median"; "" for fixed values.
func (g Gamma) Rule() string { return g.rule }

// Set parses a positive number, a list of positive numbers, or the name of a rule.
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
				return errors.New(g.Constraint())
			}
			next.values = append(next.values, one.values[0])
		}
	}
	*g = next
	return g.Check()
}

// Get returns the number, the list or the name.
func (g *Gamma) Get() any {
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

// Constraint describes the values that Set accepts.
func (g *Gamma) Constraint() string {
	return "a number > 0, a list of them (one for each column), scale or median"
}

// Check returns an error for values that are not positive and for unknown rules.
func (g *Gamma) Check() error {
	for j, v := range g.values {
		if !param.Positive().Contains(v) {
			if len(g.values) == 1 {
				return errors.New(g.Constraint())
			}
			return param.FieldError{Constraint: g.Constraint(), Hint: fmt.Sprintf("element %d is %v", j, v)}
		}
	}
	switch {
	case g.rule == "" && len(g.values) > 0, g.rule == "scale", g.rule == "median":
		return nil
	}
	if near := suggest.Nearest(g.rule, []string{"scale", "median"}); near != "" && g.rule != "" {
		return param.FieldError{Constraint: g.Constraint(), Hint: "did you mean " + near + "?"}
	}
	return errors.New(g.Constraint())
}

// Resolve returns γ for each of width columns. It calls estimate only if g is a rule; the result
// then applies to all columns. It returns an error unless g has 1 or width values.
func (g Gamma) Resolve(width int, estimate func(rule string) (float64, error)) ([]float64, error) {
	switch {
	case g.rule != "":
		v, err := estimate(g.rule)
		return slices.Repeat([]float64{v}, width), err
	case len(g.values) == 1:
		return slices.Repeat(g.values, width), nil
	case len(g.values) != width:
		return nil, fmt.Errorf("gamma must have 1 or %d values, got %d", width, len(g.values))
	}
	return slices.Clone(g.values), nil
}
