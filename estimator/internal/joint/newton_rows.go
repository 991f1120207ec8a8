package joint

import (
	"context"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// tileRows is the number of rows mapped at a time.
const tileRows = 1024

// mappedRows are the mapped rows of all parts, part by part. They are in memory if they fit; large
// features are in float32, and float64 passes map the rows again. Otherwise every pass maps the
// rows.
type mappedRows struct {
	family *mappedNewton
	which  int
	starts []int // first row of each part
	Z      mat.Matrix
}

func (s *mappedNewton) prepare(ctx context.Context, which int) (*mappedRows, error) {
	m := &mappedRows{family: s, which: which}
	n, width := 0, s.Maps.Widths()[which]
	for _, part := range s.parts {
		m.starts = append(m.starts, n)
		n += len(part)
	}
	bytes, rounds := cacheBytes(n, width)
	if bytes > s.MemoryLimit() {
		return m, nil
	}
	store := m.storeFloat64
	if rounds {
		store = m.storeFloat32
	}
	return m, store(ctx, n, width)
}

// storeFloat64 computes and stores float64 features.
func (m *mappedRows) storeFloat64(ctx context.Context, n, width int) error {
	Z := mat.NewDense(n, width, nil)
	m.Z = Z
	for p, part := range m.family.parts {
		err := m.family.mapTiles(ctx, m.which, part, func(first int, tile *mat.Dense) error {
			k, _ := tile.Dims()
			Z.Slice(m.starts[p]+first, m.starts[p]+first+k, 0, width).(*mat.Dense).Copy(tile)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// storeFloat32 computes and stores float32 features.
func (m *mappedRows) storeFloat32(ctx context.Context, n, width int) error {
	s := m.family
	if len(s.float32Buffer) < n*width {
		s.float32Buffer = make([]float32, n*width)
	}
	Z := matrices.NewDense32(n, width, s.float32Buffer[:n*width])
	m.Z = Z
	maps, ok := s.Maps.(batch.Float32Maps)
	for p, part := range s.parts {
		at := m.starts[p]
		var err error
		if ok {
			err = s.eachChunk(part, func(first int, X mat.Matrix) error {
				return maps.EachFloat32(ctx, X, []int{m.which}, func(_ int, tile *matrices.Dense32) error {
					k, _ := tile.Dims()
					for i := range k {
						copy(Z.Row(at+first+i), tile.Row(i))
					}
					return nil
				})
			})
		} else {
			err = s.mapTiles(ctx, m.which, part, func(first int, tile *mat.Dense) error {
				k, _ := tile.Dims()
				for i := range k {
					design.Round(Z.Row(at+first+i), tile.RawRowView(i))
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mapTiles maps the listed rows tile by tile.
func (s *mappedNewton) mapTiles(ctx context.Context, which int, list []int,
	yield func(first int, Z *mat.Dense) error) error {
	return s.eachChunk(list, func(first int, X mat.Matrix) error {
		return s.eachDense(ctx, X, []int{which}, func(_ int, Z *mat.Dense) error { return yield(first, Z) })
	})
}

// eachChunk calls yield with the inputs of tileRows rows at a time.
func (s *mappedNewton) eachChunk(list []int, yield func(first int, X mat.Matrix) error) error {
	for lo := 0; lo < len(list); lo += tileRows {
		part := list[lo:min(lo+tileRows, len(list))]
		if err := yield(lo, rowblock.Select(s.Data.X, part)); err != nil {
			return s.Data.AtRows(err, part)
		}
	}
	return nil
}

// allRows returns the rows of all parts.
func (m *mappedRows) allRows(width int) *design.Rows {
	list := make([]int, len(m.starts))
	for p := range list {
		list[p] = p
	}
	return m.rows(list, width)
}

// cacheBytes returns the memory of the features and whether they are stored in float32, which is
// faster if passes are memory-bound.
func cacheBytes(n, width int) (bytes int64, inFloat32 bool) {
	const minFloat32Bytes = 32 << 20
	bytes = 8 * int64(n) * int64(width)
	if bytes < minFloat32Bytes {
		return bytes, false
	}
	return bytes / 2, true
}

// rows returns the rows of some parts with width columns.
func (m *mappedRows) rows(parts []int, width int) *design.Rows {
	r := &design.Rows{Cols: width}
	for _, p := range parts {
		r.N += len(m.family.parts[p])
	}
	inMemory := func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return m.inMemory(ctx, parts, width, yield)
	}
	r.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		return m.mapParts(ctx, parts, width, yield)
	}
	switch m.Z.(type) {
	case *mat.Dense:
		r.Each = inMemory
	case *matrices.Dense32:
		r.Float32Rows = &design.Rows{N: r.N, Cols: width, Float32: true, Each: inMemory}
	}
	return r
}

// mapParts maps the rows of some parts.
func (m *mappedRows) mapParts(ctx context.Context, parts []int, width int, yield func(int, datasets.Set) error) error {
	first := 0
	for _, p := range parts {
		err := m.family.mapTiles(ctx, m.which, m.family.parts[p], func(lo int, Z *mat.Dense) error {
			return yield(first+lo, datasets.Set{X: design.LeadingColumns(Z, width)})
		})
		if err != nil {
			return err
		}
		first += len(m.family.parts[p])
	}
	return nil
}

// inMemory reads the stored rows of some parts.
func (m *mappedRows) inMemory(ctx context.Context, parts []int, width int, yield func(int, datasets.Set) error) error {
	first := 0
	for _, p := range parts {
		n := len(m.family.parts[p])
		for lo := 0; lo < n; lo += rowblock.Size {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			at, end := m.starts[p]+lo, m.starts[p]+min(lo+rowblock.Size, n)
			if err := yield(first+lo, datasets.Set{X: design.LeadingColumns(rowblock.Slice(m.Z, at, end), width)}); err != nil {
				return err
			}
		}
		first += n
	}
	return nil
}

// mappedNewton is one call of FitByNewton.
type mappedNewton struct {
	Batch
	candidates    []PenalizedLoss
	parts         [][]int
	trains        [][]int
	float32Buffer []float32 // features of the present map
}

// labels returns the labels of a fold's training rows, in the order of rows.
func (s *mappedNewton) labels(ctx context.Context, first PenalizedLoss, fold int) (*design.Labels, error) {
	var order []int
	for _, p := range s.trains[fold] {
		order = append(order, s.parts[p]...)
	}
	r, err := design.FromSet(s.Data.Select(order))
	if err != nil {
		return nil, err
	}
	return first.Labels(ctx, r)
}

func (s *mappedNewton) singles(ctx context.Context, members []int, fold int) error {
	for _, i := range members {
		if err := s.fitOne(i, fold, nil); err != nil {
			return err
		}
	}
	return nil
}

// score yields the predictions of models for the test rows of a fold, mapped once.
func (s *mappedNewton) score(ctx context.Context, m *mappedRows, models []fittedModel, classes []string, fold int) error {
	start := time.Now()
	blocks := scoreBlocks(models, len(s.Folds[fold].Test))
	err := s.mapTiles(ctx, m.which, s.Folds[fold].Test, func(first int, Z *mat.Dense) error {
		for _, b := range blocks {
			b.score(Z, first)
		}
		return nil
	})
	if err != nil {
		for _, f := range models {
			if err := s.fitOne(f.candidate, fold, nil); err != nil {
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
		if err := s.yieldModel(&models[k], classes, fold, seconds); err != nil {
			return err
		}
	}
	return nil
}

// yieldModel yields the predictions of a model.
func (s *mappedNewton) yieldModel(m *fittedModel, classes []string, fold int, seconds float64) error {
	if !s.Includes(m.candidate, fold) {
		return nil
	}
	if m.err != nil || m.scores == nil || !kern.AllFinite(m.scores.RawMatrix().Data) {
		return s.fitOne(m.candidate, fold, nil)
	}
	return s.yield(m.candidate, fold, Result{Scores: m.scores, Classes: classes, Report: m.report,
		Seconds: m.seconds + seconds})
}
