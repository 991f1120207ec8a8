package config

import (
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/param"
)

// Intervals are the options of prediction intervals or sets.
type Intervals struct {
	Method      string
	Level       float64
	Calibration float64
	Normalize   bool
	Group       string
}

// NewIntervals returns a section with the defaults.
func NewIntervals() *Intervals {
	s := meta.NewIntervals(nil)
	return &Intervals{Method: s.Method, Level: s.Level, Calibration: s.Calibration}
}

// Params declares the keys of the section.
func (s *Intervals) Params(l *param.List) {
	between := param.Range{High: 1, LowOpen: true, HighOpen: true}
	l.Choice(&s.Method, "method",
		"Method. jackknife_plus trains on all rows and requires ridge or kernel_ridge. split holds out rows and "+
			"supports every model. cqr: split with two quantiles of quantile_regression, whose width follows the noise. "+
			"normal: from the predicted standard deviation. auto: jackknife_plus if supported, else split.",
		coverage.Methods...)
	l.Float(&s.Level, "level", "Probability that an interval contains a new target, or a set the class.", between)
	l.Float(&s.Calibration, "calibration", "Share of the training rows that split and cqr hold out.", between)
	l.String(&s.Group, "group",
		"Input column of groups. split and cqr calibrate each group separately, so that the level holds within each "+
			"group.")
	l.Bool(&s.Normalize, "normalize",
		"Whether split divides residuals by the predicted standard deviation, so that the width follows the "+
			"uncertainty of the model.")
}
