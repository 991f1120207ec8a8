package preprocessing

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Steps follow from the kinds of the columns, from missing numbers and from the number of rows.
func TestSteps(t *testing.T) {
	kinds := []datasets.Column{{Name: "a"}, {Name: "b", Kind: datasets.Categorical, Categories: []string{"u", "v"}}}
	set := datasets.Set{X: mat.NewDense(2, 2, []float64{math.NaN(), 0, 1, 1}), Schema: datasets.Schema{Columns: kinds}}
	table := Of(set)
	if table != (Table{Rows: 2, Numeric: 1, Categorical: 1, Missing: true}) {
		t.Errorf("%+v", table)
	}
	for _, c := range []struct {
		table    Table
		numbers  int
		minCount int
	}{
		{table, 2, 1},
		{Table{Rows: 999, Numeric: 3, Categorical: 1}, 1, 1},
		{Table{Rows: 1000, Numeric: 3, Categorical: 1}, 1, 10},
		{Table{Rows: 1000, Numeric: 3, Categorical: 1, Missing: true, Sparse: true}, 0, 10},
	} {
		groups := Steps(c.table)[0].Fitter.(pipeline.Columns).Groups
		if onehot := groups[1].Steps[0].Fitter.(transformer.OneHot); len(groups[0].Steps) != c.numbers ||
			onehot.MinCount != c.minCount {
			t.Errorf("%+v: %v", c.table, groups)
		}
	}
	if steps := Steps(Table{Rows: 10, Numeric: 2}); len(steps) != 1 {
		t.Errorf("numbers alone: %v", steps)
	}
}
