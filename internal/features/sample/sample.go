// Package sample draws a sample of the rows of a source with numeric targets, for methods that
// learn input scales or directions from a sample. Inputs and outputs are numeric columns.
//
// [Take] draws the rows, [Rows] returns their indices, and [Standardized] standardizes their
// inputs.
package sample

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Sample is some rows with their targets as numbers.
type Sample struct {
	X mat.Matrix // n×d, a *mat.Dense or *matrices.CSR
	Y *mat.Dense // n×outputs, each of mean 0, together of mean square 1

	Units []float64 // divisor of each target
}

// From describes the sampling.
type From struct {
	Name   string // name of the caller, for errors
	Source datasets.Source
	// Check refuses inputs that are not finite numbers.
	Check func(first int, block datasets.Set) error
	// Common gives all targets one scale.
	Common bool
}

// Take draws at most most rows of a source, stratified by class. Rows are drawn uniformly, except
// for those of weight 0, which are excluded. The sample depends on the seed and on the rows, not on
// the blocks.
func Take(ctx context.Context, from From, most int, seed uint64) (Sample, error) {
	t, err := newTaker(ctx, from, most)
	if err != nil {
		return Sample{}, err
	}
	drawn, err := t.draw(ctx, seed)
	if err != nil {
		return Sample{}, err
	}
	y, units, err := t.targets(drawn)
	return Sample{design.Native(drawn.X), y, units}, err
}

// Rows are the numbers of the rows that [Take] draws, ascending.
func Rows(ctx context.Context, from From, most int, seed uint64) (out []int, err error) {
	t, err := newTaker(ctx, from, most)
	if err != nil {
		return nil, err
	}
	err = t.pick(ctx, seed, func(first int, _ datasets.Set, list []int) {
		for _, i := range list {
			out = append(out, first+i)
		}
	})
	return out, err
}

// newTaker scans the rows.
func newTaker(ctx context.Context, from From, most int) (*taker, error) {
	t := &taker{From: from, classes: from.Source.Schema().Classes()}
	t.count = make([]int, max(len(t.classes), 1))
	if err := t.scan(ctx); err != nil {
		return nil, err
	}
	t.share(most)
	return t, nil
}

// taker takes a sample. Where the targets are numbers all rows are of class 0.
type taker struct {
	From
	classes []string
	count   []int // rows of each class
	want    []int // of them
}

// scan counts the rows of each class, and refuses inputs that are not finite numbers.
func (t *taker) scan(ctx context.Context) error {
	_, width := t.Source.Dims()
	rows := 0
	err := t.each(ctx, func(first int, block datasets.Set) error {
		if err := t.Check(first, block); err != nil {
			return err
		}
		rows += block.Rows()
		return t.rows(first, block, func(_, class int) { t.count[class]++ })
	})
	if err == nil && (rows == 0 || width == 0) {
		err = fmt.Errorf("%s: %w: %d rows, %d columns", t.Name, datasets.ErrEmpty, rows, width)
	}
	return err
}

// each passes every nonempty block of the source to yield.
func (t *taker) each(ctx context.Context, yield func(first int, block datasets.Set) error) error {
	first := 0
	return t.Source.Blocks(ctx, func(block datasets.Set) error {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		if block.Rows() == 0 {
			return nil
		}
		at := first
		first += block.Rows()
		return yield(at, block)
	})
}

// rows calls yield with the class of every row of a block that may be drawn.
func (t *taker) rows(first int, block datasets.Set, yield func(i, class int)) error {
	class := func(int) int { return 0 }
	_, _, err := design.BlockTargets(first, block)
	if len(t.classes) > 0 {
		var labels *design.Labels
		if labels, err = design.BlockLabels(first, block, t.classes); err == nil {
			class = func(i int) int { return int(labels.Y[i]) }
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, block.Locate(err, first))
	}
	for i := range block.Rows() {
		if block.Weights == nil || block.Weights[i] > 0 {
			yield(i, class(i))
		}
	}
	return nil
}

