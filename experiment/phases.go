package experiment

import (
	"runtime"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/internal/findings"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/importance"
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
	rate     float64 // flops a second
	times    float64 // as often as by the cost model fits read the rows, as a pilot found
	simple   float64 // as often a linear model does
}

// What one core does while the others wait, in flops that all of them make in a second. They were measured.
const (
	scoredFlops  = 9_000 // to score a row that is predicted,
	scoredEach   = 3_000 // and for each number that is said of it
	writtenTimes = 2     // as much to write it as text
	profileFlops = 600   // to see an entry of the training rows for the profile of a model
)

// phases says how long each phase of a run takes.
func (f forecast) phases(search gridsearch.Plan) (s result.Seconds) {
	s.Load, s.Search = f.load(), searchSeconds(f.spec, search, f.times)
	s.Refit = f.fitSeconds() + float64(f.readings())*f.opening
	s.Evaluate = f.evaluation()
	s.Report = f.report() / f.rate
	s.Total = s.Load + s.Search + s.Refit + s.Evaluate + s.Report
	return s
}

// seconds is how long flops take of which one core makes some while the others wait.
func (f forecast) seconds(flops, alone float64) float64 {
	return (flops - alone + alone*float64(runtime.GOMAXPROCS(0))) / f.rate
}

// fitSeconds is how long the last fit takes, but for reading the file.
func (f forecast) fitSeconds() float64 {
	return f.seconds(f.fit.flops, f.fit.alone) * oftener(f.fit.iterated, f.fit.flops, f.times)
}

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
		n += max(cost.Passes, int(f.times*cost.Read/float64(max(at.Rows, 1))), 1)
	}
	return n
}

// evaluation is how long it takes to predict, score and write.
func (f forecast) evaluation() float64 {
	train, test := float64(min(f.count.Train, mostJudgedInFile)), float64(f.count.Test)
	if !f.shape.Streamed {
		train = float64(f.count.Train)
	}
	flops := (train + test) * (f.rowFlops() + f.keptFlops())
	alone := f.scored()*(train+test+writtenTimes*test) + profileFlops*float64(f.count.Train)*f.shape.Entries()
	seconds := f.seconds(flops+alone, alone)
	if f.shape.Streamed {
		seconds += (1 + f.testing()) * f.opening
	}
	return seconds
}

// scored are the flops of scoring a row.
func (f forecast) scored() float64 { return scoredFlops + scoredEach*float64(max(f.shape.Outputs, 1)) }

// report are the flops of what more is looked at: simple models, which inputs matter, and models of fewer rows.
func (f forecast) report() float64 {

	if f.task.Targetless() {
		return 0
	}
	return f.simpleFlops() + f.importanceFlops() + f.learningFlops()
}

// simpleFlops are those of fitting the simple models and of what they say of the test rows.
func (f forecast) simpleFlops() float64 {
	shape := f.shape
	shape.Rows, shape.Streamed = min(shape.Rows, findings.LinearRows), false
	cost := findings.Linear(shape, f.task).Cost(shape)
	return cost.Flops*oftener(cost.Iterated, cost.Flops, f.simple) + 2*f.scored()*float64(f.judged())
}

// judged is how many rows the model is looked at on.
func (f forecast) judged() int {
	if f.count.Test > 0 {
		return f.count.Test
	}
	return f.count.Train
}

// rowFlops are those of predicting a row: what more a thousand rows take, for steps cost something whatever the rows.
func (f forecast) rowFlops() float64 {
	of := func(n int) float64 { return predictingFlops(f.last, f.shape, result.Rows{Test: n}) }
	return max((of(20_000)-of(19_000))/1000, 1)
}

// lookedFlops are those by which a report takes few rows where predictions are dear.
func (f forecast) lookedFlops() float64 {
	flops := predictingFlops(f.last, f.shape, result.Rows{Test: 1000}) / 1000
	if f.keptFlops() > 0 {
		flops += 2 * float64(f.shape.Rows*f.shape.Cols)
	}
	return max(flops, 1)
}

// keptFlops are those that a prediction takes beside them, of a model that keeps rows.
func (f forecast) keptFlops() float64 {
	if c, ok := f.last.Estimator.(datasets.Coster); ok {
		return c.Cost(f.shape.After(pipeline.Chain{Steps: f.last.Steps}.Cost(f.shape))).Each
	}
	return 0
}

// importanceFlops are those of permuting the inputs, and of the effects of some of them.
func (f forecast) importanceFlops() float64 {
	repeats, inputs := f.spec.Report.Importance.Repeats, f.shape.Cols
	if repeats == 0 || inputs == 0 {
		return 0
	}
	rows, each := importance.Rows(inputs, repeats), f.rowFlops()
	if most := mostImportance / (f.lookedFlops() * float64(inputs*repeats)); float64(rows) > most {
		rows = int(most)
	}
	if rows < leastLooked && !f.spec.Given("report.importance.repeats") {
		return 0
	}
	rows = min(max(rows, leastLooked), f.judged())
	const values, effectRows = 20, 500 // of each input whose effect is shown
	said := rows*inputs*repeats + min(rows, effectRows)*min(inputs, shownEffects)*values
	return float64(said) * (each + f.keptFlops() + f.scored()/2)
}

// learningFlops are those of models of half the rows, a quarter, and so on, and of what they say.
func (f forecast) learningFlops() float64 {
	points := f.spec.Report.Learning.Points
	if points < 2 || f.count.Test == 0 || f.shape.Streamed {
		return 0
	}
	of := f.last
	if w, ok := of.Estimator.(meta.Intervals); ok {
		if whole, ok := w.Of.(pipeline.Pipeline); ok {
			of = whole
		}
	}
	if flops := of.Cost(f.shape).Flops; !(flops > 0 && flops <= mostLearning) && !f.spec.Given("report.learning_curve.points") {
		return 0
	}
	sum, each := 0.0, f.rowFlops()+f.keptFlops()/2+f.scored()
	shape := f.shape
	for k := range points {
		shape.Rows = f.shape.Rows >> k
		if k > 0 {
			cost := of.Cost(shape)
			sum += cost.Flops * oftener(cost.Iterated, cost.Flops, f.times)
		}
		sum += each * float64(min(shape.Rows, mostJudged)+min(f.count.Test, mostJudged))
	}
	return sum
}
