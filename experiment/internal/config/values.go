package config

import (
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
)

// Score is the name of a metric; "" is the default of the task.
type Score string

// Set parses the name of a metric, or auto.
func (s *Score) Set(plain any) error {
	name, ok := plain.(string)
	if !ok {
		return param.FieldError{Constraint: s.Constraint()}
	}
	if name == "auto" {
		name = ""
	}
	*s = Score(name)
	return s.Check()
}

// Get returns the name, or auto.
func (s *Score) Get() any {
	if *s == "" {
		return "auto"
	}
	return string(*s)
}

// Constraint describes the accepted values.
func (s *Score) Constraint() string { return "the name of a metric, or auto" }

// Check reports an unknown metric.
func (s *Score) Check() error {
	if *s == "" {
		return nil
	}
	if _, err := metrics.ByName(string(*s)); err == nil {
		return nil
	}
	var names []string
	for _, m := range metrics.All() {
		names = append(names, m.Name, "neg_"+m.Name)
	}
	f := param.FieldError{Constraint: s.Constraint()}
	if near := suggest.Nearest(string(*s), names); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	return f
}

// Duration is a length of time; 0 is unlimited.
type Duration time.Duration

// Set parses a string such as 90s or 1h30m; "" is unlimited.
func (t *Duration) Set(plain any) error {
	text, ok := plain.(string)
	if ok && text == "" {
		*t = 0
		return nil
	}
	length, err := time.ParseDuration(text)
	if !ok || err != nil || length <= 0 {
		return param.FieldError{Constraint: t.Constraint()}
	}
	*t = Duration(length)
	return nil
}

// Get formats the duration for Set.
func (t *Duration) Get() any {
	if *t == 0 {
		return ""
	}
	text := time.Duration(*t).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Constraint describes the accepted values.
func (t *Duration) Constraint() string { return "a length of time such as 90s, 10m or 1h30m" }

// Check always returns nil.
func (t *Duration) Check() error { return nil }
