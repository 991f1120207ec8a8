package meta

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/calibration"
	"github.com/bochner-ml/bochner/model"
)

// classMaps is the map from scores, rows × outputs, to probabilities.
type classMaps struct {
	method  string
	classes int
	absent  []bool      // classes that no training row has, which get probability 0
	a, b    []float64   // of sigmoid, for each output
	knots   [][]float64 // of isotonic, for each output
	values  [][]float64
	beta    float64 // of temperature
}

// learnClassMaps learns the map from scores of rows that models had not seen.
func learnClassMaps(method string, found outOfFold, y, weights []float64, classes int) (classMaps, error) {
	m := classMaps{method: method, classes: classes, absent: make([]bool, classes)}
	outputs := classes
	if classes == 2 {
		outputs = 1
	}
	if found.Scores == nil {
		return m, errNoScores
	}
	n, width := found.Scores.Dims()
	if width != outputs {
		return m, fmt.Errorf("%d scores of %d classes", width, classes)
	}
	w, class, mass, rows := make([]float64, n), make([]int, n), make([]float64, classes), 0
	for i := range n {
		class[i] = int(y[i])
		mass[class[i]] += weights[i]
		if found.seen[i] {
			w[i] = weights[i]
		}
		if w[i] > 0 {
			rows++
		}
	}
	if rows == 0 {
		return m, errors.New("no row has a score of a model that has not seen it")
	}
	for c, v := range mass {
		m.absent[c] = v == 0
	}
	if method == "temperature" {
		m.beta = calibration.Temperature(bothScores(found.Scores), classes, class, w)
		return m, nil
	}
	m.a, m.b = make([]float64, outputs), make([]float64, outputs)
	m.knots, m.values = make([][]float64, outputs), make([][]float64, outputs)
	for k := range outputs {
		of := k
		if outputs == 1 {
			of = 1
		}
		positive := make([]bool, n)
		for i, c := range class {
			positive[i] = c == of
		}
		scores := mat.Col(nil, k, found.Scores)
		if method == "sigmoid" {
			m.a[k], m.b[k] = calibration.Sigmoid(scores, positive, w)
		} else {
			m.knots[k], m.values[k] = calibration.Isotonic(scores, positive, w)
		}
	}
	return m, nil
}

// bothScores returns rows × classes, a score of two classes being that of the second against 0.
func bothScores(scores *mat.Dense) []float64 {
	n, width := scores.Dims()
	if width > 1 {
		return slices.Concat(scores.RawMatrix().Data)
	}
	out := make([]float64, 2*n)
	for i := range n {
		out[2*i+1] = scores.At(i, 0)
	}
	return out
}

// apply returns classes, scores and probabilities.
func (m classMaps) apply(scores *mat.Dense) (estimator.Prediction, error) {
	if scores == nil {
		return estimator.Prediction{}, errNoScores
	}
	if scores.IsEmpty() {
		return estimator.Prediction{Values: []float64{}, Scores: &mat.Dense{}, Probabilities: &mat.Dense{}}, nil
	}
	n, width := scores.Dims()
	if width != max(m.classes, 3) && !(m.classes == 2 && width == 1) {
		return estimator.Prediction{}, fmt.Errorf("%d scores of %d classes", width, m.classes)
	}
	out := estimator.Prediction{Values: make([]float64, n), Scores: mat.NewDense(n, width, nil), Probabilities: mat.NewDense(n, m.classes, nil)}
	for i := range n {
		p, s := out.Probabilities.RawRowView(i), out.Scores.RawRowView(i)
		if m.classes == 2 {
			s[0] = m.odds(scores.At(i, 0))
			if m.method == "isotonic" {
				p[1] = s[0] + 0.5
				p[0] = 1 - p[1]
			} else {
				p[0], p[1] = calibration.Logistic(-s[0]), calibration.Logistic(s[0])
			}
			if s[0] > 0 {
				out.Values[i] = 1
			}
			continue
		}
		m.spread(p, scores.RawRowView(i))
		copy(s, p)
		out.Values[i] = float64(slices.Index(p, slices.Max(p)))
	}
	return out, nil
}

// odds is the calibrated score of two classes.
func (m classMaps) odds(score float64) float64 {
	switch m.method {
	case "sigmoid":
		return -(m.a[0]*score + m.b[0])
	case "isotonic":
		return calibration.Interpolate(m.knots[0], m.values[0], score) - 0.5
	}
	return m.beta * score
}

// spread writes the probabilities of several classes.
func (m classMaps) spread(p, score []float64) {
	if m.method == "temperature" {
		calibration.Softmax(p, score, m.beta)
	}
	sum := 0.0
	for k, v := range score {
		switch m.method {
		case "sigmoid":
			p[k] = calibration.Logistic(-(m.a[k]*v + m.b[k]))
		case "isotonic":
			p[k] = calibration.Interpolate(m.knots[k], m.values[k], v)
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

// state keeps the map for so many classes.
func (m *classMaps) state(s *model.State, classes int) {
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
	outputs := classes
	if classes == 2 {
		outputs = 1
	}
	if s.Reading() {
		s.Require(classes >= 2 && len(absent) == classes, "there are fewer than two classes")
		s.Require(slices.Contains([]string{"sigmoid", "isotonic", "temperature"}, m.method), "the method is not known")
		s.Require(m.method != "sigmoid" || len(m.a) == outputs && len(m.b) == outputs && finite(m.a) && finite(m.b), "a sigmoid is not complete")
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
		one.Require(len(m.knots[k]) > 0 && len(m.knots[k]) == len(m.values[k]) && ascends(m.knots[k]) && shares(m.values[k]), "steps are no probabilities of rising scores")
	}
}

func finite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v-v != 0 })
}

// shares reports whether numbers are from 0 to 1.
func shares(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !(v >= 0 && v <= 1) })
}
