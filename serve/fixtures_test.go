package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
)

var ctx = context.Background()

// mixed is a schema with all kinds of columns: numbers, strings, numeric codes, Booleans and a
// date.
var mixed = datasets.Schema{
	Columns: []datasets.Column{
		{Name: "age"},
		{Name: "city", Kind: datasets.Categorical, Categories: []string{"Paris", "Oslo", `a "b"`, "naïve", " lead"}},
		{Name: "zip", Kind: datasets.Categorical, Categories: []string{"010", "20", "3.5", "7"}},
		{Name: "member", Kind: datasets.Categorical, Categories: []string{"False", "True"}},
		{Name: "sold_year"}, {Name: "sold_month"},
		{Name: "size"},
	},
	Missing: []string{"?", "NA"},
}

// numbers is a schema of numeric columns.
var numbers = datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}

// rows draws random rows of a schema.
func rows(schema datasets.Schema, n int, rng *rand.Rand) datasets.Set {
	d := len(schema.Columns)
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j, c := range schema.Columns {
			switch {
			case c.Kind == datasets.Categorical:
				X.Set(i, j, float64(rng.IntN(len(c.Categories))))
			case strings.HasSuffix(c.Name, "_year"):
				X.Set(i, j, float64(1990+rng.IntN(30)))
			case strings.HasSuffix(c.Name, "_month"):
				X.Set(i, j, float64(1+rng.IntN(12)))
			default:
				X.Set(i, j, math.Round(1000*rng.NormFloat64())/1000)
			}
		}
	}
	return datasets.Set{X: X, Schema: schema}
}

// steps returns the steps of a pipeline for the schema.
func steps(schema datasets.Schema) []transformer.Fitter {
	rff := transformer.NewRFF()
	rff.Features = 32
	if len(schema.Columns) == len(numbers.Columns) {
		return []transformer.Fitter{transformer.NewImpute(), transformer.NewStandardize(), rff}
	}
	return []transformer.Fitter{pipeline.NewColumns(
		pipeline.Group{Name: "numeric", Select: []string{"numeric"},
			Steps: pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())},
		pipeline.Group{Name: "categorical", Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	), rff}
}

// fit fits a model with the given number of classes, or of targets if classes is 0.
func fit(schema datasets.Schema, e estimator.Estimator, classes, targets int) *modelfile.Model {
	rng := rand.New(rand.NewPCG(7, uint64(classes*10+targets)))
	data := rows(schema, 120, rng)
	last := data.Cols() - 1
	switch {
	case classes > 0:
		names := []string{"no", `y"es`, "maybe <&>"}[:classes]
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: names}}
		for i := range data.Rows() {
			data.Y = append(data.Y, float64(min(classes-1, int(math.Abs(data.X.At(i, 0)+data.X.At(i, last))))))
		}
	case targets == 1:
		data.Schema.Targets = []datasets.Column{{Name: "y"}}
		for i := range data.Rows() {
			data.Y = append(data.Y, data.X.At(i, 0)-2*data.X.At(i, last))
		}
	case targets > 1:
		data.Targets = mat.NewDense(data.Rows(), targets, nil)
		for t := range targets {
			data.Schema.Targets = append(data.Schema.Targets, datasets.Column{Name: fmt.Sprintf("y %d", t)})
			for i := range data.Rows() {
				data.Targets.Set(i, t, float64(t)*data.X.At(i, 0)-data.X.At(i, last))
			}
			if datasets.TagsOf(e).MultiLabel {
				data.Schema.Targets[t].Kind, data.Schema.Targets[t].Categories = datasets.Categorical, []string{"no", "yes"}
				for i := range data.Rows() {
					data.Targets.Set(i, t, math.Round(1/(1+math.Exp(-data.Targets.At(i, t)))))
				}
			}
		}
	}
	f, err := pipeline.Steps(steps(schema)...).Then(e).Fit(ctx, data)
	if err != nil {
		panic(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		panic(err)
	}
	seen, err := profile.Of(ctx, data.Source())
	if err != nil {
		panic(err)
	}
	m.Profile = &seen
	return m
}

// fitted contains models of every kind by name; names of models with numeric columns begin with
// "n".
var fitted = sync.OnceValue(func() map[string]*modelfile.Model {
	intervals := meta.NewIntervals(estimator.NewRidge())
	intervals.Method = "split"
	sets := meta.NewIntervals(estimator.NewLogistic())
	sets.Method = "split"
	return map[string]*modelfile.Model{
		"rent":      fit(mixed, estimator.NewRidge(), 0, 1),
		"chance":    fit(mixed, estimator.NewLogistic(), 2, 0),
		"three":     fit(mixed, estimator.NewLogistic(), 3, 0),
		"margin":    fit(mixed, estimator.NewSVM(), 2, 0),
		"margins":   fit(mixed, estimator.NewSVM(), 3, 0),
		"sure":      fit(mixed, estimator.NewGaussianProcess(), 0, 1),
		"between":   fit(mixed, intervals, 0, 1),
		"among":     fit(mixed, sets, 3, 0),
		"groups":    fit(mixed, cluster.NewKMeans(), 0, 0),
		"strange":   fit(mixed, anomaly.NewOneClass(), 0, 0),
		"nrent":     fit(numbers, estimator.NewRidge(), 0, 1),
		"nmany":     fit(numbers, estimator.NewRidge(), 0, 3),
		"nsuremany": fit(numbers, estimator.NewGaussianProcess(), 0, 2),
		"labels":    fit(mixed, estimator.NewLogistic(), 0, 3),
		"nlabels":   fit(numbers, estimator.NewRidgeClassifier(), 0, 2),
		"nchance":   fit(numbers, estimator.NewLogistic(), 2, 0),
	}
})

// save writes a model of fitted to dir.
func save(t testing.TB, dir, file, model string) string {
	t.Helper()
	path := filepath.Join(dir, file)
	if err := fitted()[model].Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// started returns a server of all models of fitted.
func started(t testing.TB, o serve.Options) *serve.Server {
	t.Helper()
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range fitted() {
		if err := s.AddModel(name, "1", m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// reply is a response.
type reply struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request to a handler.
func ask(h http.Handler, method, path, body string, header ...string) reply {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for k := 0; k+1 < len(header); k += 2 {
		r.Header.Set(header[k], header[k+1])
	}
	return do(h, r)
}

func do(h http.Handler, r *http.Request) reply {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		panic(err)
	}
	return reply{w.Code, w.Header(), string(bytes.TrimSuffix(body, []byte("\n")))}
}

// watched runs Server.Watch until the returned function is called.
func watched(s *serve.Server) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		s.Watch(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

// until waits for a condition.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not become true")
		}
	}
}

// inferDirect predicts the tensors of a request, as a front end does.
func inferDirect(s *serve.Server, r *protocol.InferRequest) (*protocol.InferResponse, error) {
	admission, err := s.Admit()
	if err != nil {
		return nil, err
	}
	defer admission.Finish()
	return admission.Infer(context.Background(), r)
}
