// Command check exports a small model of every step and kind in every format to a directory, with
// rows and Bochner's predictions for them. check.sh runs it and compares the predictions with those
// of ONNX Runtime, of the Python modules and of a Go program with the Go packages.
//
//	go run ./graph/check DIR
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/graph/golang"
	"github.com/bochner-ml/bochner/graph/onnx"
	"github.com/bochner-ml/bochner/graph/python"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/pipeline/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check DIR")
		os.Exit(2)
	}
	if err := write(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcome describes an exported model for check.py.
type outcome struct {
	Name    string           `json:"name"`
	Refusal string           `json:"refusal,omitempty"` // why it cannot be exported
	Inputs  []column         `json:"inputs"`
	Classes []string         `json:"classes"`
	Outputs map[string][]any `json:"outputs"` // predictions of Bochner, by output of the graph
}

// column is an input with its values: numbers, strings, and nil for a missing value.
type column struct {
	Name    string `json:"name"`
	Strings bool   `json:"texts"`
	Values  []any  `json:"values"`
}

// write exports all models. It returns an error if a registered step is in none of them.
func write(ctx context.Context, dir string) error {
	first, err := exportOperations(dir)
	if err != nil {
		return err
	}
	all, seen := []outcome{first}, ""
	for _, c := range cases() {
		o, err := c.export(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, o)
		seen += c.pipeline + " "
	}
	var errs []error
	for _, e := range pipeline.Registered() {
		if e.Name != "tfidf" && !containsWord(seen, e.Name) { // rows of this program have no text, which exports refuse
			errs = append(errs, fmt.Errorf("models must contain every step, got none with %s", e.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := goProgram(dir, all); err != nil {
		return err
	}
	return put(filepath.Join(dir, "cases.json"), func(w io.Writer) error { return json.NewEncoder(w).Encode(all) })
}

// containsWord reports whether a string contains a word.
func containsWord(text, word string) bool {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	}) {
		if one == word {
			return true
		}
	}
	return false
}

// export fits a model, exports it in every format, and returns its predictions.
func (c oneCase) export(ctx context.Context, dir string) (outcome, error) {
	out := outcome{Name: c.name}
	spec, err := yaml.Unmarshal([]byte(c.pipeline), yaml.Origin{Path: c.name})
	if err != nil {
		return out, err
	}
	train, rows := randomRows(c.kind, 300), randomRows(c.kind, 1000)
	fitted, err := spec.Fit(ctx, train)
	if err != nil {
		return out, err
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		return out, err
	}
	g, err := m.Graph()
	switch {
	case refused[c.name] && err != nil:
		out.Refusal = err.Error()
		return out, nil
	case refused[c.name]:
		return out, errors.New("export must be refused, got a graph")
	case err != nil:
		return out, err
	}
	addUnseen(rows)
	out.Inputs, out.Classes = columns(rows), g.Classes()
	output, err := estimator.Predict(ctx, m.Predictor, rows.X, estimator.Request{})
	if err != nil {
		return out, err
	}
	if out.Outputs, err = namedOutputs(g, output); err != nil {
		return out, err
	}
	return out, c.write(dir, g)
}

// write writes a graph in every format.
func (c oneCase) write(dir string, g *graph.Graph) error {
	metadata := graph.Metadata{Name: c.name, Task: c.kind}
	for _, precision := range []string{"float32", "float64", "float32-only"} {
		err := put(filepath.Join(dir, c.name+"."+precision+".onnx"), func(w io.Writer) error {
			_, err := onnx.Options{Metadata: metadata, Precision: precision, Opset: opsets[c.name]}.Write(w, g)
			return err
		})
		if err != nil {
			return err
		}
	}
	err := put(filepath.Join(dir, c.name+".py"), func(w io.Writer) error {
		_, err := python.Options{Metadata: metadata}.Write(w, g)
		return err
	})
	if err != nil {
		return err
	}
	return put(filepath.Join(dir, "go", c.name, "model.go"), func(w io.Writer) error {
		_, err := golang.Options{Metadata: metadata, Package: "model"}.Write(w, g)
		return err
	})
}

// namedOutputs returns the predictions under the names of the outputs of the graph, which must be
// complete.
func namedOutputs(g *graph.Graph, output estimator.Prediction) (map[string][]any, error) {
	all := map[string]mat.Matrix{}
	add := func(name string, values []float64, m *mat.Dense) {
		if m != nil {
			all[name] = m
		} else if values != nil {
			all[name] = mat.NewDense(len(values), 1, values)
		}
	}
	add("std", output.Std, output.StdTargets)
	add("lower", output.Lower, output.LowerTargets)
	add("upper", output.Upper, output.UpperTargets)
	add("anomaly_score", output.Anomaly, nil)
	add("probabilities", nil, output.Probabilities)
	add("sets", nil, output.Sets)
	out := map[string][]any{}
	for _, o := range g.Outputs() {
		values := all[o.Name]
		delete(all, o.Name)
		switch o.Name {
		case "label", "value":
			values = mat.NewDense(len(output.Values), 1, output.Values)
		case "values":
			values = output.Targets
		case "scores":
			values = output.Scores
		}
		if values == nil {
			return nil, fmt.Errorf("output %s is missing in the prediction of the model", o.Name)
		}
		out[o.Name] = jsonRows(values, o.Name, g.Classes())
	}
	for name := range all {
		return nil, fmt.Errorf("output %s is missing in the graph", name)
	}
	return out, nil
}

// jsonRows converts rows to JSON values, class codes to names.
func jsonRows(m mat.Matrix, name string, classes []string) []any {
	n, d := m.Dims()
	out := make([]any, n)
	for i := range n {
		if name == "label" {
			out[i] = int(m.At(i, 0))
			if len(classes) > 0 {
				out[i] = classes[int(m.At(i, 0))]
			}
			continue
		}
		row := make([]any, d)
		for j := range d {
			if v := m.At(i, j); !math.IsInf(v, 0) && !math.IsNaN(v) {
				row[j] = v
			} else {
				row[j] = fmt.Sprint(v)
			}
		}
		out[i] = row
	}
	return out
}

// put creates a file and its parent directories.
func put(path string, fill func(w io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return errors.Join(fill(w), w.Flush(), file.Close())
}

// goProgram writes a program that predicts JSON lines with a generated Go package.
func goProgram(dir string, all []outcome) error {
	var text bytes.Buffer
	text.WriteString("package main\n\nimport (\n\t\"encoding/json\"\n\t\"io\"\n\t\"os\"\n\n")
	for _, o := range all {
		if o.Refusal == "" {
			fmt.Fprintf(&text, "\t%s \"check/%s\"\n", o.Name, o.Name)
		}
	}
	text.WriteString(")\n\nfunc main() {\n\trows, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)\n\tvar " +
		"err error\n\tfor err == nil {\n\t\tswitch os.Args[1] {\n")
	for _, o := range all {
		if o.Refusal == "" {
			fmt.Fprintf(&text, "\t\tcase %q:\n\t\t\trow := %s.NewRow()\n\t\t\tif err = rows.Decode(&row); err == nil "+
				"{\n\t\t\t\terr = out.Encode(%s.Predict(row))\n\t\t\t}\n", o.Name, o.Name, o.Name)
		}
	}
	text.WriteString("\t\tdefault:\n\t\t\tpanic(os.Args[1])\n\t\t}\n\t}\n\tif err != io.EOF {\n\t\tpanic(err)\n\t}\n}\n")
	err := put(filepath.Join(dir, "go", "main.go"), func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
	return errors.Join(err, put(filepath.Join(dir, "go", "go.mod"), func(w io.Writer) error {
		_, err := io.WriteString(w, "module check\n\ngo 1.22\n")
		return err
	}))
}
