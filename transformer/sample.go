package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/spectral"
)

// targetSample is some rows with their targets as numbers.
type targetSample struct {
	X mat.Matrix // n×d, a *mat.Dense or *sparse.CSR
	Y *mat.Dense // n×outputs, each of mean 0, together of mean square 1
}

// takeSample draws rows of a source, at most so many, and of every class as many as its share. Each row has the same
// chance, but for those of weight 0, which have none. What is drawn depends on the seed and on the rows, and not on
// how they are cut into blocks.
func takeSample(ctx context.Context, step string, src datasets.Source, most int, seed uint64) (targetSample, error) {
	t, err := newTaker(ctx, step, src, most)
	if err != nil {
		return targetSample{}, err
	}
	drawn, err := t.draw(ctx, src, seed)
	if err != nil {
		return targetSample{}, err
	}
	y, err := t.targets(drawn)
	return targetSample{design.Native(drawn.X), y}, err
}

// sampledRows are the numbers of the rows that takeSample draws, ascending.
func sampledRows(ctx context.Context, step string, src datasets.Source, most int, seed uint64) (out []int, err error) {
	t, err := newTaker(ctx, step, src, most)
	if err != nil {
		return nil, err
	}
	err = t.pick(ctx, src, seed, func(first int, _ datasets.Set, list []int) {
		for _, i := range list {
			out = append(out, first+i)
		}
	})
	return out, err
}

// newTaker looks at the rows.
func newTaker(ctx context.Context, step string, src datasets.Source, most int) (*taker, error) {
	t := &taker{step: step, classes: src.Schema().Classes()}
	t.count = make([]int, max(len(t.classes), 1))
	if err := t.look(ctx, src); err != nil {
		return nil, err
	}
	t.share(most)
	return t, nil
}

// taker takes a sample. Where the targets are numbers all rows are of class 0.
type taker struct {
	step    string
	classes []string
	count   []int // rows of each class
	wanted  []int // of them
}

// look counts the rows of each class, and refuses inputs that are not finite numbers.
func (t *taker) look(ctx context.Context, src datasets.Source) error {
	_, width := src.Dims()
	rows := 0
	err := t.each(ctx, src, func(first int, block datasets.Set) error {
		if _, err := checkInputs(t.step, block, src.Schema(), width, first, false); err != nil {
			return err
		}
		rows += block.Rows()
		return t.rows(first, block, func(_, class int) { t.count[class]++ })
	})
	if err == nil && (rows == 0 || width == 0) {
		err = fmt.Errorf("transformer: %s: %w: %d rows, %d columns", t.step, datasets.ErrEmpty, rows, width)
	}
	return err
}

// each hands every block of the source with rows to yield.
func (t *taker) each(ctx context.Context, src datasets.Source, yield func(first int, block datasets.Set) error) error {
	first := 0
	return src.Blocks(ctx, func(block datasets.Set) error {
		if err := ctx.Err(); err != nil {
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
		return fmt.Errorf("transformer: %s: %w", t.step, block.Locate(err, first))
	}
	for i := range block.Rows() {
		if block.Weights == nil || block.Weights[i] > 0 {
			yield(i, class(i))
		}
	}
	return nil
}

// share divides the rows wanted among the classes by their number, and gives at least one to a class with rows.
func (t *taker) share(most int) {
	total := 0
	for _, n := range t.count {
		total += n
	}
	t.wanted = make([]int, len(t.count))
	before, given := 0, 0
	for c, n := range t.count {
		before += n
		upTo := before
		if total > most {
			upTo = int(int64(before) * int64(most) / int64(total))
		}
		t.wanted[c] = min(max(upTo-given, 0), n)
		given += t.wanted[c]
		if n > 0 && t.wanted[c] == 0 {
			t.wanted[c] = 1
		}
	}
}

// pick hands the rows wanted of each class to yield, block by block: each next row is one of them with the chance that
// it is one of those left to take.
func (t *taker) pick(ctx context.Context, src datasets.Source, seed uint64, yield func(first int, block datasets.Set, list []int)) error {
	left, want := append([]int{}, t.count...), append([]int{}, t.wanted...)
	streams := make([]spectral.Stream, len(left))
	for c := range streams {
		streams[c] = spectral.NewStream()
		streams[c].At(seed, spectral.SampledRows, 1+c)
	}
	return t.each(ctx, src, func(first int, block datasets.Set) error {
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
			err = fmt.Errorf("transformer: %s: %w", t.step, errOtherRows)
		}
		if err != nil || len(list) == 0 {
			return err
		}
		yield(first, block, list)
		return nil
	})
}

// draw takes the rows that are picked, in random order.
func (t *taker) draw(ctx context.Context, src datasets.Source, seed uint64) (datasets.Set, error) {
	var parts []datasets.Set
	err := t.pick(ctx, src, seed, func(_ int, block datasets.Set, list []int) {
		part := block.Select(list)
		part.X = native(part.X)
		parts = append(parts, part)
	})
	if err != nil {
		return datasets.Set{}, err
	}
	all, err := datasets.Stack(parts...)
	if err != nil {
		return datasets.Set{}, fmt.Errorf("transformer: %s: %w", t.step, err)
	}
	if all.Rows() < 2 {
		return datasets.Set{}, fmt.Errorf("transformer: %s: %d row to learn from, wanted two or more", t.step, all.Rows())
	}
	order := spectral.NewStream()
	order.At(seed, spectral.SampledRows, 0)
	return all.Select(order.Perm(all.Rows())), nil // any first part of the rows is a sample too
}

// native returns rows as a *mat.Dense or *sparse.CSR.
func native(X mat.Matrix) mat.Matrix { return design.Widened(design.Native(X)) }

// targets returns the targets as numbers: of classes codes ±1, a column for each of more than two.
func (t *taker) targets(data datasets.Set) (*mat.Dense, error) {
	y, outputs, err := design.BlockTargets(0, data)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s: %w", t.step, err)
	}
	n := data.Rows()
	if len(t.classes) > 0 {
		labels := &design.Labels{Y: y, Classes: t.classes}
		outputs = labels.Outputs()
		y = labels.Signs(make([]float64, n*outputs), 0)
	}
	out := mat.NewDense(n, outputs, nil)
	m := design.NewMoments(outputs)
	m.Of(mat.NewDense(n, outputs, y))
	unit := make([]float64, outputs)
	common := 0.0
	for k := range unit {
		unit[k] = m.Deviation(k)
		if !finite(unit[k]) {
			return nil, fmt.Errorf("transformer: %s: the range of the targets overflows", t.step)
		}
		common += unit[k] * unit[k] / float64(outputs)
	}
	if common == 0 {
		return nil, fmt.Errorf("transformer: %s: %w", t.step, errConstantTargets)
	}
	for k := range unit {
		if len(t.classes) > 0 { // a rare class is not to matter more than a frequent one
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
	return out, nil
}

var errConstantTargets = errors.New("the targets are constant: there is nothing to learn scales from")
