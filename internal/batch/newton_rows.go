package batch

import (
	"context"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// tileRows is the number of rows mapped at once.
const tileRows = 1024

// mappedRows is the rows of the parts, one part after the other, on one map: in memory where
// there is room, else mapped whenever they are read.
type mappedRows struct {
	family *mappedNewton
	which  int
	starts []int // of the parts
	Z      *mat.Dense
}

func (s *mappedNewton) prepare(ctx context.Context, which int) (*mappedRows, error) {
	m := &mappedRows{family: s, which: which}
	n, width := 0, s.Maps.Widths()[which]
	for _, part := range s.parts {
		m.starts = append(m.starts, n)
		n += len(part)
	}
	if 8*int64(n)*int64(width) > s.Memory {
		return m, nil
	}
	Z := mat.NewDense(n, width, nil)
	for p, part := range s.parts {
		err := s.tiles(ctx, which, part, func(first int, tile *mat.Dense) error {
			k, _ := tile.Dims()
			Z.Slice(m.starts[p]+first, m.starts[p]+first+k, 0, width).(*mat.Dense).Copy(tile)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.Z = Z
	return m, nil
}

// tiles maps rows, so many at a time.
func (s *mappedNewton) tiles(ctx context.Context, which int, list []int, yield func(first int, Z *mat.Dense) error) error {
	for lo := 0; lo < len(list); lo += tileRows {
		part := list[lo:min(lo+tileRows, len(list))]
		X := datasets.SelectRows(s.Data.X, part)
		if err := s.Maps.Each(ctx, X, []int{which}, func(_ int, Z *mat.Dense) error { return yield(lo, Z) }); err != nil {
			return s.Data.AtRows(err, part)
		}
	}
	return nil
}

// all returns the rows of all parts.
func (m *mappedRows) all(width int) *design.Rows {
	list := make([]int, len(m.starts))
	for p := range list {
		list[p] = p
	}
	return m.rows(list, width)
}

// rows returns the rows of some parts, one after the other, as wide as asked.
func (m *mappedRows) rows(parts []int, width int) *design.Rows {
	s := m.family
	r := &design.Rows{Cols: width}
	for _, p := range parts {
		r.N += len(s.parts[p])
	}
	r.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		first := 0
		for _, p := range parts {
			n := len(s.parts[p])
			if m.Z == nil {
				err := s.tiles(ctx, m.which, s.parts[p], func(lo int, Z *mat.Dense) error {
					k, _ := Z.Dims()
					return yield(first+lo, datasets.Set{X: Z.Slice(0, k, 0, width)})
				})
				if err != nil {
					return err
				}
			} else {
				for lo := 0; lo < n; lo += datasets.BlockRows {
					if err := ctx.Err(); err != nil {
						return err
					}
					at, end := m.starts[p]+lo, m.starts[p]+min(lo+datasets.BlockRows, n)
					if err := yield(first+lo, datasets.Set{X: m.Z.Slice(at, end, 0, width)}); err != nil {
						return err
					}
				}
			}
			first += n
		}
		return nil
	}
	return r
}

// mappedNewton is one batch on related maps.
type mappedNewton struct {
	Batch
	candidates []Penalised
	parts      [][]int
	trains     [][]int
}

// labels returns the classes and weights of a fold's training rows, in the order of rows.
func (s *mappedNewton) labels(ctx context.Context, first Penalised, fold int) (*design.Labels, error) {
	var order []int
	for _, p := range s.trains[fold] {
		order = append(order, s.parts[p]...)
	}
	r, err := design.OfSet(s.Data.Select(order))
	if err != nil {
		return nil, err
	}
	return first.Labels(ctx, r)
}

func (s *mappedNewton) singles(ctx context.Context, members []int, fold int) error {
	for _, i := range members {
		if err := s.Single(ctx, i, fold, nil); err != nil {
			return err
		}
	}
	return nil
}

// score hands over what models predict for the test rows of a fold, which are mapped once for all.
func (s *mappedNewton) score(ctx context.Context, m *mappedRows, models []model, classes []string, fold int) error {
	start := time.Now()
	blocks := scoreBlocks(models, len(s.Folds[fold].Test))
	err := s.tiles(ctx, m.which, s.Folds[fold].Test, func(first int, Z *mat.Dense) error {
		for _, b := range blocks {
			b.score(Z, first)
		}
		return nil
	})
	if err != nil {
		for _, f := range models {
			if err := s.Single(ctx, f.candidate, fold, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for _, b := range blocks {
		b.spread()
	}
	seconds := time.Since(start).Seconds() / float64(len(models))
	for k := range models {
		if err := s.yield(ctx, &models[k], classes, fold, seconds); err != nil {
			return err
		}
	}
	return nil
}

// yield hands over what a model predicts.
func (s *mappedNewton) yield(ctx context.Context, m *model, classes []string, fold int, seconds float64) error {
	if !s.Wants(m.candidate, fold) {
		return nil
	}
	if m.err != nil || m.scores == nil || !kern.Finite(m.scores.RawMatrix().Data) {
		return s.Single(ctx, m.candidate, fold, nil)
	}
	return s.Yield(m.candidate, fold, Result{Scores: m.scores, Classes: classes, Report: m.report, Seconds: m.seconds + seconds})
}
