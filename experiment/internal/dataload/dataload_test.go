package dataload

import (
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
)

// decoded returns the spec of a string.
func decoded(t *testing.T, text string) config.Spec {
	t.Helper()
	d := config.Decode("spec.yaml", []byte(text))
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	return d.Spec
}

// sized is a source that declares many rows.
type sized struct {
	datasets.Source
	rows, cols int
}

func (s sized) Dims() (rows, cols int) { return s.rows, s.cols }

// Rows are streamed if they are many and the model makes one pass, or if the spec requires it.
func TestWhenRowsAreStreamed(t *testing.T) {
	t.Chdir(t.TempDir())
	few, many := sized{rows: 1000, cols: 10}, sized{rows: 10_000_000, cols: 20}
	cases := []struct {
		more, model string
		rows        datasets.Source
		want        bool
	}{
		{"", "ridge", few, false},
		{"", "ridge", many, true},
		{", stream: never", "ridge", many, false},
		{", stream: always", "svr", few, true},
	}
	for _, c := range cases {
		s := decoded(t, "data: {train: rows.csv, target: y, drop: [c]"+c.more+"}\npipeline: ["+c.model+"]\n")
		if got := Streams(t.Context(), s, c.rows); got != c.want {
			t.Errorf("%s%s: %v, want %v", c.model, c.more, got, c.want)
		}
	}
	s := decoded(t, "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [ridge]\nsearch: {grid: {ridge.alpha: "+
		"[1, 2]}}\n")
	if Streams(t.Context(), s, many) {
		t.Error("a search does not hold its rows")
	}
}
