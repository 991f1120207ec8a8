package sgd

import (
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/model"
)

// Progress is what a learner has come to: from it another one goes on as this one would have. Lists of
// weights are inputs × outputs.
type Progress struct {
	Weights, Intercept                 []float64
	Center                             []float64 // point where the intercepts are those of; none for 0
	Sum, SumIntercept                  []float64 // of weights over the steps, none where they are not averaged
	SumCount                           float64
	L1Total                            float64   // the l1 penalty that every weight owes,
	L1Applied                          []float64 // and minus what each has paid
	InitialIntercept                   []float64 // intercepts at the beginning
	BaseRate, BaseNorm, InterceptScale float64   // of rate auto: the first step, the mean squared norm that it is for, and how much longer are those of the intercept
	Factor                             float64   // on the steps of rate adaptive

	Steps, Rows, Epochs int
}

// Progress returns a copy of what the learner has come to.
func (l *Learner) Progress() Progress {
	p := Progress{SumCount: l.sumCount, L1Total: l.l1Total, BaseRate: l.baseRate, BaseNorm: l.baseNorm, InterceptScale: l.interceptScale, Factor: l.factor, Steps: l.steps, Rows: l.rows, Epochs: l.epochs}
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

// Resume returns a learner that goes on from there. What the plan does not ask for, as the sums of weights, is
// forgotten.
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

// State carries the progress of so many weights and outputs to a file and back.
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
		s.Require(*v >= 0 && *v-*v == 0, names[i]+" is no amount")
	}
	s.Int("steps", &p.Steps)
	s.Int("rows", &p.Rows)
	s.Int("epochs", &p.Epochs)
	s.Require(p.Steps >= 0 && p.Rows >= 0 && p.Epochs >= 0, "the numbers of steps, rows and epochs do not fit")
	if s.Err() != nil {
		return
	}
	size, sums := cols*outputs, len(p.Sum)
	s.Require(len(p.Weights) == size && len(p.Intercept) == outputs && len(p.InitialIntercept) == outputs, "the weights are not of that model")
	s.Require(len(p.Center) == cols || len(p.Center) == 0, "the centre is not of that model")
	s.Require(sums == size && len(p.SumIntercept) == outputs && p.SumCount > 0 || sums == 0 && len(p.SumIntercept) == 0 && p.SumCount == 0, "the sums of weights are not of that model")
	s.Require(len(p.L1Applied) == size || len(p.L1Applied) == 0, "the penalties are not of that model")
	for _, list := range [][]float64{p.Weights, p.Intercept, p.Center, p.Sum, p.SumIntercept, p.L1Applied, p.InitialIntercept} {
		s.Require(kern.AllFinite(list), "a weight is not finite")
	}
}
