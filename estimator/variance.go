package estimator

import (
	"errors"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Variance is a variance of targets in their squared unit: a number > 0, or 0 for auto, which is
// estimated by the fit.
type Variance float64

// Set accepts a number > 0 or "auto".
func (v *Variance) Set(plain any) error {
	next := Variance(-1)
	switch p := plain.(type) {
	case string:
		if p == "auto" {
			next = 0
		} else if near := suggest.Nearest(p, []string{"auto"}); near != "" {
			return param.FieldError{Constraint: v.Constraint(), Hint: "did you mean " + near + "?"}
		}
	case int:
		next = explicitVariance(float64(p))
	case float64:
		next = explicitVariance(p)
	}
	*v = next
	return v.Check()
}

// explicitVariance returns v, or an invalid variance for 0, which would mean auto.
func explicitVariance(v float64) Variance {
	if v == 0 {
		return -1
	}
	return Variance(v)
}

// Get returns the number or "auto".
func (v *Variance) Get() any {
	if *v == 0 {
		return "auto"
	}
	return float64(*v)
}

// Constraint describes the values that Set accepts.
func (v *Variance) Constraint() string { return "auto, or a number > 0" }

// Check returns an error for a number that is negative or not finite.
func (v *Variance) Check() error {
	if *v == 0 || param.Positive().Contains(float64(*v)) {
		return nil
	}
	return errors.New(v.Constraint())
}
