package experiment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// Of very many rows in a file, 2²⁰ are scored, evenly spaced; rows are identified by their number
// in the file, and the profile describes all of them. Rows in memory are all scored.
func TestManyRowsInAFile(t *testing.T) {
	const n = maxJudgedInFile + maxJudgedInFile/2
	dir := t.TempDir()
	var text bytes.Buffer
	text.WriteString("x,y\n")
	for i := range n {
		if i%3 == 2 { // never a row that is scored, which are ⌊3k/2⌋
			text.WriteString("1,9\n")
		} else {
			fmt.Fprintf(&text, "0,%d\n", i%2)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(stream string) result.Result {
		spec, err := Parse(context.Background(), "many.yaml", fmt.Appendf(nil, `
name: many
data: {train: %s/rows.csv, target: y, task: regression, stream: %s}
pipeline: [{ridge: {alpha: 1.0e-9}}]
report: {html: false, importance: {repeats: 0}}
output: {dir: %s/%s}
`, dir, stream, dir, stream))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := run("never")
	if whole.Rows != (result.Rows{Train: n}) ||
		math.Abs(whole.Train["root_mean_squared_error"]-0.5*math.Sqrt(2.0/3)) > 1e-6 {
		t.Errorf("in memory: %+v, %v", whole.Rows, whole.Train)
	}
	some := run("always")
	if some.Rows != (result.Rows{Train: n, Judged: maxJudgedInFile}) ||
		math.Abs(some.Train["root_mean_squared_error"]-0.5) > 1e-6 {
		t.Errorf("in the file: %+v, %v", some.Rows, some.Train)
	}
	for _, row := range some.Errors[0].Sample {
		if row.Number%3 == 2 || row.Truth != float64(row.Number%2) {
			t.Fatalf("row %d is %v", row.Number, row.Truth)
		}
	}
	if !reflect.DeepEqual(some.Profile, whole.Profile) {
		t.Errorf("described as %+v, in memory as %+v", some.Profile, whole.Profile)
	}
}
