package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// cells is a custom sparse map: for each column, the cell of width Step (of Cells cells) that
// contains the value, times Weight. Maps with the same Seed are one family, with a wide map for
// each Step.
type cells struct {
	Cells  int
	Step   float64
	Seed   int
	Broken string        // the error that a family makes
	Maps   *atomic.Int64 // counts mappings of rows
}

func (c *cells) Params(l *param.List) {
	l.Int(&c.Cells, "cells", "number of cells", param.AtLeast(1))
	l.Float(&c.Step, "step", "width of a cell", param.Positive())
}

func (c cells) Fit(_ context.Context, data datasets.Set) (transformer.Transformer, error) {
	return fittedCells{c, data.Cols()}, nil
}

func (c cells) Cost(shape datasets.Shape) datasets.Cost {
	return datasets.Cost{Flops: float64(shape.Rows * c.Cells), OutputWidth: c.Cells, NonZeros: 1}
}

func (cells) Tags() datasets.Tags { return datasets.Tags{SparseOutput: true, FixedWidth: true} }

func (c cells) SameFamily(other transformer.Fitter) bool {
	o, ok := other.(cells)
	return ok && o.Seed == c.Seed
}

func (c cells) FamilyMembers(_ datasets.Shape, specs []transformer.Fitter) []transformer.FamilyMember {
	return c.family(specs).members
}

func (c cells) FitFamily(_ context.Context, data datasets.Set, specs []transformer.Fitter) (*transformer.Family, error) {
	if c.Broken == "fit" {
		return nil, errors.New("no family")
	}
	f := c.family(specs)
	for i := range f.wide {
		f.wide[i].cols = data.Cols()
	}
	out := &transformer.Family{Maps: f, Members: f.members, Shared: []string{"cells"}}
	if c.Broken == "members" {
		out.Members = f.members[1:]
	}
	return out, nil
}

func (c cells) family(specs []transformer.Fitter) cellFamily {
	f := cellFamily{broken: c.Broken}
	for _, s := range specs {
		own := s.(cells)
		k := slices.IndexFunc(f.wide, func(w fittedCells) bool { return w.Step == own.Step })
		if k < 0 {
			k = len(f.wide)
			f.wide = append(f.wide, fittedCells{cells: own})
		}
		f.wide[k].Cells = max(f.wide[k].Cells, own.Cells)
		f.members = append(f.members, transformer.FamilyMember{Map: k, Width: own.Cells, Scale: 1})
	}
	return f
}

type cellFamily struct {
	wide    []fittedCells
	members []transformer.FamilyMember
	broken  string
}

func (f cellFamily) Widths() (out []int) {
	for _, w := range f.wide {
		out = append(out, w.Cells)
	}
	return out
}

func (f cellFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	for _, i := range which {
		w := f.wide[i]
		if f.broken == "width" {
			w.Cells++
		}
		Z, err := w.Transform(ctx, X)
		if err == nil {
			err = yield(i, Z)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type fittedCells struct {
	cells
	cols int
}

func (f fittedCells) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, d := X.Dims()
	if d != f.cols {
		return nil, fmt.Errorf("%d columns at fit, %d now", f.cols, d)
	}
	if n > 1 { // not the sample
		f.Maps.Add(1)
	}
	indptr, indices, values := make([]int, 1, n+1), []uint32{}, []float64{}
	for i := range n {
		if at := int(math.Abs(X.At(i, 0)) / f.Step); at < f.Cells {
			indices, values = append(indices, uint32(at)), append(values, 1+X.At(i, 1))
		}
		indptr = append(indptr, len(indices))
	}
	return matrices.NewCSR(n, f.Cells, indptr, indices, values)
}

// A custom sparse family maps the rows once for each wide map, and predicts as separate fits; if
// the family fails, candidates are fitted separately.
func TestOwnSparseFamily(t *testing.T) {
	data := numbers(120, 70)
	for _, broken := range []string{"", "fit", "members", "width"} {
		for _, model := range []estimator.Estimator{estimator.NewRidge(), mean{}} {
			count := new(atomic.Int64)
			base := pipeline.Steps(transformer.NewStandardize(), cells{Cells: 2, Step: 0.2, Maps: count,
				Broken: broken}).Then(model)
			settings := grid(t, base, param.Setting{Path: "cells.cells", Value: []any{2, 9, 5}},
				param.Setting{Path: "cells.step", Value: []any{0.2, 0.3}})
			got, shared := sweep(t, base, data, thirds(120), settings)
			maps := count.Load()
			if slices.Contains(shared, "cells") != (broken == "" || broken == "width") {
				t.Errorf("%q: shared %v", broken, shared)
			}
			if broken == "" && maps != 3*2 {
				t.Errorf("rows were mapped %d times for 3 folds and 2 wide maps", maps)
			}
			for i, s := range settings {
				for f, fold := range thirds(120) {
					p, err := s.Fit(ctx, data.Select(fold.Train))
					if err != nil {
						t.Fatal(err)
					}
					want, err := p.Predict(ctx, rowblock.Select(data.X, fold.Test))
					out := got[key{i, f}]
					if err != nil || out.Err != nil || !slices.Equal(out.Values, want) {
						t.Fatalf("%q: candidate %d on fold %d: %v, want %v (%v, %v)", broken, i, f, out.Values, want, out.Err, err)
					}
				}
			}
		}
	}
}
