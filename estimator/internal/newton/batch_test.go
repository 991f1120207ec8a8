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
	"github.com/bochner-ml/bochner/matrices"
)

// A batch with sampled preconditioners has the solutions of independent problems, for several C,
// widths and losses. This includes classes without sampled rows and unrepresentative samples. Few
// passes read all rows, and the bits are the same on any number of cores.
func TestSamplesLeadToTheSameMinima(t *testing.T) {
	const n, d, tol, most = 12000, 6, 1e-9, 90
	every := sampleInterval(n, d)
	if every < 3 {
		t.Fatal("there is no sample")
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
					problems = append(problems, task.Problems(on.Y, on.Weights, C, 1, width)...)
					tasks = append(tasks, task)
				}
			}
		}
	}
	for what, read := range map[string]*design.Rows{"in double precision": rows(d), "rounded": rounding(t, X)(d),
		"too large to be rounded": tooLarge(t, X)(d)} {
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
				t.Errorf("rows %s: %d passes, want at most %d", what, passes, most)
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

// tooLarge has rows that overflow float32.
func tooLarge(t *testing.T, X *mat.Dense) func(width int) *design.Rows {
	n, d := X.Dims()
	large := matrices.NewDense32(n, d, nil)
	for i := range n {
		for j := range large.Row(i) {
			large.Row(i)[j] = float32(math.Inf(1))
		}
	}
	return func(width int) *design.Rows {
		both := *leading(t, X)(width)
		var err error
		if both.Float32Rows, err = design.FromSet(datasets.Set{X: large.Leading(width)}); err != nil {
			t.Fatal(err)
		}
		return &both
	}
}
