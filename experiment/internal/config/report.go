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
	l.Int(&s.Repeats, "repeats", "Number of permutations of each input, on a sample of the test rows; 0 disables "+
		"importance.", param.Between(0, 1000))
}

// LearningCurve contains the options of the learning curve.
type LearningCurve struct {
	Points int
}

// Params declares the keys of the section.
func (s *LearningCurve) Params(l *param.List) {
	l.Int(&s.Points, "points", "Number of models, each of twice as many of the training rows as the one before; 0 for "+
		"no curve. Unless it is given there is none where they would take more than some seconds.", param.Between(0, 40))
}
