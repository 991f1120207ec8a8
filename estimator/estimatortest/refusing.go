package estimatortest

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/matrices"
)

// badData checks that unusable training data return an early error with its cause and position,
// instead of a panic or a model of NaNs.
func (s *suite) badData(t testing.TB) {
	type refusal struct {
		name string
		harm func(d *datasets.Set)
		want []string
	}
	input := func(v float64) func(*datasets.Set) {
		return func(d *datasets.Set) { d.X.(*mat.Dense).Set(7, 1, v) }
	}
	cases := []refusal{
		{"a missing value", input(math.NaN()), []string{"row 7", "width", "missing"}},
		{"an infinite value", input(math.Inf(1)), []string{"row 7", "width", "infinite"}},
		{"a missing value of a sparse row", func(d *datasets.Set) {
			d.X.(*mat.Dense).Set(7, 1, math.NaN())
			d.X = matrices.CSRFromDense(d.X)
		}, []string{"row 7", "width", "missing"}},
		{"no rows", func(d *datasets.Set) { *d = datasets.Set{X: &mat.Dense{}, Schema: d.Schema} },
			[]string{"nothing to learn from"}},
		{"no inputs", func(d *datasets.Set) { d.X = nil }, []string{"nothing to learn from"}},
		{"too few targets", func(d *datasets.Set) { d.Y = d.Y[:80] }, []string{"90", "80"}},
		{"too few weights", func(d *datasets.Set) { d.Weights = make([]float64, 3) }, []string{"90", "3"}},
		{"a negative weight", func(d *datasets.Set) { d.Weights = weights(90, -1) }, []string{"row 9", "weight", "-1"}},
		{"a missing weight", func(d *datasets.Set) { d.Weights = weights(90, math.NaN()) },
			[]string{"row 9", "weight", "NaN"}},
		{"all weights 0", func(d *datasets.Set) { d.Weights = make([]float64, 90) }, []string{"weight", "0"}},
	}
	if s.task == "" {
		cases = append(cases,
			refusal{"no targets", func(d *datasets.Set) { d.Y = nil }, []string{"no targets"}},
			refusal{"a missing target", func(d *datasets.Set) { d.Y[9] = math.NaN() }, []string{"row 9", "target", "NaN"}},
			refusal{"an infinite target", func(d *datasets.Set) { d.Y[9] = math.Inf(1) }, []string{"row 9", "target"}},
		)
	}
	if s.Classes > 0 {
		cases = append(cases,
			refusal{"one class", func(d *datasets.Set) {
				for i := range d.Y {
					d.Y[i] = 1
				}
			}, []string{`"class 1"`}},
			refusal{"one class of positive weight", func(d *datasets.Set) {
				d.Weights = make([]float64, 90)
				for i, y := range d.Y {
					if y == 0 {
						d.Weights[i] = 1
					}
				}
			}, []string{`"class 0"`}},
			refusal{"half a class", func(d *datasets.Set) { d.Y[9] = 0.5 }, []string{"row 9", "0.5", "class"}},
			refusal{"a class too many", func(d *datasets.Set) { d.Y[9] = float64(s.Classes) }, []string{"row 9", "class"}},
			refusal{"an unknown class", func(d *datasets.Set) { d.Y[9] = datasets.Unknown }, []string{"row 9", "-1", "class"}},
		)
	}
	for _, c := range cases {
		data := cloneSet(s.data)
		c.harm(&data)
		_, err := s.spec.Fit(context.Background(), data)
		mentions(t, c.name, err, c.want...)
		e, ok := s.spec.(estimator.BlockEstimator)
		if !ok || data.X == nil || data.Rows() == 0 || len(data.Y) != data.Rows() && data.Y != nil ||
			len(data.Weights) != data.Rows() && data.Weights != nil {
			continue
		}
		_, err = e.FitSource(context.Background(), stream{data})
		mentions(t, c.name+", streamed", err, c.want...)
	}
	s.broken(t)
}

// weights returns n ones, but for row 9.
func weights(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	out[9] = v
	return out
}

// broken checks that a fit returns the error of its source.
func (s *suite) broken(t testing.TB) {
	e, ok := s.spec.(estimator.BlockEstimator)
	if !ok {
		return
	}
	if _, err := e.FitSource(context.Background(), torn{stream{s.data}}); !errors.Is(err, errTorn) {
		t.Errorf("a source that breaks: %v", err)
	}
}

var errTorn = errors.New("the file ends here")

// torn is a stream that breaks after some rows.
type torn struct{ stream }

func (s torn) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	seen := 0
	return s.stream.Blocks(ctx, func(block datasets.Set) error {
		if seen += block.Rows(); seen > 40 {
			return errTorn
		}
		return yield(block)
	})
}
