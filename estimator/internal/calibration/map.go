package calibration

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/estimator/internal/monotone"
	"github.com/bochner-ml/bochner/model"
)

// Methods lists the names of the calibration methods.
var Methods = []string{"sigmoid", "isotonic", "temperature"}

// Map is a map from the scores of a row to the probabilities of its classes.
type Map struct {
	method  string
	classes int
	absent  []bool      // classes that no row has, which get probability 0
	a, b    []float64   // of sigmoid, for each output
	knots   [][]float64 // of isotonic, for each output
	values  [][]float64
	beta    float64 // of temperature
}

// Outputs returns the number of scores: one for two classes, else one per class.
func Outputs(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}

// Learn fits the map to scores, rows × outputs, of rows with known classes. Absent classes get
// probability 0, whatever their score.
func Learn(method string, scores []float64, class []int, weights []float64, absent []bool) Map {
	m := Map{method: method, classes: len(absent), absent: absent}
	outputs := Outputs(m.classes)
	if method == "temperature" {
		m.beta = Temperature(bothScores(scores, outputs), m.classes, class, weights)
		return m
	}
	m.a, m.b = make([]float64, outputs), make([]float64, outputs)
	m.knots, m.values = make([][]float64, outputs), make([][]float64, outputs)
	for k := range outputs {
		of := k
		if outputs == 1 {
			of = 1
		}
		positive, column := make([]bool, len(class)), make([]float64, len(class))
		for i, c := range class {
			positive[i], column[i] = c == of, scores[i*outputs+k]
		}
		if method == "sigmoid" {
			m.a[k], m.b[k] = Sigmoid(column, positive, weights)
		} else {
			m.knots[k], m.values[k] = Isotonic(column, positive, weights)
		}
	}
	return m
}

// bothScores returns rows × classes, a score of two classes being that of the second against 0.
func bothScores(scores []float64, outputs int) []float64 {
	if outputs > 1 {
		return scores
	}
	out := make([]float64, 2*len(scores))
	for i, v := range scores {
		out[2*i+1] = v
	}
	return out
}

// Calibrate writes the probabilities of the classes of a row, and over its scores the calibrated ones: the log
// odds of the second of two classes, of isotonic p − ½, or the probabilities of more.
func (m Map) Calibrate(probabilities, scores []float64) {
	p, s := probabilities, scores
	if m.classes > 2 {
		m.spread(p, s)
		copy(s, p)
		return
	}
	switch m.method {
	case "isotonic":
		s[0] = monotone.Interpolate(m.knots[0], m.values[0], s[0]) - 0.5
		p[1] = s[0] + 0.5
		p[0] = 1 - p[1]
		return
	case "sigmoid":
		s[0] = -(m.a[0]*s[0] + m.b[0])
	default:
		s[0] *= m.beta
	}
	p[0], p[1] = Logistic(-s[0]), Logistic(s[0])
}

// spread writes the probabilities of several classes.
func (m Map) spread(p, score []float64) {
	if m.method == "temperature" {
		Softmax(p, score, m.beta)
	}
	sum := 0.0
	for k, v := range score {
		switch m.method {
		case "sigmoid":
			p[k] = Logistic(-(m.a[k]*v + m.b[k]))
		case "isotonic":
			p[k] = monotone.Interpolate(m.knots[k], m.values[k], v)
		}
		if m.absent[k] {
			p[k] = 0
		}
		sum += p[k]
	}
	present := 0
	for _, a := range m.absent {
		if !a {
			present++
		}
	}
	for k := range p {
		switch {
		case sum > 0:
			p[k] /= sum
		case !m.absent[k]: // no class fits
			p[k] = 1 / float64(present)
		}
	}
}

// State serializes the map for the given number of classes.
func (m *Map) State(s *model.State, classes int) {
	absent := make([]float64, len(m.absent))
	for c, a := range m.absent {
		if a {
			absent[c] = 1
		}
	}
	s.String("method", &m.method)
	s.Floats("absent", &absent)
	s.Floats("a", &m.a)
	s.Floats("b", &m.b)
	s.Float("beta", &m.beta)
	outputs := Outputs(classes)
	if s.Restoring() {
		s.Require(classes >= 2 && len(absent) == classes, "there are fewer than two classes")
		s.Require(slices.Contains(Methods, m.method), "the method is not known")
		s.Require(m.method != "sigmoid" || len(m.a) == outputs && len(m.b) == outputs && finite(m.a) && finite(m.b),
			"a sigmoid is not complete")
		s.Require(m.method != "temperature" || m.beta >= 0 && !math.IsInf(m.beta, 0), "the temperature is not a number > 0")
		if s.Err() != nil {
			return
		}
		m.classes, m.absent = classes, make([]bool, classes)
		present := 0
		for c, a := range absent {
			if m.absent[c] = a != 0; a == 0 {
				present++
			}
		}
		s.Require(present > 0, "no class has rows")
		m.knots, m.values = make([][]float64, outputs), make([][]float64, outputs)
	}
	if m.method != "isotonic" {
		return
	}
	for k := range outputs {
		if s.Err() != nil {
			return
		}
		one := s.Child(fmt.Sprintf("steps%d", k))
		one.Floats("knots", &m.knots[k])
		one.Floats("values", &m.values[k])
		one.Require(len(m.knots[k]) > 0 && len(m.knots[k]) == len(m.values[k]) && monotone.Ascends(m.knots[k]) &&
			shares(m.values[k]), "steps are no probabilities of rising scores")
	}
}

func finite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v-v != 0 })
}

// shares reports whether numbers are from 0 to 1.
func shares(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !(v >= 0 && v <= 1) })
}
