// Package profile describes rows column by column, and tells how other rows differ from them.
//
//	then, err := profile.Of(ctx, training)
//	…
//	drift, err := profile.Compare(ctx, then, rows)
//	for _, input := range drift.Differing() {
//		fmt.Println(input.Name, input.PSI)
//	}
//
// A description is learned in one reading, in memory that does not grow with the rows, and is the same for any
// blocks and parts that they come in.
package profile

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
)

// Profile describes the columns of rows.
type Profile struct {
	Rows    int      `json:"rows"`
	Columns []Column `json:"columns"`            // inputs
	Targets []Column `json:"targets,omitempty"`  // likewise, those that the schema names
	LeftOut int      `json:"left_out,omitempty"` // inputs behind these that are not described
}

// Column describes the values of a column. A number that is not finite counts as missing.
type Column struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`                // numeric or categorical
	Missing   float64   `json:"missing"`             // share of the rows
	Unknown   float64   `json:"unknown,omitempty"`   // share of the rows, with a category that the schema does not list
	Min       float64   `json:"min"`                 // of numbers
	Max       float64   `json:"max"`                 //
	Mean      float64   `json:"mean"`                //
	Quantiles []float64 `json:"quantiles,omitempty"` // 0, 10, … 100 % of the numbers

	// Counts are the rows with a number up to Cuts[0], above that up to Cuts[1], … and above the last one: ten bins
	// of about as many rows each, and one of its own for a number that a tenth of the rows have.
	Cuts   []float64 `json:"cuts,omitempty"`
	Counts []int     `json:"counts,omitempty"`

	Levels      []Level `json:"levels,omitempty"`       // the most frequent first, at most 50
	OtherLevels int     `json:"other_levels,omitempty"` // how many more there are
	Other       float64 `json:"other,omitempty"`        // share of these, of the rows that have a value
}

// Level is how frequent a category is.
type Level struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // of the rows that have a value
}

// Bounds of a description.
const (
	mostColumns = 1000
	mostLevels  = 50
)

// Of describes the rows of a source, which it reads once. Weights are not looked at.
//
// Quantiles are those of all numbers, interpolated as NumPy does, where a column has at most 16,384 different ones
// (of more than 64 columns 2^20 are shared out among them, at least 1,024 each). Where it has more, numbers are
// counted together whose leading bits agree, as many bits as give so many counts: a quantile is off by no more
// than the numbers that are counted with it differ, and minimum, maximum and Counts are exact still. Counts by
// leading bits are those of DDSketch (Masson, Rim and Lee, VLDB 2019): they do not depend on the order of the
// rows. The mean depends on it by rounding.
//
// Of more than 1,000 inputs the first 1,000 are described. What sparse rows leave out is the number 0.
//
// It costs a sort of each column in pieces of 8,192 numbers; memory is 24 bytes for each number that is counted by
// itself. It fails where the source does, and with [datasets.ErrEmpty] where there are no rows.
func Of(ctx context.Context, source datasets.Source) (Profile, error) {
	_, cols := source.Dims()
	p := Start(source.Schema(), cols)
	if err := source.Blocks(ctx, func(block datasets.Set) error { return p.Add(ctx, block) }); err != nil {
		return Profile{}, err
	}
	return Finish(ctx, p)
}

// description stands for the parameters of a profile, of which there are none.
type description struct{}

// Start begins a pass that describes rows of that schema with so many columns, for [Finish]. Merged from parts, it
// says the same as of all rows at once; the mean up to rounding.
func Start(schema datasets.Schema, cols int) datasets.Pass {
	return pass.Begin(pass.Config{Name: "profile", Spec: description{}, Schema: schema, Cols: cols}, newSums(schema, cols))
}

// Finish returns what a pass that [Start] has begun says of its rows. Rows can be added to it afterwards.
func Finish(ctx context.Context, last datasets.Pass) (Profile, error) {
	all, begun, err := pass.Last(ctx, "profile", description{}, last)
	if err != nil {
		return Profile{}, err
	}
	s := all.(*sums)
	out := Profile{Rows: s.rows, Columns: make([]Column, len(s.inputs)), LeftOut: begun.Cols - len(s.inputs)}
	for j, t := range s.inputs {
		out.Columns[j] = t.describe(begun.Schema.Name(j), begun.Schema.Column(j), s.rows)
	}
	for j, t := range s.targets {
		c := begun.Schema.Targets[j]
		out.Targets = append(out.Targets, t.describe(c.Name, c, s.rows))
	}
	return out, nil
}

// check reports what of a profile cannot be so of rows of the schema, with so many inputs.
func (p Profile) check(schema datasets.Schema, cols int) error {
	if p.Rows < 1 || int64(p.Rows) > 1<<53 || p.LeftOut < 0 || len(p.Columns)+p.LeftOut != cols {
		return fmt.Errorf("profile: of %d rows and %d inputs, wanted one of %d inputs", p.Rows, len(p.Columns)+p.LeftOut, cols)
	}
	for j, c := range p.Columns {
		if err := c.check(schema.Name(j), schema.Column(j), p.Rows); err != nil {
			return err
		}
	}
	if len(p.Targets) > len(schema.Targets) {
		return fmt.Errorf("profile: of %d targets, wanted %d", len(p.Targets), len(schema.Targets))
	}
	for j, c := range p.Targets {
		if err := c.check(schema.Targets[j].Name, schema.Targets[j], p.Rows); err != nil {
			return err
		}
	}
	return nil
}
