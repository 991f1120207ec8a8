package predictions

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readAll reads a string to its end or to the first error.
func readAll(t *testing.T, text string) (r *Reader, rows []Record, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "predictions.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = Open(path); err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if err == io.EOF {
			return r, rows, nil
		}
		if err != nil {
			return r, rows, err
		}
		rows = append(rows, Record{row.Row, slices.Clone(row.Truth), slices.Clone(row.Said)})
	}
}

// TestReader reads files with one or several targets, and the columns between and after them.
func TestReader(t *testing.T) {
	r, rows, err := readAll(t, "row,truth,prediction,std,probability_prediction_a\n7,\"a, b\",no,0.1,1\n9,,yes,0.2,0\n")
	if err != nil || !r.Truth || len(r.Targets) != 1 || len(rows) != 2 || rows[0].Row != 7 || rows[0].Truth[0] != "a, b" ||
		rows[1].Truth[0] != "" || rows[1].Said[0] != "yes" {
		t.Errorf("%+v, %v", rows, err)
	}
	r, rows, err = readAll(t, "row,truth_a,prediction_a,lower_a,truth_b,prediction_b\n0,1,2,0,3,4\n")
	if err != nil || strings.Join(r.Targets, " ") != "a b" || strings.Join(rows[0].Truth, " ") != "1 3" ||
		strings.Join(rows[0].Said, " ") != "2 4" {
		t.Errorf("%+v, %v", rows, err)
	}
	r, _, err = readAll(t, "row,prediction\n0,1\n")
	if err != nil || r.Truth {
		t.Errorf("unexpected true values: %v", err)
	}
}

// TestReaderErrors checks that an error names the damaged line.
func TestReaderErrors(t *testing.T) {
	for text, message := range map[string]string{
		"":                                    "predictions.csv is empty",
		"a,prediction\n":                      "the first column must be row, got a",
		"row,truth\n":                         "is missing the column prediction",
		"row,prediction\n0,1\nx,1\n":          "predictions.csv:3: the number of a row is \"x\"",
		"row,prediction\n0,\n":                "predictions.csv:2: row 0 has no prediction",
		"row,prediction\n0,1,2\n":             "record on line 2: wrong number of fields",
		"row,truth_a,prediction_a\n\"0,1,1\n": "on line 2",
	} {
		if _, _, err := readAll(t, text); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, want %q", text, err, message)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "predictions.csv")); err == nil ||
		!strings.HasSuffix(err.Error(), "predictions.csv is missing") {
		t.Error(err)
	}
}

// FuzzReader checks that every content gives rows or an error, and that rows have a prediction for
// each target.
func FuzzReader(f *testing.F) {
	f.Add("row,truth,prediction\n0,1,2\n")
	f.Add("row,truth_a,prediction_a,prediction_b\n0,1,2,3\n")
	f.Add("row,\"prediction\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, rows, _ := readAll(t, text)
		for _, row := range rows {
			if len(row.Said) != len(r.Targets) || slices.Contains(row.Said, "") || r.Truth && len(row.Truth) != len(r.Targets) {
				t.Fatalf("%+v of %q", row, r.Targets)
			}
		}
	})
}
