package searchloop

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// slow predicts the memory budget of its fit, after the context has ended if it waits.
type slow struct{ Wait bool }

func (s slow) Fit(ctx context.Context, _ datasets.Set) (estimator.Predictor, error) {
	if s.Wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return constant(memory.Budget(ctx)), nil
}

type constant float64

func (c constant) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	return slices.Repeat([]float64{float64(c)}, n), nil
}

// proposalOf returns a proposal of one fit that notes its prediction and its error.
func proposalOf(s slow, value *float64, failed *error) *Proposal {
	data := datasets.Set{X: mat.NewDense(4, 1, nil), Y: make([]float64, 4)}
	j := batch.Job{Data: data, Shape: data.Shape(), Candidates: batch.Candidates(s),
		Folds: []datasets.Fold{{Train: []int{0, 1}, Test: []int{2, 3}}}}
	return &Proposal{
		Job:    func(context.Context) (batch.Job, time.Duration, error) { return j, 0, nil },
		Record: func(_, _ int, out batch.Outcome) error { *value = out.Values[0]; return out.Err },
		Done:   func(_ []string, err error) error { *failed = err; return nil },
	}
}

// A search determines its memory once and passes it to its fits, divided by the concurrent proposals.
func TestBudgetIsPassedDown(t *testing.T) {
	l := New(1<<30, estimator.FitBatch)
	l.Workers = 2
	values, errs := make([]float64, 2), make([]error, 2)
	err := l.Run(context.Background(), 2, func(i int) (*Proposal, error) {
		return proposalOf(slow{}, &values[i], &errs[i]), nil
	})
	if err = errors.Join(append(errs, err)...); err != nil || !slices.Equal(values, []float64{1 << 29, 1 << 29}) {
		t.Errorf("the fits may take %v bytes: %v", values, err)
	}
}

// The end of the time, a stop and the limit of a proposal cancel fits with different errors.
func TestEnds(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	for _, c := range []struct {
		name  string
		until time.Time
		limit time.Duration
		stop  <-chan struct{}
		want  error
	}{
		{"time", time.Now(), 0, nil, ErrEnded}, {"stop", time.Time{}, 0, stop, ErrEnded},
		{"limit", time.Time{}, time.Millisecond, nil, ErrLimit},
	} {
		l := New(1<<30, estimator.FitBatch)
		l.Stop = c.stop
		var value float64
		var failed error
		p := proposalOf(slow{Wait: true}, &value, &failed)
		j, _, _ := p.Job(context.Background())
		p.Until, p.Job = c.until, func(context.Context) (batch.Job, time.Duration, error) { return j, c.limit, nil }
		err := l.Run(context.Background(), 1, func(int) (*Proposal, error) { return p, nil })
		if err != nil || failed != c.want {
			t.Errorf("%s: %v, %v", c.name, failed, err)
		}
		if l.Stopped() != (c.stop != nil) {
			t.Errorf("%s: stopped is %v", c.name, l.Stopped())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var value float64
	var failed error
	New(1<<30, estimator.FitBatch).Run(ctx, 1, func(int) (*Proposal, error) { return proposalOf(slow{Wait: true}, &value, &failed), nil })
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("canceled: %v", failed)
	}
}

// After an error or a panic of a strategy nothing more is proposed.
func TestFirstErrorEnds(t *testing.T) {
	for _, panics := range []bool{false, true} {
		asked := 0
		err := New(1<<30, estimator.FitBatch).Run(context.Background(), 5, func(i int) (*Proposal, error) {
			if asked++; i == 1 && panics {
				panic("requested")
			} else if i == 1 {
				return nil, errors.New("requested")
			}
			return nil, nil
		})
		if err == nil || asked != 2 {
			t.Errorf("%d proposals: %v", asked, err)
		}
	}
}

// The journal returns outcomes bit for bit with their predictions, by key and by number.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	head := journal.Head{Journal: "test"}
	out := Outcome{Done: true, Scores: []float64{1.0 / 3, 2}, Seconds: 4, Failed: "why", Unconverged: true}
	out.Output.Values, out.Output.Scores = []float64{0.1, 0.2}, mat.NewDense(2, 1, []float64{3, 4})
	fits := []Fit{{Key: "a"}, {Round: 1, Candidate: 2, Fold: 3}}
	l := New(1, estimator.FitBatch)
	if err := l.Open(path, head, nil, nil); err != nil || !l.Journaled() {
		t.Fatal(err)
	}
	for _, at := range fits {
		if err := l.Write(at, out); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.WriteShared(1, []string{"alpha"}), l.Close()); err != nil {
		t.Fatal(err)
	}
	var shared []string
	if err := l.Open(path, head, nil, func(e Entry) { shared = e.Shared }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, at := range fits {
		got, ok := l.Recorded(at)
		if !ok || !slices.Equal(got.Scores, out.Scores) || !slices.Equal(got.Output.Values, out.Output.Values) ||
			!mat.Equal(got.Output.Scores, out.Output.Scores) || got.Failed != "why" || !got.Unconverged || got.Seconds != 4 {
			t.Errorf("%v: %+v", at, got)
		}
	}
	if _, ok := l.Recorded(Fit{Key: "b"}); ok || !slices.Equal(shared, []string{"alpha"}) {
		t.Errorf("another fit is known, or %q is shared", shared)
	}
	if l.Open(path, head, func(Fit, Outcome) error { return errors.New("of another search") }, func(Entry) {}) == nil {
		t.Error("fits of another search are taken")
	}
}
