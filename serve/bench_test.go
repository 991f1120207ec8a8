package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
)

// wide is a model of 10 columns and 1024 random features.
func wide(b *testing.B) *modelfile.Model {
	rng := rand.New(rand.NewPCG(1, 1))
	X, y := mat.NewDense(2000, 10, nil), make([]float64, 2000)
	for i := range y {
		for j := range 10 {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = X.At(i, 0)
	}
	schema := datasets.Schema{}
	for j := range 10 {
		schema.Columns = append(schema.Columns, datasets.Column{Name: fmt.Sprintf("column_%d", j)})
	}
	rff := transformer.NewRFF()
	rff.Features = 1024
	f, err := pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize(),
		rff).Then(estimator.NewRidge()).Fit(ctx, datasets.Set{X: X, Y: y, Schema: schema})
	if err != nil {
		b.Fatal(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// discard is a response writer without output.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkPredictRows measures a request of n rows at D=1024 without a network; BenchmarkPredict
// measures the model alone.
func BenchmarkPredictRows(b *testing.B) {
	m := wide(b)
	s, err := serve.New(serve.Options{})
	if err == nil {
		err = s.AddModel("m", "1", m)
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 16, 256} {
		var one []string
		for j := range 10 {
			one = append(one, fmt.Sprintf(`"column_%d":%.4f`, j, 0.1234*float64(j)))
		}
		row := "{" + strings.Join(one, ",") + "}"
		body := []byte(`{"rows":[` + strings.TrimSuffix(strings.Repeat(row+",", n), ",") + `]}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("POST", "/v1/models/m:predict", nil)
			r.Header.Set("Content-Type", "application/json")
			for b.Loop() {
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				s.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	m := wide(b)
	for _, n := range []int{1, 2, 4, 8, 16, 64, 256} {
		X := mat.NewDense(n, 10, nil)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := estimator.Predict(ctx, m.Predictor, X, estimator.Request{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
