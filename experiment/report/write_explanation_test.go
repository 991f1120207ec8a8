package report_test

import (
	"io"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
)

// An explanation whose parts have different rows is an error, not a panic.
func TestWriteExplanationErrors(t *testing.T) {
	column := inspection.InputValues{Values: []float64{1, 2}}
	short := inspection.ShapleyOutput{Predictions: []float64{1, 2}, Values: [][]float64{{1}}}
	for want, e := range map[string]result.Explanation{
		"0 outputs": {},
		"2 rows of 1 inputs": {ShapleyValues: inspection.ShapleyValues{Inputs: []string{"a"}, Data: []inspection.InputValues{column},
			Outputs: []inspection.ShapleyOutput{short}}},
	} {
		for _, format := range []string{"csv", "npz"} {
			if err := report.WriteExplanation(io.Discard, format, e); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", format, err, want)
			}
		}
	}
}
