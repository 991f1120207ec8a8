package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/ui"
	"github.com/bochner-ml/bochner/transformer"
)

var ctx = context.Background()

// evil contains names that must be escaped.
var evil = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)`,
	`</select></style>&amp;`, `{{.}}`}

// mixed is a schema with all kinds of columns.
var mixed = datasets.Schema{Columns: []datasets.Column{
	{Name: "age"},
	{Name: "city", Kind: datasets.Categorical, Categories: []string{"Paris", "Oslo", " lead", "a+b&c"}},
	{Name: "sold_year"}, {Name: "sold_month"},
	{Name: "size m²"},
}, Missing: []string{"?"}}

// oddly is a schema with unusual names.
var oddly = datasets.Schema{Columns: []datasets.Column{
	{Name: "a b"}, {Name: "é=ß&"}, {Name: `"`}, {Name: "model"}, {Name: "version"}, {Name: evil[0]}, {Name: evil[1]},
	{Name: evil[2], Kind: datasets.Categorical, Categories: evil}, {Name: "x[0]"}, {Name: "two\nlines"}, {Name: "100%"},
	{Name: "submit"},
}}

// wide returns a schema of n columns.
func wide(n int) (s datasets.Schema) {
	for j := range n {
		s.Columns = append(s.Columns, datasets.Column{Name: fmt.Sprintf("number %d of many", j)})
	}
	return s
}

// fit fits a model with the given class names, or targets without classes.
func fit(schema datasets.Schema, e estimator.Estimator, classes []string, targets int,
	own ...transformer.Fitter) *modelfile.Model {
	rng := rand.New(rand.NewPCG(7, uint64(len(classes)*10+targets)))
	n, d := 120, len(schema.Columns)
	data := datasets.Set{X: mat.NewDense(n, d, nil), Schema: schema}
	x := data.X.(*mat.Dense)
	for i := range n {
		for j, c := range schema.Columns {
			switch {
			case c.Kind == datasets.Categorical:
				x.Set(i, j, float64(min(rng.IntN(2*len(c.Categories)), len(c.Categories)-1)))
			case c.Name == "sold_year":
				x.Set(i, j, float64(1990+rng.IntN(30)))
			case c.Name == "sold_month":
				x.Set(i, j, float64(1+rng.IntN(12)))
			default:
				x.Set(i, j, math.Round(1000*rng.NormFloat64())/1000)
			}
		}
	}
	if classes != nil {
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: classes}}
	}
	for t := range targets {
		data.Schema.Targets = append(data.Schema.Targets, datasets.Column{Name: fmt.Sprintf("y %d", t)})
	}
	if targets > 1 {
		data.Targets = mat.NewDense(n, targets, nil)
	}
	for i := range n {
		a, b := x.At(i, 0), x.At(i, d-1)
		switch {
		case classes != nil:
			data.Y = append(data.Y, float64(min(len(classes)-1, int(math.Abs(a+b)))))
		case targets == 1:
			data.Y = append(data.Y, 1000*(a-2*b))
		case targets > 1:
			for t := range targets {
				data.Targets.Set(i, t, float64(t)*a-b)
			}
		}
	}
	steps := []transformer.Fitter{transformer.NewImpute(), transformer.NewStandardize()}
	if slices.ContainsFunc(schema.Columns, func(c datasets.Column) bool { return c.Kind == datasets.Categorical }) {
		steps = []transformer.Fitter{pipeline.NewColumns(
			pipeline.Group{Name: "numeric", Select: []string{"numeric"}, Steps: pipeline.Steps(steps...)},
			pipeline.Group{Name: "categorical", Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())},
		)}
	}
	if own != nil {
		steps = own
	}
	f, err := pipeline.Steps(steps...).Then(e).Fit(ctx, data)
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
	if d == len(mixed.Columns) {
		m.Reading = "dates: {sold: {order: dmy, parts: [year, month]}}\n"
	}
	return m
}

