package meta

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Costs are misclassification costs for [Threshold]. The zero value means no costs. As a parameter
// they are {false_positive: 1, false_negative: 5} for two classes, or a map of true class to
// predicted class to cost: {healthy: {ill: 1}, ill: {healthy: 50}}. Unnamed costs are 1 for errors
// and 0 for correct predictions.
type Costs struct {
	// FalsePositive is the cost of predicting the second of two classes for a row of the first,
	// FalseNegative that of the opposite error.
	FalsePositive, FalseNegative float64
	// Of is the cost by true class and predicted class. Unnamed costs are 1, and 0 for the correct
	// class.
	Of map[string]map[string]float64
}

const falsePositive, falseNegative = "false_positive", "false_negative"

// defined reports whether costs are defined.
func (c Costs) defined() bool { return c.Of != nil || c.FalsePositive != 0 || c.FalseNegative != 0 }

// names returns the classes that have costs, in order.
func (c Costs) names() []string {
	named := map[string]bool{}
	for truth, row := range c.Of {
		named[truth] = true
		for predicted := range row {
			named[predicted] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// Set takes a map with false_positive and false_negative, a map of classes to maps, or none.
func (c *Costs) Set(plain any) error {
	if plain == nil || plain == "none" {
		*c = Costs{}
		return nil
	}
	given, ok := plain.(map[string]any)
	if !ok || len(given) == 0 {
		return errors.New(c.Constraint())
	}
	out, wrong := Costs{}, []string(nil)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		row, nested := given[key].(map[string]any)
		if !nested {
			continue
		}
		if out.Of == nil {
			out.Of = map[string]map[string]float64{}
		}
		out.Of[key] = map[string]float64{}
		for _, predicted := range slices.Sorted(maps.Keys(row)) {
			cost, ok := costOf(row[predicted])
			if out.Of[key][predicted] = cost; !ok {
				wrong = append(wrong, fmt.Sprintf("the cost of %q for %q is %v", predicted, key, row[predicted]))
			}
		}
	}
	if out.Of == nil {
		out.FalsePositive, out.FalseNegative = 1, 1
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if _, nested := given[key].(map[string]any); nested {
			continue
		}
		to := map[string]*float64{falsePositive: &out.FalsePositive, falseNegative: &out.FalseNegative}[key]
		if to == nil {
			text := fmt.Sprintf("%q has no costs of predictions", key)
			if near := suggest.Nearest(key, []string{falsePositive, falseNegative}); near != "" {
				text = fmt.Sprintf("nothing is called %q, did you mean %s?", key, near)
			}
			wrong = append(wrong, text)
			continue
		}
		cost, ok := costOf(given[key])
		if *to = cost; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is %v", key, given[key]))
		}
	}
	if len(wrong) > 0 {
		return param.FieldError{Constraint: c.Constraint(), Hint: strings.Join(wrong, "; ")}
	}
	if err := out.Check(); err != nil {
		return err
	}
	*c = out
	return nil
}

func costOf(plain any) (cost float64, ok bool) {
	switch v := plain.(type) {
	case int:
		cost = float64(v)
	case float64:
		cost = v
	default:
		return 0, false
	}
	return cost, cost >= 0 && !math.IsInf(cost, 0)
}

// Get returns the costs as Set takes them.
func (c *Costs) Get() any {
	switch {
	case !c.defined():
		return "none"
	case c.Of == nil:
		return map[string]any{falsePositive: c.FalsePositive, falseNegative: c.FalseNegative}
	}
	out := make(map[string]any, len(c.Of))
	for truth, row := range c.Of {
		costs := make(map[string]any, len(row))
		for predicted, cost := range row {
			costs[predicted] = cost
		}
		out[truth] = costs
	}
	return out
}

// Constraint describes the values that Set accepts.
func (c *Costs) Constraint() string {
	return "none, false_positive and false_negative with a cost ≥ 0 each, or a map of class name to a map of predicted " +
		"class to a cost ≥ 0"
}

// Check returns an error if the costs are invalid.
func (c *Costs) Check() error {
	var wrong []string
	add := func(what string, cost float64) {
		if !(cost >= 0) || math.IsInf(cost, 0) {
			wrong = append(wrong, fmt.Sprintf("%s is %v", what, cost))
		}
	}
	add(falsePositive, c.FalsePositive)
	add(falseNegative, c.FalseNegative)
	for _, truth := range slices.Sorted(maps.Keys(c.Of)) {
		for _, predicted := range slices.Sorted(maps.Keys(c.Of[truth])) {
			add(fmt.Sprintf("the cost of %q for %q", predicted, truth), c.Of[truth][predicted])
		}
	}
	if c.Of != nil && (c.FalsePositive != 0 || c.FalseNegative != 0) {
		wrong = append(wrong, "false_positive and false_negative, or classes by their names, not both")
	}
	if len(wrong) > 0 {
		return param.FieldError{Constraint: c.Constraint(), Hint: strings.Join(wrong, "; ")}
	}
	return nil
}

// strangers are the classes with costs that are not among these.
func (c Costs) strangers(classes []string) (errs param.FieldErrors) {
	for _, name := range c.names() {
		if slices.Contains(classes, name) {
			continue
		}
		f := param.FieldError{Path: "cost", Problem: fmt.Sprintf("there is no class %q", name)}
		if near := suggest.Nearest(name, classes); near != "" {
			f.Hint = fmt.Sprintf("did you mean %s?", near)
		}
		errs = append(errs, f)
	}
	return errs
}

// CostTable returns the cost of predicting class j for a row of class i, as entry (i, j); nil without costs.
func (s Threshold) CostTable(classes []string) *mat.Dense {
	if !s.Costs.defined() {
		return nil
	}
	return mat.NewDense(len(classes), len(classes), s.Costs.table(classes))
}

// table returns the cost of class i when class j is predicted, at i·classes + j.
func (c Costs) table(classes []string) []float64 {
	k := len(classes)
	out := make([]float64, k*k)
	for i, truth := range classes {
		for j, predicted := range classes {
			if i != j {
				out[i*k+j] = 1
			}
			if cost, ok := c.Of[truth][predicted]; ok {
				out[i*k+j] = cost
			}
			switch { // of two classes that rows have, by their order
			case c.Of != nil:
			case i < j:
				out[i*k+j] = c.FalsePositive
			case i > j:
				out[i*k+j] = c.FalseNegative
			}
		}
	}
	return out
}
