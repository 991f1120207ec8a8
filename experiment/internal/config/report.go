package config

import "github.com/bochner-ml/bochner/param"

// Report configures the diagnostics of the fitted model and the HTML page.
type Report struct {
	HTML       bool
	Importance Importance
	Learning   LearningCurve
}

// NewReport returns a section with the defaults.
func NewReport() Report {
	return Report{HTML: true, Importance: Importance{Repeats: 5}, Learning: LearningCurve{Points: 6}}
}

// Params declares the keys of the section.
func (s *Report) Params(l *param.List) {
	l.Bool(&s.HTML, "html", "Whether to write report.html, a self-contained page with the results.")
	l.Child("importance", &s.Importance)
	l.Child("learning_curve", &s.Learning)
}

// Importance contains the options of the permutation importance.
type Importance struct {
	Repeats int
}

// Params declares the keys of the section.
func (s *Importance) Params(l *param.List) {
	l.Int(&s.Repeats, "repeats", "Number of permutations per input, on a sample of the test rows; 0 disables the "+
		"importance.", param.Between(0, 1000))
}

// LearningCurve contains the options of the learning curve.
type LearningCurve struct {
	Points int
}

// Params declares the keys of the section.
func (s *LearningCurve) Params(l *param.List) {
	l.Int(&s.Points, "points", "Number of models, each fitted to twice as many training rows as the previous one; 0 "+
		"for no curve. By default a curve that would take more than a few seconds is omitted.", param.Between(0, 40))
}
