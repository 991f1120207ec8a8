package sgd

import (
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// Progress is the state of a learner, from which [Resume] continues. Weights are inputs × outputs.
type Progress struct {
	Weights, Intercept []float64
	Center             []float64 // point at which the intercepts are defined; nil for 0
	Sum, SumIntercept  []float64 // sums over steps, nil without averaging
	SumCount           float64
	L1Total            float64   // cumulative l1 penalty of every weight
	L1Applied          []float64 // minus the l1 penalty applied to each weight
	InitialIntercept   []float64 // initial intercepts
	// rate auto: first step, its mean squared norm, and the relative step of the intercept
	BaseRate, BaseNorm, InterceptScale float64
	Factor                             float64 // step factor of rate adaptive

	Steps, Rows, Epochs int
}

// Progress returns a copy of the state.
func (l *Learner) Progress() Progress {
	p := Progress{SumCount: l.sumCount, L1Total: l.l1Total, BaseRate: l.baseRate, BaseNorm: l.baseNorm,
		InterceptScale: l.interceptScale, Factor: l.factor, Steps: l.steps, Rows: l.rows, Epochs: l.epochs}
	own := append([]float64(nil), l.direct...)
	kern.Scale(l.scale, own)
	l.subtract(own, l.meanCoef, 1)
	p.Center = append([]float64(nil), l.mean...)
	p.Weights = l.inputMajor(own)
	p.Intercept, p.InitialIntercept = append([]float64(nil), l.intercept...), append([]float64(nil), l.initialIntercept...)
	if l.sumCount > 0 {
		sum := append([]float64(nil), l.sumRest...)
		kern.Axpy(l.sumScale, l.direct, sum)
		l.subtract(sum, l.sumMeanCoef, 1)
		p.Sum, p.SumIntercept = l.inputMajor(sum), append([]float64(nil), l.sumIntercept...)
	}
	if l.l1Applied != nil {
		p.L1Applied = l.inputMajor(append([]float64(nil), l.l1Applied...))
	}
	return p
}

// Resume returns a learner in the given state. Parts that the plan does not use, such as sums of
// weights, are dropped.
func Resume(plan Plan, p Progress) *Learner {
	l := New(plan)
	copy(l.direct, l.storageMajor(p.Weights))
	copy(l.intercept, p.Intercept)
	copy(l.initialIntercept, p.InitialIntercept)
	if l.Average && p.SumCount > 0 {
		copy(l.sumRest, l.storageMajor(p.Sum))
		copy(l.sumIntercept, p.SumIntercept)
		l.sumCount = p.SumCount
	}
	if l.l1Applied != nil && p.L1Applied != nil {
		copy(l.l1Applied, l.storageMajor(p.L1Applied))
		l.l1Total = p.L1Total
	}
	if len(p.Center) > 0 {
		l.center = l.newCenter(p.Center)
		l.updateCenterDots()
	}
	l.baseRate, l.baseNorm, l.interceptScale, l.factor = p.BaseRate, p.BaseNorm, p.InterceptScale, p.Factor
	l.steps, l.rows, l.epochs = p.Steps, p.Rows, p.Epochs
	return l
}

// State serializes the progress of cols × outputs weights.
func (p *Progress) State(s *model.State, cols, outputs int) {
	s.Floats("weights", &p.Weights)
	s.Floats("intercept", &p.Intercept)
	s.Floats("centre", &p.Center)
	s.Floats("sum", &p.Sum)
	s.Floats("sum_intercept", &p.SumIntercept)
	s.Floats("received", &p.L1Applied)
	s.Floats("began", &p.InitialIntercept)
	names := []string{"sum_count", "owed", "base", "norm", "bias", "factor"}
	for i, v := range []*float64{&p.SumCount, &p.L1Total, &p.BaseRate, &p.BaseNorm, &p.InterceptScale, &p.Factor} {
		s.Float(names[i], v)
		s.Require(*v >= 0 && *v-*v == 0, names[i]+" must be finite and ≥ 0")
	}
	s.Int("steps", &p.Steps)
	s.Int("rows", &p.Rows)
	s.Int("epochs", &p.Epochs)
	s.Require(p.Steps >= 0 && p.Rows >= 0 && p.Epochs >= 0, "the numbers of steps, rows and epochs must be ≥ 0")
	if s.Err() != nil {
		return
	}
	size, sums := cols*outputs, len(p.Sum)
	s.Require(len(p.Weights) == size && len(p.Intercept) == outputs && len(p.InitialIntercept) == outputs,
		"the weights do not match the model")
	s.Require(len(p.Center) == cols || len(p.Center) == 0, "the center does not match the model")
	s.Require(sums == size && len(p.SumIntercept) == outputs && p.SumCount > 0 || sums == 0 && len(p.SumIntercept) == 0 &&
		p.SumCount == 0, "the sums of weights do not match the model")
	s.Require(len(p.L1Applied) == size || len(p.L1Applied) == 0, "the penalties do not match the model")
	for _, list := range [][]float64{p.Weights, p.Intercept, p.Center, p.Sum, p.SumIntercept, p.L1Applied,
		p.InitialIntercept} {
		s.Require(kern.AllFinite(list), "a weight is not finite")
	}
}
