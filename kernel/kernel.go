// Package kernel holds how wide a shift-invariant kernel is: [Gamma], a number, a number for each input, or
// the rule by which training rows tell it. Steps that make features of a kernel and models that take it
// exactly have the same parameter, and find the same width for the same rows.
package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/suggest"
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
				return errors.New(g.Constraint())
			}
			next.values = append(next.values, one.values[0])
		}
	}
	*g = next
	return g.Check()
}

// Plain returns the number, the list or the name.
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

// Constraint says what Set takes.
func (g *Gamma) Constraint() string {
	return "a number > 0, a list of them (one for each column), scale or median"
}

// Check reports numbers that are not positive and names that are no rules.
func (g *Gamma) Check() error {
	for j, v := range g.values {
		if !param.Positive.Contains(v) {
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

// Of returns γ for each of width columns; found tells the one γ of all columns by a rule, and is asked
// where g is a rule only.
func (g Gamma) Of(width int, found func(rule string) (float64, error)) ([]float64, error) {
	switch {
	case g.rule != "":
		v, err := found(g.rule)
		return slices.Repeat([]float64{v}, width), err
	case len(g.values) == 1:
		return slices.Repeat(g.values, width), nil
	case len(g.values) != width:
		return nil, fmt.Errorf("gamma has %d numbers, the data %d columns", len(g.values), width)
	}
	return slices.Clone(g.values), nil
}
