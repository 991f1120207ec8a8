package newton

import (
	"context"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/model"
)

// A serialized pass with a request of another solver version is rejected.
func TestAnswersToOtherQuestionsAreRefused(t *testing.T) {
	const n, d = 200, 5
	X, l := classes(n, d, 2)
	task := Logistic(l, true, 1e-9)
	plan := IncrementalOptions{Cols: d, Rows: n, Tol: 1e-9, MaxIter: 100,
		Block: func(int, datasets.Set) ([]float64, []float64, error) { return l.Y, l.Weights, nil }}
	m, err := task.Begin(context.Background(), plan)
	for passes := 0; err == nil && (passes < 4 || !m.request.isProduct); passes++ {
		carried(t, task, plan, m)
		if err = m.Add(context.Background(), 0, datasets.Set{X: X}); err == nil {
			m, err = m.Next(context.Background())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := func(change func(m *IncrementalNewton)) bool {
		other := *m
		other.request.x, other.request.v, other.replies = slices.Clone(m.request.x), slices.Clone(m.request.v),
			slices.Clone(m.replies)
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
	for what, change := range map[string]func(m *IncrementalNewton){
		"a point further on":     func(m *IncrementalNewton) { m.request.x[0] *= 1.01 },
		"an answer less":         func(m *IncrementalNewton) { m.replies = m.replies[:len(m.replies)-2] },
		"an evaluation":          func(m *IncrementalNewton) { m.request.isProduct, m.request.v = false, nil },
		"rounded on another one": func(m *IncrementalNewton) { m.request.x[0] += 1e-12 },
	} {
		if got, want := refused(change), what != "rounded on another one"; got != want {
			t.Errorf("%s: refused %v", what, got)
		}
	}
}
