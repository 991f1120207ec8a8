package transformer

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
)

var _ FitTransformer = Binning{}

// FeatureBytes returns what the features of rows take: a column number for each grid, and for the
// smooth kernel a value.
func (s Binning) FeatureBytes(rows, _ int) int64 {
	each := int64(4)
	if s.Kernel == "smooth" {
		each = 12
	}
	return int64(rows) * (8 + each*int64(s.Grids))
}

// FitTransform is Fit, then Transform of the same rows, which finds each row's bins only once: the
// dictionary of a grid, while it is made, tells which bin each row is in.
func (s Binning) FitTransform(ctx context.Context, data datasets.Set) (Transformer, mat.Matrix, error) {
	if !s.Columns.exact {
		t, err := s.Fit(ctx, data)
		if err != nil {
			return nil, nil, err
		}
		Z, err := t.Transform(ctx, data.X)
		return t, Z, err
	}
	if err := checkFinite("binning", s, data); err != nil {
		return nil, nil, err
	}
	if err := checkNumeric("binning", data.Schema); err != nil {
		return nil, nil, err
	}
	f, err := s.lay(ctx, data.Source())
	if err != nil {
		return nil, nil, err
	}
	X, err := checkRows("binning", data.X, len(f.gamma))
	if err != nil {
		return nil, nil, err
	}
	if err := checkEntries("binning", X, data.Schema, 0, f.limit, false); err != nil {
		return nil, nil, err
	}
	columns, err := f.numberRows(ctx, X, s.MinCount)
	if err != nil {
		return nil, nil, err
	}
	Z, err := f.features(ctx, X, columns)
	if err != nil {
		return nil, nil, err
	}
	return f, Z, nil
}

// gridsAtOnce is how many grids are numbered together, so that their columns of a row, 64 bytes, are
// written together.
const gridsAtOnce = 16

// numberRows is number of rows in memory, a few grids after the other, and returns the columns of
// the rows.
func (f *FittedBinning) numberRows(ctx context.Context, X mat.Matrix, minCount int) ([]uint32, error) {
	n, _ := X.Dims()
	tiles := make([]binTile, (n+tileRows-1)/tileRows)
	kern.Parallel(len(tiles), 1, func(from, to int) {
		for k := from; k < to && ctx.Err() == nil; k++ {
			tiles[k].read(X, k*tileRows, min((k+1)*tileRows, n))
		}
	})
	columns := make([]uint32, n*f.grids)
	f.tables = make([]table, f.grids)
	kern.Parallel(f.grids, gridsAtOnce, func(from, to int) {
		if ctx.Err() != nil {
			return
		}
		var scratch table
		w := binWorks.Get().(*binWork)
		defer binWorks.Put(w)
		numbers := make([]uint32, n*(to-from))
		for p := from; p < to; p++ {
			own := numbers[(p-from)*n : (p-from+1)*n]
			scratch.reset()
			for k := range tiles {
				if k%64 == 0 && ctx.Err() != nil {
					return
				}
				hashes := f.hash(w, &tiles[k], p)
				scratch.count(hashes)
				for i, number := range hashes {
					own[k*tileRows+i] = uint32(number)
				}
			}
			var settled []uint32
			f.tables[p], settled = scratch.settle(leastOf(minCount))
			for i, number := range own {
				own[i] = settled[number]
			}
		}
		for i := range n {
			row := columns[i*f.grids+from : i*f.grids+to]
			for k := range row {
				row[k] = numbers[k*n+i]
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.place(minCount); err != nil {
		return nil, err
	}
	kern.Parallel(n, tileRows, func(from, to int) {
		for i := from; i < to && ctx.Err() == nil; i++ {
			row := columns[i*f.grids : (i+1)*f.grids]
			for p, first := range f.first[:f.grids] {
				if row[p] != notThere {
					row[p] += uint32(first)
				}
			}
		}
	})
	return columns, ctx.Err()
}
