package experiment

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/findings"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// forecast is what the times of a run follow from.
type forecast struct {
	spec     Spec
	last     pipeline.Pipeline // fitted to all training rows
	shape    datasets.Shape    // of these
	count    result.Rows
	task     datasets.Task
	opening  float64 // seconds that reading the training file once took
	gathered bool    // whether its rows are in memory after that
	fit      fitCost // of the last fit
	pace     datasets.Pace
	times    float64 // as often as by the cost model fits read the rows, as a pilot found
	simple   float64 // as often a linear model does
}

// What one core does while the others wait, in flops of other work. They were measured.
const (
	numberFlops  = 3_000  // to score a number that is predicted, or to write it as text,
	twoFlops     = 10_000 // a row of one of two classes,
	classFlops   = 5_000  // and one of several, for each of them
	judgedNumber = 10_000 // to look for what there is to see of a number that is predicted,
	judgedCurve  = 14_000 // and of a class that has curves
	saidFlops    = 1_500  // to say a number of a row: a prediction, a probability
	profileFlops = 600    // to see an entry of the training rows for the profile of a model
)

// phases says how long each phase of a run takes.
func (f forecast) phases(search gridsearch.Plan) (s result.Seconds) {
	reading := float64(f.readings()) * f.opening // of a file that stays where it is
	s.Load, s.Search = f.load(), searchSeconds(f.spec, search, f.times)
	if search.SharedFlops > 0 {
		s.Search += reading
	} else {
		s.Search += reading * float64(search.Fits)
	}
	s.Refit = f.fitSeconds() + reading
	s.Evaluate = f.evaluation()
	s.Report = f.pace.Seconds(f.report()) + float64(f.looks())*f.opening
	s.Total = s.Load + s.Search + s.Refit + s.Evaluate + s.Report
	return s
}

// fitSeconds is how long the last fit takes, but for reading the file.
func (f forecast) fitSeconds() float64 { return f.pace.Seconds(f.fit.work.Oftener(f.times)) }

// load is how long it takes to open and gather the rows. The first reading of the training file learns its columns, and
// keeps its rows where they are few. A test file counts by its share of the rows.
func (f forecast) load() float64 {
	n := 1.0
	if f.spec.Data.Dataset != "" {
		return f.opening
	}
	if !f.shape.Streamed {
		n += f.testing()
		if !f.gathered {
			n++
		}
	}
	return n * f.opening
}

// testing is the part of a reading of the training file that one of the test file takes.
func (f forecast) testing() float64 {
	if _, test := f.spec.Data.Where(); len(test) > 0 {
		return float64(f.count.Test) / float64(max(f.count.Train, 1))
	}
	return 0
}

// readings is how many times the last fit reads a file that stays where it is.
func (f forecast) readings() (n int) {
	if !f.shape.Streamed {
		return 0
	}
	at := f.shape
	for _, s := range f.last.Steps {
		var cost datasets.Cost
		if c, ok := s.Fitter.(datasets.Coster); ok {
			cost = c.Cost(at)
		}
		if r, ok := s.Fitter.(transformer.Rowless); !ok || !r.FitsWithoutRows() {
			n += max(cost.Passes, 1)
		}
		at = at.After(cost)
	}
	if c, ok := f.last.Estimator.(datasets.Coster); ok {
		cost := c.Cost(at)
		if cost.Passes != 1 { // or it holds the rows, however often it goes through them
			n += max(cost.Passes, int(f.times*cost.Read/float64(max(at.Rows, 1))), 1)
		} else {
			n++
		}
	}
	return n
}

// evaluation is how long it takes to predict, score and write.
func (f forecast) evaluation() float64 {
	train, test := float64(min(f.count.Train, mostJudgedInFile)), float64(f.count.Test)
	if !f.shape.Streamed {
		train = float64(f.count.Train)
	}
	seconds := f.pace.Seconds(sum(
		f.predicted().Times(train+test), alone(f.scored()*(train+test)), alone(f.written()*test),
		alone(profileFlops*float64(f.count.Train)*f.shape.Entries()), f.compared(f.count.Train), f.compared(f.count.Test)))
	if f.shape.Streamed {
		seconds += (1 + f.testing()) * f.opening
	}
	return seconds
}

// compared is the work of the distances by which clusters are scored without a truth.
func (f forecast) compared(rows int) datasets.Cost {
	if f.task != datasets.Clustering {
		return datasets.Cost{}
	}
	const distance = 100 // flops beside its product
	n := float64(min(rows, predictions.MostCompared))
	return datasets.Cost{Flops: n * n * (f.shape.Entries() + distance)}
}

// alone is work that one core does while the others wait.
func alone(flops float64) datasets.Cost {
	return datasets.Cost{Flops: flops, Others: flops, Alone: flops}
}

func sum(list ...datasets.Cost) (all datasets.Cost) {
	for _, c := range list {
		all = all.With(c)
	}
	return all
}

