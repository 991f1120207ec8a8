package serve

import (
	"slices"
	"testing"
)

// TestReading checks that the options for rows are decoded, that others are ignored, and that invalid ones are errors.
func TestReading(t *testing.T) {
	r, err := decodeRowFormat("stream: never\ntarget: y\ndrop: [note]\ncsv: {missing: ['?'], delimiter: ;}\n")
	if err != nil || !slices.Equal(r.Target, []string{"y"}) || !slices.Equal(r.Drop, []string{"note"}) ||
		!slices.Equal(r.CSV.Missing, []string{"?"}) || r.CSV.Delimiter != ";" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := decodeRowFormat(""); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"[1]", "drop: {a: 1}", "csv: {missing: {}}", "a: [", "dates: 5"} {
		if r, err := decodeRowFormat(text); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}
