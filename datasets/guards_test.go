package datasets

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

// TestSplitsCheckLengths checks that splitters reject targets and groups whose
// length is not the number of rows.
func TestSplitsCheckLengths(t *testing.T) {
	X := mat.NewDense(4, 1, []float64{1, 2, 3, 4})
	for want, data := range map[string]Set{
		"datasets: Y must have 4 rows as X, got 3":      {X: X, Y: []float64{0, 1, 0}},
		"datasets: Groups must have 4 rows as X, got 3": {X: X, Y: []float64{0, 1, 0, 1}, Groups: []int{0, 1, 0}},
		"datasets: row 2: target must not be NaN":       {X: X, Y: []float64{0, 1, math.NaN(), 1}},
	} {
		_, err := rowsByClass(data)
		if strings.Contains(want, "Groups") {
			_, err = rowsByGroup(data)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Blocks in float32 and float64 cannot be concatenated.
func TestAppendRefusesMixedPrecision(t *testing.T) {
	double, short := Set{X: mat.NewDense(2, 1, []float64{1, 2})}, Set{X: matrices.NewDense32(2, 1, []float32{1, 2})}
	for _, blocks := range [][]Set{{double, short}, {short, double}} {
		if set, err := (Set{}).Append(blocks...); err == nil || !strings.Contains(err.Error(), "same precision") {
			t.Errorf("%v and the error %v", set, err)
		}
	}
}
