package design

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
)

// BlockWeights returns the weights of a block, nil for ones. It fails unless all are finite and at
// least 0.
func BlockWeights(first int, block datasets.Set) ([]float64, error) {
	if block.Weights == nil {
		return nil, nil
	}
	if len(block.Weights) != block.Rows() {
		return nil, fmt.Errorf("rows from %d: %d weights for %d rows", first, len(block.Weights), block.Rows())
	}
	for i, w := range block.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, block.Locate(&datasets.RowError{Row: first + i,
				Err: fmt.Errorf("weight must be finite and ≥ 0, got %v", w)}, first)
		}
	}
	return block.Weights, nil
}

// WithoutZeroWeights returns a block that begins at row first without its rows of weight 0. It returns a block
// that has no such rows, or invalid weights, as it is.
func WithoutZeroWeights(first int, block datasets.Set) datasets.Set {
	if !slices.Contains(block.Weights, 0) || len(block.Weights) != block.Rows() {
		return block
	}
	var rows []int
	for i, w := range block.Weights {
		if w != 0 {
			rows = append(rows, i)
		}
	}
	return block.NumberRows(first).Select(rows)
}

// BlockTargets returns the targets of a block, rows × count in row-major order. It fails unless all
// are finite.
func BlockTargets(first int, block datasets.Set) (y []float64, count int, err error) {
	switch {
	case block.Targets != nil:
		y, count = DenseData(block.Targets), block.Targets.RawMatrix().Cols
	case block.Y != nil:
		y, count = block.Y, 1
	default:
		return nil, 0, errors.New("the data have no targets")
	}
	if len(y) != count*block.Rows() {
		return nil, 0, fmt.Errorf("rows from %d: %d targets for %d rows", first, len(y)/count, block.Rows())
	}
	for i, v := range y {
		if v-v != 0 {
			return nil, 0, block.Locate(&datasets.RowError{Row: first + i/count,
				Err: fmt.Errorf("target must be finite, got %v", v)}, first)
		}
	}
	return y, count, nil
}

// BlockTargetsAndWeights returns the results of [BlockTargets] and [BlockWeights]. The block begins
// at row first.
func BlockTargetsAndWeights(first int, block datasets.Set) (y []float64, count int, weights []float64, err error) {
	if y, count, err = BlockTargets(first, block); err != nil {
		return nil, 0, nil, err
	}
	weights, err = BlockWeights(first, block)
	return y, count, weights, err
}

// NonFiniteError returns an error that names the first missing or infinite input of a block. Call
// it when a sum over the block is not finite.
func NonFiniteError(first int, block datasets.Set) error {
	n, d := block.X.Dims()
	for i := range n {
		for j := range d {
			v := block.X.At(i, j)
			name := block.Schema.Name(j)
			if math.IsNaN(v) {
				return block.Locate(&datasets.RowError{Row: first + i, Column: name,
					Err: fmt.Errorf("%w; add an impute step or fill in the value", datasets.ErrMissing)}, first)
			}
			if math.IsInf(v, 0) {
				return block.Locate(&datasets.RowError{Row: first + i, Column: name, Err: errors.New("infinite value")}, first)
			}
		}
	}
	return fmt.Errorf("rows %d to %d: sums of the inputs overflow; standardize them", first, first+n-1)
}

// Labels are the targets and weights of all rows.
type Labels struct {
	Y       []float64
	Weights []float64 // ones if the data have none
	total   float64   // Σ weights
	Classes []string  // nil for regression
	Absent  []bool    // classes without rows of positive weight
}

// ReadLabels reads the weight and the single target of every row.
func (r *Rows) ReadLabels(ctx context.Context) (*Labels, error) { return r.readTargets(ctx, 1) }

