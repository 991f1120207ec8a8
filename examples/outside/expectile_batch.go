package outside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// FitBatch shares the first pass, which knows no Tau yet and no Alpha, between all candidates of a fold. On
// related maps it reads the widest features of each map in that pass, of which narrower ones are the first.
func (s Expectile) FitBatch(ctx context.Context, b estimator.Batch) (shared []string, err error) {
	specs, shared, err := batchOf(b)
	if err != nil {
		return nil, fmt.Errorf("expectile: %w", err)
	}
	for fold := range b.Folds {
		f := fitting{Batch: b, specs: specs, fold: fold, train: b.Data.Select(b.Folds[fold].Train), test: b.Data.Select(b.Folds[fold].Test), first: map[int]*squares{}}
		for i := range specs {
			if !b.Wants(i, fold) {
				continue
			}
			start := time.Now()
			out := f.candidate(ctx, i)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			out.Seconds = time.Since(start).Seconds()
			if err := b.Yield(i, fold, out); err != nil {
				return nil, err
			}
		}
	}
	return shared, nil
}

// BatchCost takes rows as they are and related maps.
func (s Expectile) BatchCost(b estimator.Batch) (cost datasets.Cost, shared []string, err error) {
	specs, shared, err := batchOf(b)
	if err != nil {
		return cost, nil, err
	}
	first := map[int]int{} // width of each map
	for i, c := range b.Candidates {
		shape := b.Shape
		if b.Mapped() {
			shape.Cols = c.Width
		}
		one := specs[i].Cost(shape)
		first[c.Map] = max(first[c.Map], shape.Cols)
		cost.Flops += one.Flops * float64(len(b.Folds)) * 4 / 5
		cost.Bytes = max(cost.Bytes, one.Bytes)
	}
	for _, width := range first {
		cost.Flops += float64(len(b.Folds)) * float64(b.Shape.Rows) * float64(width*width)
	}
	return cost, shared, nil
}

// batchOf returns the specs of a batch, and what they share.
func batchOf(b estimator.Batch) (specs []Expectile, shared []string, err error) {
	if b.OneOut {
		return nil, nil, errors.New("it cannot leave one out; use k folds")
	}
	if specs, err = estimator.SpecsOf[Expectile](b); err != nil {
		return nil, nil, err
	}
	maps := map[int]int{}
	for _, c := range b.Candidates {
		if maps[c.Map]++; maps[c.Map] == 2 && !slices.Contains(shared, "alpha") {
			shared = append(shared, "alpha")
		}
	}
	return specs, shared, nil
}

// fitting is the candidates of a batch on one fold.
type fitting struct {
	estimator.Batch
	specs       []Expectile
	fold        int
	train, test datasets.Set
	first       map[int]*squares // sums of the first pass, by map
}

// candidate fits one.
func (f *fitting) candidate(ctx context.Context, i int) (out estimator.Outcome) {
	sums, err := f.firstPass(ctx, i)
	for err == nil {
		var next *squares
		if next, err = sums.next(); err != nil || next == nil {
			break
		}
		if err = f.rows(ctx, f.train, i, f.Candidates[i].Width, f.Candidates[i].Scale, func(first int, block datasets.Set) error {
			return next.Add(ctx, first, block)
		}); err == nil {
			sums = next
		}
	}
	if err != nil {
		out.Err = f.Data.AtRows(err, f.Folds[f.fold].Train)
		return out
	}
	fitted, err := sums.finish(ctx)
	if err == nil {
		out.Report = fitted.Report()
		err = f.rows(ctx, f.test, i, f.Candidates[i].Width, f.Candidates[i].Scale, func(first int, block datasets.Set) error {
			more, err := fitted.PredictFull(ctx, block.X, estimator.Request{})
			out.Prediction = out.Prediction.Append(more, f.test.Rows())
			return datasets.FromRow(err, first)
		})
	}
	out.Err = f.Data.AtRows(err, f.Folds[f.fold].Test)
	return out
}

// firstPass returns the sums of the first pass of a candidate: part of those of its map.
func (f *fitting) firstPass(ctx context.Context, i int) (*squares, error) {
	c := f.Candidates[i]
	if f.first[c.Map] == nil {
		width := f.Data.Cols()
		if f.Mapped() {
			width = 0
			for _, o := range f.Candidates {
				if o.Map == c.Map {
					width = max(width, o.Width)
				}
			}
		}
		all := newSquares(f.specs[i], f.schema(), width)
		err := f.rows(ctx, f.train, i, width, 1, func(first int, block datasets.Set) error { return all.Add(ctx, first, block) })
		if err != nil {
			return nil, err
		}
		f.first[c.Map] = all
	}
	if !f.Mapped() {
		own := *f.first[c.Map]
		own.spec = f.specs[i]
		return &own, nil
	}
	return f.first[c.Map].leading(f.specs[i], c.Width, c.Scale), nil
}

// schema is that of the rows that are learned from, which has no columns where these are features.
func (f *fitting) schema() datasets.Schema {
	if f.Mapped() {
		return f.Data.Schema.WithColumns(nil)
	}
	return f.Data.Schema
}

// tile is how many rows are mapped at once.
const tile = 256

// rows hands the rows of a set to use, a block at a time, as a candidate's features.
func (f *fitting) rows(ctx context.Context, data datasets.Set, i, width int, scale float64, use func(first int, block datasets.Set) error) error {
	first := 0
	return data.Source().Blocks(ctx, func(block datasets.Set) error {
		defer func() { first += block.Rows() }()
		if !f.Mapped() {
			return use(first, block)
		}
		for lo := 0; lo < block.Rows(); lo += tile {
			part := block.Slice(lo, min(lo+tile, block.Rows()))
			err := f.Maps.Each(ctx, part.X, []int{f.Candidates[i].Map}, func(_ int, Z *mat.Dense) error {
				features := mat.DenseCopyOf(Z.Slice(0, part.Rows(), 0, width))
				features.Scale(scale, features)
				part.X, part.Schema = features, f.schema()
				return use(first+lo, part)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// leading returns the sums of scale times the first columns.
func (q *squares) leading(s Expectile, width int, scale float64) *squares {
	out := newSquares(s, q.schema, width)
	out.targets = q.targets
	from := func(j int) (column int, factor float64) {
		if j == width {
			return q.d, 1
		}
		return j, scale
	}
	for j := range width + 1 {
		a, left := from(j)
		out.moment[j] = left * q.moment[a]
		for k := j; k <= width; k++ {
			b, right := from(k)
			out.gram[j*(width+1)+k] = left * right * q.gram[a*(q.d+1)+b]
		}
	}
	return out
}