// outputs is how many numbers there are for a row.
func (f forecast) outputs() float64 { return float64(max(f.shape.Outputs, 1)) }

// scored are the flops of scoring a row: classes are ranked by each of their scores.
func (f forecast) scored() float64 {
	switch {
	case f.task != datasets.Classification:
		return numberFlops * f.outputs()
	case f.shape.Outputs > 2:
		return classFlops * f.outputs()
	}
	return twoFlops
}

// written are those of writing one.
func (f forecast) written() float64 { return numberFlops * (1 + f.outputs()) }

// looked are those of finding what there is to see of one: errors, curves.
func (f forecast) looked() float64 {
	if f.task != datasets.Classification {
		return judgedNumber * f.outputs()
	}
	return judgedCurve * min(f.outputs(), findings.MostCurves)
}

// predicted is the work of predicting a row: what more a thousand rows take, for steps cost something whatever the rows. A
// model that keeps rows takes more for them.
func (f forecast) predicted() datasets.Cost {
	of := func(n int) datasets.Cost { return predicting(f.last, f.shape, result.Rows{Test: n}) }
	each := of(20_000).With(of(19_000).Times(-1)).Times(1.0 / 1000)
	return sum(each, f.each(), alone(saidFlops*f.outputs()))
}

// each is the work of a prediction beside the products with the mapped row.
func (f forecast) each() datasets.Cost {
	c, ok := f.last.Estimator.(datasets.Coster)
	if !ok {
		return datasets.Cost{}
	}
	cost := c.Cost(f.shape.After(pipeline.Chain{Steps: f.last.Steps}.Cost(f.shape)))
	return datasets.Cost{Flops: cost.Each + cost.Said, Others: cost.Spoken}
}

// report is what more is looked at: what was taken for what, simple models, which inputs matter, and models of fewer rows.
func (f forecast) report() datasets.Cost {
	if f.task.Targetless() {
		return datasets.Cost{}
	}
	return sum(alone(f.looked()*float64(f.judged())), f.simpleModels(), f.importance(), f.learning())
}

// looks is how many times a report reads a file that stays where it is: for the rows that simple models learn from, for what they say of
// those that the model is looked at on, and for some of these to measure importance on. Test rows of a file of their own are few.
func (f forecast) looks() int {
	if !f.shape.Streamed || f.task.Targetless() {
		return 0
	}
	n, on := 1, 1
	if f.testing() > 0 {
		on = 0
	}
	if n += on; f.importance().Flops > 0 {
		n += on
	}
	return n
}

// simpleModels is fitting the simple models, and what they say of the test rows.
func (f forecast) simpleModels() datasets.Cost {
	shape := f.shape
	shape.Rows, shape.Streamed = min(shape.Rows, findings.LinearRows), false
	machine, judged := findings.Linear(shape, f.task), float64(f.judged())
	of := f
	of.last = machine
	const more = 1.3 // for the scores of a model that says the same of all rows, too
	return sum(machine.Cost(shape).Oftener(f.simple), of.predicted().Times(judged), alone((more*f.scored()+saidFlops*f.outputs())*judged))
}

// judged is how many rows the model is looked at on.
func (f forecast) judged() int {
	if f.count.Test > 0 {
		return f.count.Test
	}
	return f.count.Train
}

// importance is permuting the inputs, and the effects of some of them.
func (f forecast) importance() datasets.Cost {
	repeats, inputs := f.spec.Report.Importance.Repeats, f.shape.Cols
	if repeats == 0 || inputs == 0 {
		return datasets.Cost{}
	}
	rows := importanceRows(lookedFlops(f.last, f.shape), inputs, repeats, 0)
	if rows < leastLooked && !f.spec.Given("report.importance.repeats") {
		return datasets.Cost{}
	}
	rows = min(max(rows, leastLooked), f.judged())
	const values, effectRows = 20, 500 // of each input whose effect is shown
	effects := min(rows, effectRows) * min(inputs, shownEffects) * values
	each := f.predicted()
	return sum(each.Times(float64(rows*inputs*repeats+effects)), alone(numberFlops*float64(rows*inputs*repeats)))
}

// learning is models of half the rows, a quarter, and so on, and what they say.
func (f forecast) learning() (all datasets.Cost) {
	points := f.spec.Report.Learning.Points
	if points < 2 || f.count.Test == 0 || f.shape.Streamed {
		return all
	}
	of := f.last
	if w, ok := of.Estimator.(meta.Intervals); ok {
		if whole, ok := w.Of.(pipeline.Pipeline); ok {
			of = whole
		}
	}
	if !learns(f.spec, of, f.shape) {
		return all
	}
	each, shape := sum(f.predicted(), alone(f.scored())), f.shape
	for k := range points {
		shape.Rows = f.shape.Rows >> k
		if k > 0 {
			all = all.With(of.Cost(shape).Oftener(f.times))
		}
		all = all.With(each.Times(float64(min(shape.Rows, mostJudged) + min(f.count.Test, mostJudged))))
	}
	return all
}
