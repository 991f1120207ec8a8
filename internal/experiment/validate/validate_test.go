package validate

import (
	"context"
	"os"
	"testing"

	"github.com/bochner-ml/bochner/internal/experiment/config"
)

// Errors of the data have the position of the file name in the document, or name the override.
func TestErrorLocations(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("rows.csv", []byte("a,b,y\n1,2,no\n3,4,yes\n5,6,no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const head, tail = "data:\n  train: rows.csv\n  target: y\n", "pipeline: [logistic]\n"
	for _, c := range []struct{ path, line, value string }{
		{"data.drop", "drop: [nope]", "[nope]"},
		{"data.weight", "weight: nope", "nope"},
		{"data.kinds", "kinds: {nope: numeric}", "{nope: numeric}"},
		{"data.dates", "dates: {nope: [year]}", "{nope: [year]}"},
		{"data.test", "test: nope.csv", "nope.csv"},
	} {
		written := config.Decode("spec.yaml", []byte(head+"  "+c.line+"\n"+tail))
		set := config.Decode("spec.yaml", []byte(head+tail), config.Override{Path: c.path, Value: c.value})
		for file, d := range map[string]*config.Document{"spec.yaml": written, "--set": set} {
			if Document(context.Background(), d, true); len(d.Errors) == 0 {
				t.Errorf("%s of %s: no fault", c.path, file)
				continue
			}
			if f := d.Errors[0]; f.File != file || f.Path != c.path || (f.Line == 4) != (file == "spec.yaml") {
				t.Errorf("%s of %s: %v", c.path, file, f)
			}
		}
	}
}
