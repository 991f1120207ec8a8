package experiment

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/param"
)

// Any text is a spec or a list of errors with messages; a spec round-trips.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		everything,
		"data: {dataset: iris}\npipeline: [logistic]\n",
		"data: {dataset: iris, split: {test: 0.2}}\npipeline:\n  - rff: {gamma: scale, features: 1e2}\n  - svm: {loss: " +
			"hinge}\nsearch:\n  grid: {rff.gamma: {log: [1e-3, 1, 7]}, svm.C: {lin: [1, 2, 3]}}\n  folds: 3\n",
		"a: &a [1, 2]\ndata: *a\npipeline: [{union: [rff, binning]}, ridge]\nsearch: {grid: {x: *a}}\n",
		"data:\n\ttrain: x\n",
		"--- \n...\n---\n",
		"{? [a]: b, <<: {c: d}, !!binary x: !!float 1}",
		"data: {dataset: iris, csv: {missing: [~, 1, .nan]}, kinds: {a: b}}\npipeline: [{columns: [{select: numeric, " +
			"steps: [pca, {steps: [robust]}]}]}, {svr: {C: .inf}}]\n",
	} {
		f.Add([]byte(text), "rff.gamma", "1")
		f.Add([]byte(text), "search.grid.rff.gamma", "{log: [1, 2, 3]}")
	}
	f.Fuzz(func(t *testing.T, text []byte, path, value string) {
		var overrides []Override
		if path != "" {
			overrides = []Override{set(path, value)}
		}
		s, err := Parse(context.Background(), "fuzz/spec.yaml", text, overrides...)
		if err != nil {
			var errs param.FieldErrors
			if !errors.As(err, &errs) || len(errs) == 0 || err.Error() == "" {
				t.Fatalf("an empty error: %v", err)
			}
			return
		}
		if len(s.Data.Train) > 0 {
			return // a file the fuzzer has found
		}
		written, err := s.Encode("fuzz/spec.yaml")
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(context.Background(), "fuzz/spec.yaml", written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		twice, err := again.Encode("fuzz/spec.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written, twice) || !reflect.DeepEqual(s.Data, again.Data) {
			t.Fatalf("another spec:\n%s\n%s", written, twice)
		}
		short, err := brief(s, "fuzz/spec.yaml")
		if err != nil {
			t.Fatal(err)
		}
		again, err = Parse(context.Background(), "fuzz/spec.yaml", short)
		if err != nil || !reflect.DeepEqual(s.Data, again.Data) {
			t.Fatalf("another spec, or %v:\n%s", err, short)
		}
	})
}

// A draft of any data is a file that can be parsed: its errors concern the rows, not its YAML.
func FuzzDraft(f *testing.F) {
	for _, c := range drafts {
		f.Add([]byte(c.text[:min(len(c.text), 400)]))
	}
	f.Add([]byte("a: b,\"x\ny\",# c,'\n1,2,3,4\n"))
	f.Add([]byte("\xff\xfe\x00"))
	f.Fuzz(func(t *testing.T, rows []byte) {
		path := t.TempDir() + "/rows.csv"
		put(t, path, string(rows))
		text, err := scaffold.Experiment(context.Background(), path, scaffold.Options{})
		if err != nil {
			return
		}
		var root map[string]yaml.Node
		if err := yaml.Unmarshal(text, &root); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, key := range []string{"data", "pipeline", "output"} {
			if node := root[key]; node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode {
				t.Fatalf("no %s in\n%s", key, text)
			}
		}
		if _, err := Parse(context.Background(), "rows.yaml", text); err != nil {
			var errs param.FieldErrors
			if !errors.As(err, &errs) {
				t.Fatal(err)
			}
			for _, problem := range errs {
				if problem.File != path && !strings.HasPrefix(problem.Path, "data") &&
					!strings.HasPrefix(problem.Path, "pipeline") {
					t.Fatalf("%v\n%s", err, text)
				}
			}
		}
	})
}
