package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// counts are the results of a first pass over the rows: their number, their form, and the weight of
// each class.
type counts struct {
	named   []string // the classes, where the schema lists them
	numbers bool     // whether the targets are no classes

	rows           int
	sparse, single bool      // the form of the first rows
	mass           []float64 // weight of each class; of all rows where these have none, then maybe Σ weight·target

	checkTarget func(y float64) error // of numbers, nil for none
}

// newCounts returns the counts of no rows.
func newCounts(schema datasets.Schema, numbers bool) *counts {
	c := &counts{numbers: numbers, mass: []float64{0}}
	if !numbers {
		c.named = schema.Classes()
		c.mass = make([]float64, len(c.named))
	}
	return c
}

// classes returns the names of the classes.
func (c *counts) classes() []string {
	if len(c.named) > 0 || c.numbers {
		return c.named
	}
	names := make([]string, len(c.mass))
	for j := range names {
		names[j] = strconv.Itoa(j)
	}
	return names
}

func (c *counts) add(first int, block datasets.Set) error {
	y, count, err := design.BlockTargets(first, block)
	if err == nil && count != 1 {
		err = fmt.Errorf("must have one target, got %d", count)
	}
	if err != nil {
		return err
	}
	weights, err := design.BlockWeights(first, block)
	if err != nil {
		return err
	}
	if c.rows == 0 {
		_, c.sparse = block.X.(*matrices.CSR)
		_, c.single = block.X.(*matrices.Dense32)
	}
	for i, v := range y {
		s := 1.0
		if weights != nil {
			s = weights[i]
		}
		check := c.checkCode
		if c.numbers {
			check = c.checkTarget
		}
		if check == nil {
			c.mass[0] += s
			continue
		}
		if err := check(v); err != nil {
			return block.Locate(&datasets.RowError{Row: first + i, Err: err}, first)
		}
		if c.numbers {
			c.mass[0] += s
			c.mass[1] += s * v
			continue
		}
		for int(v) >= len(c.mass) {
			c.mass = append(c.mass, 0)
		}
		c.mass[int(v)] += s
	}
	c.rows += len(y)
	return nil
}

// checkCode returns an error if v is not a class code.
func (c *counts) checkCode(v float64) error {
	most := design.MaxClasses
	if len(c.named) > 0 {
		most = len(c.named)
	}
	if v != math.Trunc(v) || v < 0 || v >= float64(most) {
		return fmt.Errorf("target: must be a class code from 0 to %[2]d, got %[1]v", v, most-1)
	}
	return nil
}

func (c *counts) merge(o *counts) {
	if c.rows == 0 {
		c.sparse, c.single = o.sparse, o.single
	}
	c.rows += o.rows
	for len(c.mass) < len(o.mass) {
		c.mass = append(c.mass, 0)
	}
	kern.Axpy(1, o.mass, c.mass[:len(o.mass)])
}

// factors returns the weight factor of each class, nil for ones. It returns an error if there are
// fewer than two classes.
func (c *counts) factors(by ClassWeight) ([]float64, error) {
	switch total := kern.Sum(c.mass); {
	case c.rows > 0 && total == 0:
		return nil, errors.New("every weight is 0")
	case c.numbers:
		return nil, nil
	}
	classes, present, total := c.classes(), 0, 0.0
	if c.rows > 0 {
		if err := design.CheckClassCount(classes, c.mass); err != nil {
			return nil, err
		}
	}
	for _, m := range c.mass {
		if m > 0 {
			present++
		}
	}
	factors, err := by.factors(classes, c.mass, present)
	if err != nil || factors == nil || c.rows == 0 {
		return factors, err
	}
	for j, m := range c.mass {
		total += m * factors[j]
	}
	if total == 0 {
		return nil, errors.New("class_weight gives every row weight 0")
	}
	return factors, nil
}

// absent reports which classes have no rows.
func (c *counts) absent() []bool {
	out := make([]bool, len(c.mass))
	for j, m := range c.mass {
		out[j] = m == 0
	}
	return out
}

func (c *counts) state(s *model.State) {
	n := len(c.mass)
	s.Int("rows", &c.rows)
	s.Bool("sparse", &c.sparse)
	s.Bool("single", &c.single)
	s.Int("classes", &n)
	s.Require(c.rows >= 0 && n >= 0 && n <= design.MaxClasses && (len(c.named) == 0 && !c.numbers || n == len(c.mass)),
		"the classes are others")
	if s.Err() == nil {
		pass.Floats(s, "mass", &c.mass, n, pass.NonNegative)
	}
}

// counted are the sums of passes of which the first may count rows and classes; the counts
// initialize the sums of the following passes.
type counted struct {
	counts *counts
	begin  func(c *counts) (rowSums, error)
	sums   rowSums // sums after the counting pass; nil during it
}

func (c *counted) add(ctx context.Context, first int, block datasets.Set) error {
	if c.sums != nil {
		return c.sums.add(ctx, first, block)
	}
	return c.counts.add(first, block)
}

func (c *counted) merge(ctx context.Context, other rowSums) error {
	o := other.(*counted)
	if (c.sums == nil) != (o.sums == nil) {
		return errDifferentRows
	}
	if c.sums != nil {
		if c.counts.rows != o.counts.rows || !slices.Equal(c.counts.mass, o.counts.mass) {
			return errDifferentRows
		}
		return c.sums.merge(ctx, o.sums)
	}
	c.counts.merge(o.counts)
	return nil
}

func (c *counted) next(ctx context.Context) (rowSums, error) {
	var next rowSums
	var err error
	if c.sums != nil {
		next, err = c.sums.next(ctx)
	} else {
		next, err = c.begin(c.counts.clone())
	}
	if err != nil || next == nil {
		return nil, err
	}
	return &counted{counts: c.counts, begin: c.begin, sums: next}, nil
}

func (c *counts) clone() *counts {
	out := *c
	out.mass = append([]float64(nil), c.mass...)
	return &out
}

func (c *counted) state(s *model.State) {
	over := c.sums != nil
	s.Bool("counted", &over)
	if s.Restoring() {
		c.counts, c.sums = c.counts.clone(), nil
	}
	if c.counts.state(s.Child("counts")); s.Err() != nil || !over {
		return
	}
	if s.Restoring() {
		var err error
		if c.sums, err = c.begin(c.counts.clone()); err != nil {
			s.Fail("%v", err)
			return
		}
	}
	c.sums.state(s.Child("sums"))
}
