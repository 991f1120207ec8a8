package estimator

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// ClassWeight multiplies the weights of the rows of each class. The zero value means factors of 1.
// As a parameter it is none, balanced, or a map of class name to weight.
type ClassWeight struct {
	// Balanced gives every class the same total: n / (classes · n_c), where n is the sum of the
	// rows' weights and n_c that of class c. scikit-learn's RidgeClassifier counts rows in place of
	// weights, so that the two differ where rows have unequal weights.
	Balanced bool
	// Weights has the weight of each class by name; classes it does not name have 1.
	Weights map[string]float64
}

// Set takes none, balanced, or a map of class name to weight.
func (c *ClassWeight) Set(plain any) error {
	want := fmt.Errorf("%s", c.Constraint())
	switch v := plain.(type) {
	case nil:
		*c = ClassWeight{}
	case string:
		if v != "none" && v != "balanced" {
			if near := suggest.Nearest(v, []string{"none", "balanced"}); near != "" {
				return param.FieldError{Hint: fmt.Sprintf("did you mean %s?", near)}
			}
			return want
		}
		*c = ClassWeight{Balanced: v == "balanced"}
	case map[string]any:
		weights := make(map[string]float64, len(v))
		for name, given := range v {
			switch w := given.(type) {
			case int:
				weights[name] = float64(w)
			case float64:
				weights[name] = w
			default:
				return want
			}
		}
		*c = ClassWeight{Weights: weights}
		return c.Check()
	default:
		return want
	}
	return nil
}

// Get returns the value as Set takes it.
func (c *ClassWeight) Get() any {
	switch {
	case c.Balanced:
		return "balanced"
	case c.Weights == nil:
		return "none"
	}
	out := make(map[string]any, len(c.Weights))
	for name, w := range c.Weights {
		out[name] = w
	}
	return out
}

// Constraint describes the values that Set accepts.
func (c *ClassWeight) Constraint() string {
	return "none, balanced, or a map of class name to a weight ≥ 0"
}

// Check returns an error if the weights are invalid.
func (c *ClassWeight) Check() error {
	if c.Balanced && c.Weights != nil {
		return fmt.Errorf("balanced or weights, not both")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		if w := c.Weights[name]; !(w >= 0) || math.IsInf(w, 0) {
			return param.FieldError{Hint: fmt.Sprintf("the weight of class %q is %v", name, w)}
		}
	}
	return nil
}

// CheckClasses returns an error if Weights names a class that is not among classes.
func (c ClassWeight) CheckClasses(classes []string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		if !slices.Contains(classes, name) {
			f := param.FieldError{Path: "class_weight", Problem: fmt.Sprintf("there is no class %q", name)}
			if near := suggest.Nearest(name, classes); near != "" {
				f.Hint = fmt.Sprintf("did you mean %s?", near)
			}
			return f
		}
	}
	return nil
}

// factors returns the factor of each class, nil for ones, given the total weight of each.
func (c ClassWeight) factors(classes []string, mass []float64, present int) ([]float64, error) {
	if !c.Balanced && c.Weights == nil {
		return nil, nil
	}
	out := make([]float64, len(classes))
	if c.Balanced {
		total := 0.0
		for _, m := range mass {
			total += m
		}
		for j, m := range mass {
			if m > 0 {
				out[j] = total / (float64(present) * m)
			}
		}
		return out, nil
	}
	if err := c.CheckClasses(classes); err != nil {
		return nil, err
	}
	for j, name := range classes {
		out[j] = 1
		if w, ok := c.Weights[name]; ok {
			out[j] = w
		}
	}
	return out, nil
}
