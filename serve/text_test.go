package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
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

// TestFormats checks that numbers with a unit come as JSON numbers, strings or numeric tensors, and labels as strings
// or arrays; other values are errors.
func TestFormats(t *testing.T) {
	rows := "ram,genres,y\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d GB,%s,%d\n", i%5, []string{"Action|Comedy", "Comedy", "Drama"}[i%3], i%5+i%3)
	}
	data, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"},
		Task:    datasets.Regression,
		Formats: map[string]datasets.Format{"ram": {Unit: "GB"}, "genres": {Delimiter: "|"}}}}.Read(t.Context(), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := pipeline.Steps(pipeline.NewColumns(
		pipeline.Group{Name: "numbers", Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewStandardize())},
		pipeline.Group{Name: "labels", Select: []string{"genres"}, Steps: pipeline.Steps(transformer.NewOneHot())},
	)).Then(estimator.NewRidge()).Fit(t.Context(), data)
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
	post := func(path, body string) string {
		return fmt.Sprint(ask(s, http.MethodPost, path, body, "Content-Type", "application/json"))
	}
	row := func(values string) string { return post("/v1/models/m:predict", `{"rows":[{`+values+`}]}`) }
	value := func(reply string) string {
		_, v, _ := strings.Cut(reply, `"value":`)
		v, _, _ = strings.Cut(v, "}")
		return v
	}
	want := value(row(`"ram":"3 GB","genres":"Comedy|Action"`))
	for _, values := range []string{`"ram":3,"genres":["Action","Comedy"]`, `"genres":["Comedy", " Action "],"ram":3.0`} {
		if got := row(values); want == "" || value(got) != want {
			t.Errorf("%s: %s, want value %s", values, got, want)
		}
	}
	if a, b := row(`"ram":3,"genres":[]`), row(`"ram":3,"genres":""`); value(a) == "" || value(a) != value(b) {
		t.Errorf("no labels: %s, %s", a, b)
	}
	for values, message := range map[string]string{
		`"ram":true,"genres":""`:      `must be a number of GB, or a string such as`,
		`"ram":"3 MB","genres":""`:    `got \"3 MB\"`,
		`"ram":1e999,"genres":""`:     `a number of magnitude at most`,
		`"ram":[3],"genres":""`:       `got an array`,
		`"ram":3,"genres":5`:          `or an array of labels, got a number`,
		`"ram":3,"genres":["a",5]`:    `label 1 must be a string without`,
		`"ram":3,"genres":["a","b|"]`: `label 1 must be a string without`,
		`"ram":3,"genres":["a",`:      `byte `,
	} {
		if got := row(values); !strings.Contains(got, message) {
			t.Errorf("%s: %s, want %s", values, got, message)
		}
	}
	tensors := `{"inputs":[{"name":"ram","shape":[1],"datatype":"%s","data":[%s]},` +
		`{"name":"genres","shape":[1],"datatype":"BYTES","data":["Action|Comedy"]}]}`
	for _, ram := range [][2]string{{"FP64", "3"}, {"INT32", "3"}, {"BYTES", `"3 GB"`}} {
		if got := post("/v2/models/m/infer", fmt.Sprintf(tensors, ram[0], ram[1])); !strings.Contains(got, "["+want+"]") {
			t.Errorf("%s: %s, want %s", ram, got, want)
		}
	}
	got := post("/v2/models/m/infer", fmt.Sprintf(tensors, "BOOL", "true"))
	if !strings.Contains(got, "must be BYTES or") {
		t.Errorf("BOOL: %s", got)
	}
}
