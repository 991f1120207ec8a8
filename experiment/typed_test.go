package experiment

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/bochner-ml/bochner/datasets/arrow" // read by the complete command
	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
)

// The same rows in files of text and of typed columns make the same model, in memory and streamed, and a model has
// the same predictions for all of them, from standard input too.
func TestTypedFormats(t *testing.T) {
	folder, err := filepath.Abs("../datasets")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"csv": "parquet/testdata/rows.csv", "parquet": "parquet/testdata/zstd.parquet",
		"arrow": "arrow/testdata/file.arrow", "stream": "arrow/testdata/stream.arrows"}
	t.Chdir(t.TempDir())
	const rest = `, target: income, weight: weight, drop: [uint64, unique, nothing], dates: {sold: [year, month], seen: [year], zoned: [hour]}, split: {test: 0.25}}
pipeline:
  - columns: {groups: [{select: numeric, steps: [{impute: {strategy: median}}, standardize]}, {select: categorical, steps: [onehot]}]}
  - logistic
`
	read := func(name string) string {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(whole)
	}
	for name, path := range files {
		for _, stream := range []string{"never", "always"} {
			execute(t, spec(t, "data: {train: "+filepath.Join(folder, path)+rest, set("output.dir", name+stream),
				set("data.stream", stream)))
		}
	}
	for name := range files {
		for _, stream := range []string{"never", "always"} {
			if read(name+stream+"/predictions.csv") != read("csv"+stream+"/predictions.csv") {
				t.Errorf("%s, stream: %s: other predictions than of the file of text", name, stream)
			}
		}
	}
	want := ""
	for _, name := range []string{"csv", "parquet", "arrow", "stream"} {
		var out bytes.Buffer
		if _, err := Predict(context.Background(), "csvnever/model.bochner", filepath.Join(folder, files[name]), &out,
			Options{}); err != nil {
			t.Fatal(name, err)
		}
		if want == "" {
			want = out.String()
		}
		if out.String() != want {
			t.Errorf("%s: other predictions for new rows", name)
		}
	}
	var out bytes.Buffer
	input := strings.NewReader(read(filepath.Join(folder, files["stream"])))
	if _, err := Predict(context.Background(), "csvnever/model.bochner", "-", &out, Options{Input: input}); err != nil ||
		out.String() != want {
		t.Errorf("from standard input: %v, %d bytes, want %d", err, out.Len(), len(want))
	}
}

// TestDraftOfTypedColumns checks that a draft names the unsupported columns of a typed file, and
// splits times into parts.
func TestDraftOfTypedColumns(t *testing.T) {
	for path, expected := range map[string][]string{
		"../datasets/parquet/testdata/snappy.parquet": {"target: income",
			"sold: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos]",
			"seen: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos, hour_sin, hour_cos]"},
		"../datasets/arrow/testdata/nested.arrow": {`target: "y"`, "- list # it is of type list",
			"- span # it is of type duration"},
		"../datasets/npy/testdata/stored.npz": {`target: "y"`, "- names # array must have 50 rows, got 3"},
	} {
		text, err := scaffold.Experiment(context.Background(), path, scaffold.Options{File: "../spec.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range expected {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
		if _, err := Parse(context.Background(), "../spec.yaml", text); err != nil {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
}
