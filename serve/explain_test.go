package serve_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// The values of a row and the base sum to its prediction, for every kind of model that predicts a number or classes.
func TestExplain(t *testing.T) {
	s := started(t, serve.Options{})
	rng := rand.New(rand.NewPCG(3, 4))
	explained := 0
	for name, m := range fitted() {
		body, err := json.Marshal(map[string]any{"rows": values(m.Schema, 5, rng)})
		if err != nil {
			t.Fatal(err)
		}
		r := ask(s, "POST", "/v1/models/"+name+":explain", string(body))
		if m.Task == datasets.Clustering || m.Profile == nil {
			if r.code != 400 || !strings.Contains(r.body, "explanation") {
				t.Errorf("%s: %d %s", name, r.code, r.body)
			}
			continue
		}
		var found inspection.ShapleyValues
		if err := json.Unmarshal([]byte(r.body), &found); err != nil || r.code != 200 || found.Background != 1 {
			t.Errorf("%s: %v %d %.200s", name, err, r.code, r.body)
			continue
		}
		explained++
		for _, o := range found.Outputs {
			for i, row := range o.Values {
				sum := o.Base
				for _, v := range row {
					sum += v
				}
				if math.Abs(sum-o.Predictions[i]) > 1e-3*(1+math.Abs(o.Base)) || len(o.Values) != 5 {
					t.Errorf("%s %s: row %d sums to %v, want %v", name, o.Name, i, sum, o.Predictions[i])
				}
			}
		}
	}
	if explained == 0 {
		t.Error("no model was explained")
	}
}

// Explanations are limited in rows × columns, and rejected without rows.
func TestExplainLimits(t *testing.T) {
	s := started(t, serve.Options{Limits: serve.Limits{MaxRows: 3}})
	for name, m := range fitted() {
		if m.Profile == nil || m.Task == datasets.Clustering {
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for n, code := range map[int]int{0: 400, 3: 413, 4: 413} {
			body, _ := json.Marshal(map[string]any{"rows": values(m.Schema, n, rng)})
			if r := ask(s, "POST", "/v1/models/"+name+":explain", string(body)); r.code != code && len(m.Schema.Columns) > 1 {
				t.Errorf("%s, %d rows: %s", name, n, fmt.Sprint(r.code, r.body))
			}
		}
	}
}

// Predictions do not wait for explanations, which have slots and a queue of their own.
func TestPredictionsBeforeExplanations(t *testing.T) {
	m := tame{held: make(chan struct{}), at: new(atomic.Int64)}
	s := serving(t, m, serve.Options{Limits: serve.Limits{MaxConcurrent: 1, MaxExplaining: 2, MaxQueued: 3}})
	held, err := s.Model("m", "")
	if err != nil {
		t.Fatal(err)
	}
	held.File.Profile = &profile.Profile{Rows: 1, Columns: []profile.Column{{Name: "x0", Kind: "numeric",
		Quantiles: make([]float64, 11), Counts: []int{1}}}}
	f, err := pipeline.Steps().Then(tame{predict: func(v float64) (float64, error) { return v, nil }}).Fit(ctx,
		datasets.Set{X: mat.NewDense(1, 1, nil), Y: []float64{0}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := modelfile.New(f)
	if err == nil {
		err = s.AddModel("free", "1", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var asked sync.WaitGroup
	for range 5 {
		asked.Go(func() {
			if got := ask(s, "POST", "/v1/models/m:explain", one); got.code != 200 {
				t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
	until(t, func() bool {
		return m.at.Load() == 2 && strings.Contains(ask(s, "GET", "/metrics", "").body, "bochner_requests_waiting 3\n")
	})
	for range 20 {
		if got := ask(s, "POST", "/v1/models/free:predict", one); got.code != 200 {
			t.Errorf("%d %s", got.code, got.body)
		}
	}
	if got := ask(s, "POST", "/v1/models/m:explain", one); got.code != 429 {
		t.Errorf("%d %s", got.code, got.body)
	}
	if n := m.at.Load(); n != 2 {
		t.Errorf("%d explanations at a time, want 2", n)
	}
	close(m.held)
	asked.Wait()
}