// split adds intervals or sets to a model.
func split(of estimator.Estimator) estimator.Estimator {
	i := meta.NewIntervals(of)
	i.Method, i.Level = "split", 0.8
	return i
}

// fitted contains models of every kind by name.
var fitted = sync.OnceValue(func() map[string]*modelfile.Model {
	three := []string{"no", evil[0], evil[1]}
	bare := fit(mixed, estimator.NewRidge(), nil, 1)
	bare.Profile, bare.Reading = nil, ""
	return map[string]*modelfile.Model{
		"rent":     fit(mixed, estimator.NewRidge(), nil, 1),
		"bare":     bare,
		"chance":   fit(mixed, estimator.NewLogistic(), three[:2], 0),
		"three":    fit(mixed, estimator.NewLogistic(), three, 0),
		"margin":   fit(mixed, estimator.NewSVM(), three[:2], 0),
		"margins":  fit(mixed, estimator.NewSVM(), three, 0),
		"sure":     fit(mixed, estimator.NewGaussianProcess(), nil, 1),
		"between":  fit(mixed, split(estimator.NewRidge()), nil, 1),
		"among":    fit(mixed, split(estimator.NewLogistic()), three, 0),
		"groups":   fit(mixed, cluster.NewKMeans(), nil, 0),
		"strange":  fit(mixed, anomaly.NewOneClass(), nil, 0),
		"many":     fit(mixed, estimator.NewGaussianProcess(), nil, 2),
		"odd":      fit(oddly, estimator.NewRidge(), nil, 1),
		"hundreds": fit(wide(300), estimator.NewRidge(), nil, 1),
		"widest":   fit(wide(501), estimator.NewRidge(), nil, 1),
	}
})

// started returns a server of all models with pages.
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
	s.Mount(ui.New(s))
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
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		panic(err)
	}
	return reply{w.Code, w.Header(), string(text)}
}

// element is an HTML element.
type element struct {
	*html.Node
	attr map[string]string
}

// parse parses a page.
func parse(t testing.TB, body string) (out []element) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			e := element{n, map[string]string{}}
			for _, a := range n.Attr {
				e.attr[a.Key] = a.Val
			}
			out = append(out, e)
		}
	}
	return out
}

// text returns the text content.
func (e element) text() string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// find returns the elements with a tag or, after a period, a class.
func find(page []element, what string) (out []element) {
	class, is := strings.CutPrefix(what, ".")
	for _, e := range page {
		if !is && e.Data == what || is && slices.Contains(strings.Fields(e.attr["class"]), class) {
			out = append(out, e)
		}
	}
	return out
}

// filled returns the values that a browser submits.
func filled(page []element) url.Values {
	out := url.Values{}
	lines := strings.NewReplacer("\r\n", "\r\n", "\n", "\r\n")
	for _, e := range page {
		name := lines.Replace(e.attr["name"])
		switch {
		case e.Data == "input":
			out.Add(name, e.attr["value"])
		case e.Data == "select":
			value := ""
			for n := range e.Descendants() {
				option := element{Node: n, attr: map[string]string{}}
				for _, a := range n.Attr {
					option.attr[a.Key] = a.Val
				}
				if _, chosen := option.attr["selected"]; chosen {
					value = option.attr["value"]
				}
			}
			out.Add(name, lines.Replace(value))
		}
	}
	return out
}

// predicted returns the prediction of /v1 for form values.
func predicted(t testing.TB, h http.Handler, model string, given url.Values) modelfile.RowPrediction {
	t.Helper()
	row := map[string]any{}
	for name := range given {
		row[strings.ReplaceAll(name, "\r\n", "\n")] = strings.ReplaceAll(given.Get(name), "\r\n", "\n")
	}
	body, err := json.Marshal(map[string]any{"rows": []any{row}})
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Predictions []modelfile.RowPrediction }
	a := ask(h, "POST", "/v1/models/"+model+":predict", string(body))
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.code != 200 {
		t.Fatalf("%s: %d %s, %v", model, a.code, a.body, err)
	}
	return out.Predictions[0]
}
