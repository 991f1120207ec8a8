package experiment

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPartsOfDatesAreOneColumn checks that kernels, ard and the relevance treat the parts of dates as the column of
// dates, before fitting, in a run and in its model file.
func TestPartsOfDatesAreOneColumn(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	text.WriteString("hired,age,y\n")
	for i := range 90 {
		fmt.Fprintf(&text, "20%02d-%02d-11,%d,%.2f\n", i%20, 1+i*7%12, 20+i*13%40, float64(i%20)+float64(i*13%40)/10)
	}
	put(t, "rows.csv", text.String())
	const data = "data: {train: rows.csv, target: \"y\", dates: {hired: [elapsed, month]}, split: {test: 0.2}}\n" +
		"pipeline:\n  - columns: {groups: [{select: numeric, steps: [impute, standardize]}]}\n"
	for name, rest := range map[string]string{
		"ard": "  - ard: {groups: origin, steps: 5}\n  - ridge\n",
		"krr": "  - kernel_ridge: {kernel: {product: [{columns: hired, kernel: laplacian, gamma: 0.5}, {columns: age, " +
			"kernel: gaussian}]}, alpha: 0.1}\n",
		"sum": "  - kernel_ridge: {kernel: {sum: [{product: [{columns: hired, kernel: laplacian, gamma: 0.5}]}, {product: " +
			"[{columns: age, kernel: gaussian}]}]}, alpha: 0.1}\n",
		"one": "  - kernel_ridge: {kernel: {product: [{columns: hired_month, kernel: laplacian, gamma: 0.5}, " +
			"{columns: rest, kernel: gaussian}]}, alpha: 0.1}\n",
	} {
		put(t, "spec.yaml", data+rest)
		if err := Validate(t.Context(), "spec.yaml"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		execute(t, spec(t, data+rest, set("output.dir", name)))
		m, err := Inspect(name + "/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Columns[0]; c.Name != "hired_elapsed" || len(m.Columns) != 3 {
			t.Errorf("%s: columns %+v", name, m.Columns)
		}
		var names []string
		for _, r := range m.Relevance {
			for _, in := range r.Inputs {
				names = append(names, in.Name)
			}
		}
		if got := strings.Join(names, " "); (name == "ard" || name == "sum") && got != "hired age" && got != "age hired" {
			t.Errorf("%s: relevance of %q, want hired and age", name, got)
		}
		var out bytes.Buffer
		if _, err := Predict(context.Background(), name+"/model.bochner", "rows.csv", &out, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		e, err := Explain(t.Context(), name+"/model.bochner", "rows.csv", Options{})
		if err != nil || !slices.Equal(e.Inputs, []string{"hired", "age"}) || e.Data[0].Values[1] != 11545 {
			t.Errorf("%s: explanation of %v, %v", name, e.Inputs, err)
		}
	}
}