// share divides the sample among the classes by their frequencies, with at least one row for each
// class that has rows.
func (t *taker) share(most int) {
	total := 0
	for _, n := range t.count {
		total += n
	}
	t.want = make([]int, len(t.count))
	before, given := 0, 0
	for c, n := range t.count {
		before += n
		upTo := before
		if total > most {
			upTo = int(int64(before) * int64(most) / int64(total))
		}
		t.want[c] = min(max(upTo-given, 0), n)
		given += t.want[c]
		if n > 0 && t.want[c] == 0 {
			t.want[c] = 1
		}
	}
}

// pick passes the sampled rows of each class to yield, block by block, by sequential sampling.
func (t *taker) pick(ctx context.Context, seed uint64, yield func(first int, block datasets.Set, list []int)) error {
	left, want := append([]int{}, t.count...), append([]int{}, t.want...)
	streams := make([]spectral.Stream, len(left))
	for c := range streams {
		streams[c] = spectral.NewStream()
		streams[c].At(seed, spectral.SampledRows, 1+c)
	}
	return t.each(ctx, func(first int, block datasets.Set) error {
		var list []int
		changed := false
		err := t.rows(first, block, func(i, c int) {
			if left[c] == 0 {
				changed = true
				return
			}
			if streams[c].IntN(left[c]) < want[c] {
				list = append(list, i)
				want[c]--
			}
			left[c]--
		})
		if err == nil && changed {
			err = fmt.Errorf("%s: %w", t.Name, errOtherRows)
		}
		if err != nil || len(list) == 0 {
			return err
		}
		yield(first, block, list)
		return nil
	})
}

// draw takes the rows that are picked, in random order.
func (t *taker) draw(ctx context.Context, seed uint64) (datasets.Set, error) {
	var parts []datasets.Set
	err := t.pick(ctx, seed, func(_ int, block datasets.Set, list []int) {
		part := block.Select(list)
		part.X = design.ToFloat64(design.Native(part.X))
		parts = append(parts, part)
	})
	if err != nil {
		return datasets.Set{}, err
	}
	if len(parts) == 0 {
		return datasets.Set{}, fmt.Errorf("%s: every weight is 0", t.Name)
	}
	all, err := datasets.Set{}.Append(parts...)
	if err != nil {
		return datasets.Set{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	if all.Rows() < 2 {
		return datasets.Set{}, fmt.Errorf("%s: number of training rows must be two or more, got %d", t.Name, all.Rows())
	}
	order := spectral.NewStream()
	order.At(seed, spectral.SampledRows, 0)
	return all.Select(order.Perm(all.Rows())), nil // any first part of the rows is a sample too
}

// targets returns the targets as numbers: of classes codes ±1, a column for each of more than two.
func (t *taker) targets(data datasets.Set) (*mat.Dense, []float64, error) {
	y, outputs, err := design.BlockTargets(0, data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	n := data.Rows()
	if len(t.classes) > 0 {
		labels := &design.Labels{Y: y, Classes: t.classes}
		outputs = labels.Outputs()
		y = labels.Signs(make([]float64, n*outputs), 0)
	}
	out := mat.NewDense(n, outputs, nil)
	m := design.NewMoments(outputs)
	m.Compute(mat.NewDense(n, outputs, y))
	unit := make([]float64, outputs)
	common := 0.0
	for k := range unit {
		unit[k] = m.Deviation(k)
		if !finite(unit[k]) {
			return nil, nil, fmt.Errorf("%s: the range of the targets overflows", t.Name)
		}
		common += unit[k] * unit[k] / float64(outputs)
	}
	if common == 0 {
		return nil, nil, fmt.Errorf("%s: %w", t.Name, errConstantTargets)
	}
	for k := range unit {
		if t.Common || len(t.classes) > 0 { // a rare class is not to matter more than a frequent one
			unit[k] = math.Sqrt(common)
		}
	}
	for i := range n {
		for k, u := range unit {
			if u > 0 {
				out.Set(i, k, (y[i*outputs+k]-m.Mean[k])/u)
			}
		}
	}
	return out, unit, nil
}

var (
	errConstantTargets = errors.New("the targets are constant: there is nothing to learn scales from")
	errOtherRows       = errors.New("these are not the rows of the pass before: their number or values differ")
)
