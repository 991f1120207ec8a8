package predictions

import (
	"bufio"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// Column names of uncertainty outputs may conflict with targets; each target has its own; the set
// is last, with quoted names where CSV requires it.
func TestUncertaintyColumns(t *testing.T) {
	numbers := datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}
	two := datasets.Schema{Targets: []datasets.Column{{Name: "y"}, {Name: "z, too"}}}
	classes := datasets.Schema{Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical,
		Categories: []string{"a", "b|c", "d,e"}}}}
	row := func(v ...float64) *mat.Dense { return mat.NewDense(1, len(v), v) }
	for name, c := range map[string]struct {
		schema datasets.Schema
		rows   datasets.Set
		got    estimator.Prediction
		want   string
	}{
		"nothing": {numbers, datasets.Set{Y: []float64{1}}, estimator.Prediction{Values: []float64{2}},
			"row,truth,prediction\n0,1,2\n"},
		"all": {numbers, datasets.Set{Y: []float64{1}}, estimator.Prediction{Values: []float64{2}, Std: []float64{0.5},
			Lower: []float64{1.5}, Upper: []float64{2.5}},
			"row,truth,prediction,std,lower,upper\n0,1,2,0.5,1.5,2.5\n"},
		"ends": {numbers, datasets.Set{Y: []float64{1}}, estimator.Prediction{Values: []float64{2}, Lower: []float64{1.5},
			Upper: []float64{2.5}},
			"row,truth,prediction,lower,upper\n0,1,2,1.5,2.5\n"},
		"several": {two, datasets.Set{Targets: row(1, 10)}, estimator.Prediction{Values: []float64{2}, Targets: row(2, 20),
			Std: []float64{3}, StdTargets: row(3, 30), Lower: []float64{0}, LowerTargets: row(0, -1), Upper: []float64{9},
			UpperTargets: row(9, 90)},
			"row,truth_y,prediction_y,std_y,lower_y,upper_y,\"truth_z, too\",\"prediction_z, too\",\"std_z, too\",\"lower_z, " +
				"too\",\"upper_z, too\"\n0,1,2,3,0,9,10,20,30,-1,90\n"},
		"sets": {classes, datasets.Set{Y: []float64{2}}, estimator.Prediction{Values: []float64{0},
			Probabilities: row(0.5, 0.25, 0.25), Sets: row(1, 1, 1)},
			"row,truth,prediction,probability_a,probability_b|c,\"probability_d,e\",set\n0,\"d,e\",a,0.5,0.25,0.25,\"a|b\\|c|d,e\"\n"},
		"one class": {classes, datasets.Set{Y: []float64{2}}, estimator.Prediction{Values: []float64{0}, Sets: row(0, 1, 0)},
			"row,truth,prediction,set\n0,\"d,e\",a,b\\|c\n"},
	} {
		var text strings.Builder
		out := bufio.NewWriter(&text)
		if err := NewWriter(out, datasets.Regression, c.schema, true).Block(c.rows, c.got); err != nil {
			t.Fatal(name, err)
		}
		out.Flush()
		if text.String() != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, text.String(), c.want)
		}
	}
}
