package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
)

// served returns a server with one model, m.
func served(t *testing.T, e estimator.Estimator, data datasets.Set, steps ...transformer.Fitter) *serve.Server {
	t.Helper()
	f, err := pipeline.Steps(steps...).Then(e).Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Limits: serve.Limits{MaxConcurrent: 64}})
	if err == nil {
		err = s.AddModel("m", "1", m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// atOnce sends all rows repeatedly, in concurrent single-row requests.
func atOnce(t *testing.T, s *serve.Server, model string, bodies []string, holds func(i int, got reply)) {
	t.Helper()
	var asked sync.WaitGroup
	for i, body := range bodies {
		asked.Go(func() {
			for range 20 {
				holds(i, ask(s, "POST", "/v1/models/"+model+":predict", body))
			}
		})
	}
	asked.Wait()
}

// Predictions do not depend on concurrent requests, bit for bit.
func TestRowsPredictedTogether(t *testing.T) {
	s := started(t, serve.Options{Limits: serve.Limits{MaxConcurrent: 64}})
	rng := rand.New(rand.NewPCG(5, 6))
	for name, m := range fitted() {
		var bodies, want []string
		for range 16 {
			body, err := json.Marshal(map[string]any{"rows": values(m.Schema, 1, rng)})
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, string(body))
			want = append(want, ask(s, "POST", "/v1/models/"+name+":predict", string(body)).body)
		}
		atOnce(t, s, name, bodies, func(i int, got reply) {
			if got.code != 200 || got.body != want[i] {
				t.Errorf("%s: %s, want %s", name, got.body, want[i])
			}
		})
	}
}

// An invalid row fails only its own request.
func TestBadRowAmongOthers(t *testing.T) {
	data := rows(numbers, 50, rand.New(rand.NewPCG(1, 1)))
	for i := range 50 {
		data.Y = append(data.Y, data.X.At(i, 0))
	}
	s := served(t, estimator.NewRidge(), data, transformer.NewStandardize())
	var bodies []string
	for i := range 16 {
		value := "null"
		if i%4 > 0 {
			value = fmt.Sprint(i)
		}
		bodies = append(bodies, `{"rows":[{"a":`+value+`,"b":1,"c":2}]}`)
	}
	atOnce(t, s, "m", bodies, func(i int, got reply) {
		if i%4 > 0 && got.code != 200 || i%4 == 0 && (got.code != 400 ||
			!strings.Contains(got.body, "row 0, column a: missing value")) {
			t.Errorf("%s: %d %s", bodies[i], got.code, got.body)
		}
	})
}

// fragile is a model that panics for the value 13.
type fragile struct{}

func (f fragile) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return f, nil }

func (f fragile) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	out := mat.Col(nil, 0, X)
	for _, v := range out {
		if v == 13 {
			panic("unlucky")
		}
	}
	return out, nil
}

// A panic in a batch is reported to each of its requests; the server continues.
func TestFaultAmongOthers(t *testing.T) {
	s := served(t, fragile{}, datasets.Set{X: mat.NewDense(1, 1, nil), Y: []float64{0}})
	var bodies []string
	for i := range 16 {
		bodies = append(bodies, fmt.Sprintf(`{"rows":[{"x0":%d}]}`, i))
	}
	atOnce(t, s, "m", bodies, func(i int, got reply) {
		if i == 13 && got.code != 500 || got.code != 200 && got.code != 500 {
			t.Errorf("%s: %d %s", bodies[i], got.code, got.body)
		}
	})
	if got := ask(s, "POST", "/v1/models/m:predict", bodies[1]); got.code != 200 {
		t.Errorf("afterwards: %d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/metrics", "").body; !strings.Contains(got, "bochner_requests_in_flight 0\n") {
		t.Error("requests are left")
	}
}
