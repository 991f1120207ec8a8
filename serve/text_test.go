package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// Text comes as JSON strings and as BYTES tensors; other values are errors. Concurrent requests have their own text.
func TestText(t *testing.T) {
	var rows []map[string]any
	for i := range 40 {
		rows = append(rows, map[string]any{"message": fmt.Sprintf("%s message number %d of many", []string{"good",
			"bad"}[i%2], i), "x": float64(i % 5), "y": []string{"yes", "no"}[i%2]})
	}
	data, err := datasets.FromMaps(rows, "y")
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := preprocessing.Steps(preprocessing.Of(data)).Then(estimator.NewLogistic()).Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	s := started(t, serve.Options{})
	if err := s.AddModel("m", "1", m); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, body, want string }{
		{"/v1/models/m:predict", `{"rows":[{"message":"a good one","x":1},{"message":"a bad one","x":1}]}`, `"class":"yes"`},
		{"/v1/models/m:predict", `{"rows":[{"message":"bad","x":1}]}`, `"class":"no"`},
		{"/v1/models/m:predict", `{"rows":[{"message":null,"x":1}]}`, `"class":`},
		{"/v1/models/m:predict", `{"rows":[{"message":5,"x":1}]}`, `must be a string, got`},
		{"/v2/models/m/infer", `{"inputs":[{"name":"message","shape":[1],"datatype":"BYTES","data":["bad"]},` +
			`{"name":"x","shape":[1],"datatype":"FP64","data":[1]}]}`, `"no"`},
		{"/v2/models/m/infer", `{"inputs":[{"name":"message","shape":[1],"datatype":"FP64","data":[1]},` +
			`{"name":"x","shape":[1],"datatype":"FP64","data":[1]}]}`, `must be BYTES with text`},
		{"/v2/models/m", "", `{"name":"message","datatype":"BYTES"`},
	} {
		method := http.MethodPost
		if c.body == "" {
			method = http.MethodGet
		}
		got := ask(s, method, c.path, c.body, "Content-Type", "application/json")
		if !strings.Contains(fmt.Sprint(got), c.want) {
			t.Errorf("%s %s: %v, want %s", c.path, c.body, got, c.want)
		}
	}
}
