package datasets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/model"
)

// counting counts rows, in a number of passes.
type counting struct{ rows, left int }

func (c *counting) Add(_ context.Context, block Set) error { c.rows += block.Rows(); return nil }
func (c *counting) Merge(context.Context, Pass) error      { return errors.New("unexpected merge") }
func (c *counting) State(*model.State)                     {}
func (c *counting) Next(context.Context) (Pass, error) {
	if c.left == 0 {
		return nil, nil
	}
	return &counting{left: c.left - 1}, nil
}

// fickle is a source with another number of rows in each pass.
type fickle struct {
	Set
	rows []int
}

func (f *fickle) Schema() Schema   { return Schema{} }
func (f *fickle) Dims() (n, d int) { return -1, 1 }
func (f *fickle) Blocks(_ context.Context, yield func(block Set) error) error {
	n := f.rows[0]
	f.rows = f.rows[1:]
	for i := range n {
		if err := yield(f.Slice(i, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// TestLearnReadsTheSameRows checks that Scan reads the rows once for each pass, and detects changed
// rows.
func TestLearnReadsTheSameRows(t *testing.T) {
	rows := Set{X: mat.NewDense(5, 1, nil)}
	for _, c := range []struct {
		rows []int
		want string
	}{
		{[]int{3, 3, 3}, ""},
		{[]int{3, 3, 2}, "datasets: source must have 3 rows as in the previous pass, got 2"},
		{[]int{3, 5, 3}, "datasets: source must have 3 rows as in the previous pass, got at least 4"},
	} {
		src := &fickle{rows, c.rows}
		last, err := Scan(context.Background(), &counting{left: 2}, src)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) || last != nil {
				t.Errorf("%v: %v, error %v, want %q", c.rows, last, err, c.want)
			}
		case err != nil || last.(*counting).rows != 3 || last.(*counting).left != 0 || len(src.rows) != 0:
			t.Errorf("%v: %+v, error %v, %d passes left", c.rows, last, err, len(src.rows))
		}
	}
}
