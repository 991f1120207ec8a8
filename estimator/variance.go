package estimator

import (
	"errors"

	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Variance is a variance of targets: a number above 0, in their unit squared, or auto, the zero value, which
// leaves it to the fit.
type Variance struct{ value float64 }

// FixedVariance is a number.
func FixedVariance(v float64) Variance { return Variance{v} }

var _ param.Value = (*Variance)(nil)

// Fixed returns the number, 0 for auto.
func (v Variance) Fixed() float64 { return v.value }

// Set takes a number above 0, or auto.
func (v *Variance) Set(plain any) error {
	next := Variance{-1}
	switch p := plain.(type) {
	case string:
		if p == "auto" {
			next.value = 0
		} else if near := suggest.Nearest(p, []string{"auto"}); near != "" {
			return param.FieldError{Constraint: v.Constraint(), Hint: "did you mean " + near + "?"}
		}
	case int:
		next.value = wantedNumber(float64(p))
	case float64:
		next.value = wantedNumber(p)
	}
	*v = next
	return v.Check()
}

// wantedNumber keeps a number given from being read as auto.
func wantedNumber(v float64) float64 {
	if v == 0 {
		return -1
	}
	return v
}

// Plain returns the number or auto.
func (v *Variance) Get() any {
	if v.value == 0 {
		return "auto"
	}
	return v.value
}

// Constraint describes the values that Set accepts.
func (v *Variance) Constraint() string { return "auto, or a number > 0" }

// Check reports what is neither.
func (v *Variance) Check() error {
	if v.value == 0 || param.Positive.Contains(v.value) {
		return nil
	}
	return errors.New(v.Constraint())
}
