package newton

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/single"
)

// Problems that begin where a sample of their rows has led have the solutions that each has by itself: of several C, widths and
// losses, on rows that some leave out, also where a class has no row in the sample, and where all rows of the sample mislead. Few passes
// read all rows, most of them for the class that has no row in the sample, and bits are the same on any number of cores.
func TestPilotLeadsToTheSameMinima(t *testing.T) {
	const n, d, tol, most = 12000, 6, 1e-9, 90
	every := sampling(n, d)
	if every < leastApart {
		t.Fatal("there is no pilot")
	}
	X, l := classes(n, d, 2)
	half, seldom, misled := *l, *l, *l
	half.Weights, seldom.Y, misled.Y = make([]float64, n), make([]float64, n), slices.Clone(l.Y)
	copy(half.Weights[:n/2], l.Weights)
	for i := range n {
		if i%every == 1 && i%97 == 0 {
			seldom.Y[i] = 1
		}
		if i%every == 0 {
			misled.Y[i] = 1 - l.Y[i]
		}
	}
	var problems []Problem
	var tasks []Task
	rows := leading(t, X)
	for _, on := range []*design.Labels{l, &half, &seldom, &misled} {
		for _, task := range []Task{Logistic(on, true, tol), SquaredHinge(on, true, tol)} {
			for _, width := range []int{4, d} {
				for _, C := range []float64{0.01, 3} {
					problems = append(problems, Problem{Loss: task.OfOne(), Y: on.Y, Weights: on.Weights, C: C, Factor: C, Width: width})
					tasks = append(tasks, task)
				}
			}
		}
	}
	for what, read := range map[string]*design.Rows{"in double precision": rows(d), "rounded": rounding(t, X)(d), "too large to be rounded": tooLarge(t, X)(d)} {
		var first []float64
		for _, cores := range []int{1, 2, 5} {
			passes, each := 0, *read
			counted := *read
			counted.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
				passes++
				return each.Each(ctx, yield)
			}
			before := runtime.GOMAXPROCS(cores)
			b := NewBatch(context.Background(), &counted, true, problems)
			err := b.Solve(tol, 200)
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			if passes > most {
				t.Errorf("rows %s: %d passes, wanted at most %d", what, passes, most)
			}
			if first == nil {
				first = b.x
			}
			if !slices.Equal(b.x, first) {
				t.Fatalf("rows %s: other bits on %d cores", what, cores)
			}
			if cores > 1 {
				continue
			}
			for p, o := range problems {
				got, want := b.Model(p, 1, tol), alone(t, tasks[p], o.C, rows(o.Width))
				if e := off(got, want); e > 1e-5 || !got.Report.Converged {
					t.Errorf("rows %s, problem %d: off by %.2g, %+v", what, p, e, got.Report)
				}
			}
		}
	}
}

// tooLarge is rounding with rows of which single precision holds none.
func tooLarge(t *testing.T, X *mat.Dense) func(width int) *design.Rows {
	n, d := X.Dims()
	large := single.New(n, d, nil)
	for i := range n {
		for j := range large.Row(i) {
			large.Row(i)[j] = float32(math.Inf(1))
		}
	}
	return func(width int) *design.Rows {
		both := *leading(t, X)(width)
		var err error
		if both.Rounded, err = design.OfSet(datasets.Set{X: large.Leading(width)}); err != nil {
			t.Fatal(err)
		}
		return &both
	}
}

// A pass whose question the solver would not have asked, for another version of it has, is refused when it comes from a file.
func TestAnswersToOtherQuestionsAreRefused(t *testing.T) {
	const n, d = 200, 5
	X, l := classes(n, d, 2)
	task := Logistic(l, true, 1e-9)
	plan := Plan{Cols: d, Rows: n, Tol: 1e-9, MaxIter: 100, Block: func(int, datasets.Set) ([]float64, []float64, error) { return l.Y, l.Weights, nil }}
	m, err := task.Begin(context.Background(), plan)
	for passes := 0; err == nil && (passes < 4 || !m.ask.product); passes++ {
		carried(t, task, plan, m)
		if err = m.Add(context.Background(), 0, datasets.Set{X: X}); err == nil {
			m, err = m.Next(context.Background())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := func(change func(m *Minimisation)) bool {
		other := *m
		other.ask.at, other.ask.v, other.log = slices.Clone(m.ask.at), slices.Clone(m.ask.v), slices.Clone(m.log)
		change(&other)
		state, err := model.Record(&other)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := task.Begin(context.Background(), plan)
		if err != nil {
			t.Fatal(err)
		}
		return model.Restore(state, fresh) != nil
	}
	for what, change := range map[string]func(m *Minimisation){
		"a point further on":     func(m *Minimisation) { m.ask.at[0] *= 1.01 },
		"an answer less":         func(m *Minimisation) { m.log = m.log[:len(m.log)-2] },
		"an evaluation":          func(m *Minimisation) { m.ask.product, m.ask.v = false, nil },
		"rounded on another one": func(m *Minimisation) { m.ask.at[0] += 1e-12 },
	} {
		if got, want := refused(change), what != "rounded on another one"; got != want {
			t.Errorf("%s: refused %v", what, got)
		}
	}
}