// readTargets reads the weight and the given number of targets of every row; Y is rows × targets.
func (r *Rows) readTargets(ctx context.Context, targets int) (*Labels, error) {
	const maxPrealloc = 1 << 26 // the row count of a file header may be wrong
	capacity := min(max(r.N, 0), maxPrealloc)
	l := &Labels{Y: make([]float64, 0, capacity*targets), Weights: make([]float64, 0, capacity)}
	addBlock := func(first int, block datasets.Set) error {
		y, count, err := BlockTargets(first, block)
		if err != nil {
			return err
		}
		switch {
		case count == targets:
		case targets == 1:
			return fmt.Errorf("must have one target, got %d", count)
		default:
			return fmt.Errorf("must have %d targets, got %d", targets, count)
		}
		w, err := BlockWeights(first, block)
		if err != nil {
			return err
		}
		if w == nil {
			w = slices.Repeat([]float64{1}, block.Rows())
		}
		l.Y, l.Weights = append(l.Y, y...), append(l.Weights, w...)
		return nil
	}
	var err error
	switch {
	case r.Set != nil:
		err = addBlock(0, *r.Set)
	case r.Float32Rows != nil: // float32 inputs are cheaper to read
		err = r.Float32Rows.Each(ctx, addBlock)
	default:
		err = r.Each(ctx, addBlock)
	}
	if err != nil {
		return nil, err
	}
	if len(l.Weights) == 0 {
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	r.N = len(l.Weights)
	if l.total = kern.Sum(l.Weights); l.total == 0 {
		return nil, errors.New("every weight is 0")
	}
	return l, nil
}

// classFactors returns a weight factor per class, nil for ones. Its arguments are the classes,
// their total weights, and the number of classes with positive weight.
type classFactors func(classes []string, mass []float64, present int) ([]float64, error)

// ReadClasses reads the class code and weight of every row and multiplies the weights by the
// factors of their classes.
func (r *Rows) ReadClasses(ctx context.Context, factors classFactors) (*Labels, error) {
	l, err := r.ReadLabels(ctx)
	if err != nil {
		return nil, err
	}
	l.Classes = r.Schema.Classes()
	if len(l.Classes) == 0 {
		last := 0.0
		for _, y := range l.Y {
			last = max(last, y)
		}
		if !slices.Contains(l.Y, 0) {
			return nil, ErrNoClass0
		}
		for c := range int(min(last, MaxClasses-1)) + 1 {
			l.Classes = append(l.Classes, strconv.Itoa(c))
		}
	}
	if err := l.checkCodes(0); err != nil {
		return nil, err
	}
	return l, l.applyClassWeights(factors)
}

// LabelNames returns the names of several targets, "0", "1", … without a schema; nil for one target.
func (r *Rows) LabelNames() []string {
	if r.Several < 2 {
		return nil
	}
	var names []string
	for k := range r.Several {
		name := strconv.Itoa(k)
		if k < len(r.Schema.Targets) {
			name = r.Schema.Targets[k].Name
		}
		names = append(names, name)
	}
	return names
}

// ReadBinaryTargets reads several targets with codes 0 and 1 in one pass, and returns the labels of
// each, with weights multiplied by the factors of its two classes. A target of which all rows of
// positive weight have the same code is nil, and its code is in constant.
func (r *Rows) ReadBinaryTargets(ctx context.Context, factors classFactors) (list []*Labels, constant []float64,
	err error) {
	names := r.LabelNames()
	all, err := r.readTargets(ctx, len(names))
	if err != nil {
		return nil, nil, err
	}
	k := len(names)
	list, constant = make([]*Labels, k), make([]float64, k)
	for j, name := range names {
		l := &Labels{Y: make([]float64, r.N), Weights: all.Weights, total: all.total, Classes: []string{"0", "1"}}
		for i := range l.Y {
			l.Y[i] = all.Y[i*k+j]
		}
		if j < len(r.Schema.Targets) && len(r.Schema.Targets[j].Categories) == 2 {
			l.Classes = r.Schema.Targets[j].Categories
		}
		if err := l.checkCodes(0); err != nil {
			return nil, nil, fmt.Errorf("label %s: %w", name, err)
		}
		if mass := l.ClassWeights(); mass[0] == 0 || mass[1] == 0 {
			if mass[1] > 0 {
				constant[j] = 1
			}
			continue
		}
		if err := l.applyClassWeights(factors); err != nil {
			return nil, nil, fmt.Errorf("label %s: %w", name, err)
		}
		list[j] = l
	}
	return list, constant, nil
}

// BlockSigns returns the targets of a block, rows × count, with ±1 for codes 1 and 0, and its weights.
func BlockSigns(first int, block datasets.Set) (y []float64, count int, weights []float64, err error) {
	codes, count, weights, err := BlockTargetsAndWeights(first, block)
	if err != nil {
		return nil, 0, nil, err
	}
	l := &Labels{Y: codes, Classes: []string{"0", "1"}}
	for i := range codes {
		one := &Labels{Y: codes[i : i+1], Classes: l.Classes}
		if err := one.checkCodes(first + i/count); err != nil {
			return nil, 0, nil, block.Locate(err, first)
		}
	}
	return l.Signs(make([]float64, len(codes)), 0), count, weights, nil
}

// BlockLabels returns the labels of a block for the given classes, without weights.
func BlockLabels(first int, block datasets.Set, classes []string) (*Labels, error) {
	y, count, err := BlockTargets(first, block)
	if err == nil && count != 1 {
		err = fmt.Errorf("must have one target, got %d", count)
	}
	if err != nil {
		return nil, err
	}
	l := &Labels{Y: y, Classes: classes}
	return l, l.checkCodes(first)
}

func (l *Labels) checkCodes(first int) error {
	for i, y := range l.Y {
		if y != math.Trunc(y) || y < 0 || y >= float64(len(l.Classes)) {
			return &datasets.RowError{Row: first + i, Err: fmt.Errorf("target must be a class code from 0 to %d, got %v",
				len(l.Classes)-1, y)}
		}
	}
	return nil
}

// CheckClassCount returns an error if fewer than two classes have positive weight.
func CheckClassCount(classes []string, mass []float64) error {
	present, only := 0, 0
	for c, m := range mass {
		if m > 0 {
			present++
			only = c
		}
	}
	if present < 2 {
		return fmt.Errorf("must have at least two classes, got only %q", classes[only])
	}
	return nil
}

// ErrNoClass0 is the error of class codes from 1, which imply a class without rows.
var ErrNoClass0 = errors.New("class codes must start at 0, got none with code 0; name the classes by Set.WithClasses")

// MaxClasses bounds the number of classes if the schema does not list them.
const MaxClasses = 1 << 16

// applyClassWeights checks that at least two classes are present and applies the class factors.
func (l *Labels) applyClassWeights(by classFactors) error {
	mass := l.ClassWeights()
	if err := CheckClassCount(l.Classes, mass); err != nil {
		return err
	}
	l.Absent = make([]bool, len(mass))
	present := 0
	for c, m := range mass {
		if l.Absent[c] = m == 0; m > 0 {
			present++
		}
	}
	factors, err := by(l.Classes, mass, present)
	if err != nil || factors == nil {
		return err
	}
	weights := make([]float64, len(l.Weights))
	for i, y := range l.Y {
		weights[i] = l.Weights[i] * factors[int(y)]
	}
	l.Weights = weights
	if l.total = kern.Sum(weights); l.total == 0 {
		return errors.New("class_weight gives every row weight 0")
	}
	return nil
}

// ClassWeights returns the total weight of each class.
func (l *Labels) ClassWeights() []float64 {
	mass := make([]float64, len(l.Classes))
	for i, y := range l.Y {
		mass[int(y)] += l.Weights[i]
	}
	return mass
}

// Outputs returns the number of scores per row: 1 for two classes, otherwise the number of classes.
func (l *Labels) Outputs() int {
	if len(l.Classes) == 2 {
		return 1
	}
	return len(l.Classes)
}

// Signs writes ±1 codes to dst, rows × outputs, for rows from first on. With one output, +1 is the
// second class. Otherwise +1 in column c is class c.
func (l *Labels) Signs(dst []float64, first int) []float64 {
	k := l.Outputs()
	for i := range len(dst) / k {
		c := int(l.Y[first+i])
		if k == 1 {
			dst[i] = float64(2*c - 1)
			continue
		}
		for j := range k {
			dst[i*k+j] = -1
		}
		dst[i*k+c] = 1
	}
	return dst
}

// AbsentIntercept is the score of a class without training rows; it makes the class practically
// impossible.
const AbsentIntercept = -1e4
