// Package profile computes statistics of every column of a data set, and the drift of other rows
// from them.
//
//	reference, err := profile.Of(ctx, training)
//	…
//	drift, err := profile.Compare(ctx, reference, rows)
//	for _, input := range drift.Drifted() {
//		fmt.Println(input.Name, input.PSI)
//	}
//
// Profiles are computed in one pass with bounded memory. They do not depend on how the rows are
// divided into blocks and parts.
package profile

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
)

// Profile contains the statistics of the columns of a data set.
type Profile struct {
	Rows    int      `json:"rows"`
	Columns []Column `json:"columns"`            // inputs
	Targets []Column `json:"targets,omitempty"`  // those named in the schema
	Omitted int      `json:"left_out,omitempty"` // number of further inputs without statistics
}

// Column contains the statistics of a column. Infinite values count as missing.
type Column struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`    // numeric, categorical or text
	Missing float64 `json:"missing"` // fraction of the rows
	// fraction of the rows with a category that is not in the schema; of text, the expected fraction of
	// unknown words in new rows
	Unknown   float64   `json:"unknown,omitempty"`
	Min       float64   `json:"min"`                 // of numeric columns, and of the lengths of text in characters
	Max       float64   `json:"max"`                 //
	Mean      float64   `json:"mean"`                //
	Quantiles []float64 `json:"quantiles,omitempty"` // deciles from 0 to 100 %

	// Counts are histogram counts: rows up to Cuts[0], between consecutive Cuts, and above the last
	// cut. The ten bins have about equal counts; a value with at least 10 % of the rows has its own
	// bin.
	Cuts   []float64 `json:"cuts,omitempty"`
	Counts []int     `json:"counts,omitempty"`

	Words []byte `json:"words,omitempty"` // of text, a bit for each hash of a word

	Categories      []Category `json:"levels,omitempty"`       // in descending order of frequency, at most 50
	OtherCategories int        `json:"other_levels,omitempty"` // number of further categories
	Other           float64    `json:"other,omitempty"`        // their fraction of the rows with a value
	OnceCategories  int        `json:"once_levels,omitempty"`  // number of categories with one row
	TwiceCategories int        `json:"twice_levels,omitempty"` // number of categories with two rows
}

// Category contains the frequency of a category.
type Category struct {
	Name     string  `json:"name"`
	Fraction float64 `json:"share"` // of the rows with a value
}

// Limits of a profile.
const (
	maxColumns = 1000
	maxLevels  = 50
)

// Of returns the profile of a source, in one pass. It ignores weights.
//
// Quantiles are exact, interpolated as by NumPy, for columns with at most 16,384 distinct values;
// more than 64 columns share 2²⁰ values, at least 1,024 each. Otherwise values with equal leading
// bits are merged, as in DDSketch (Masson, Rim and Lee, VLDB 2019), so that quantiles have a
// bounded relative error; minimum, maximum and Counts remain exact. Results do not depend on the
// order of the rows, except for the rounding of the mean.
//
// Only the first 1,000 inputs are described. Entries that sparse rows do not store count as 0.
//
// Cost: a sort of each column in blocks of 8,192 values. Memory: 24 bytes per distinct value.
// Errors: those of the source; [datasets.ErrEmpty].
func Of(ctx context.Context, source datasets.Source) (Profile, error) {
	_, cols := source.Dims()
	p := Start(source.Schema(), cols)
	if err := source.Blocks(ctx, func(block datasets.Set) error { return p.Add(ctx, block) }); err != nil {
		return Profile{}, err
	}
	return Finish(ctx, p)
}

// noParams are the (empty) parameters of a profile.
type noParams struct{}

// Start returns an empty pass for rows with the given schema and number of columns; see [Finish].
// Merged passes give the profile of all rows, up to rounding of the mean.
func Start(schema datasets.Schema, cols int) datasets.Pass {
	return pass.Begin(pass.Config{Name: "profile", Spec: noParams{}, Schema: schema, Cols: cols}, newSums(schema, cols))
}

// Finish returns the profile of a pass of [Start]. More rows can be added to the pass afterwards.
func Finish(ctx context.Context, last datasets.Pass) (Profile, error) {
	all, begun, err := pass.Last(ctx, "profile", noParams{}, last)
	if err != nil {
		return Profile{}, err
	}
	s := all.(*sums)
	out := Profile{Rows: s.rows, Columns: make([]Column, len(s.inputs)), Omitted: begun.Cols - len(s.inputs)}
	for j, t := range s.inputs {
		out.Columns[j] = t.describe(begun.Schema.Name(j), begun.Schema.Column(j), s.rows)
	}
	for j, t := range s.targets {
		c := begun.Schema.Targets[j]
		out.Targets = append(out.Targets, t.describe(c.Name, c, s.rows))
	}
	return out, nil
}

// validate checks that a profile is consistent and describes columns of the schema.
func (p Profile) validate(schema datasets.Schema, cols int) error {
	if p.Rows < 1 || int64(p.Rows) > 1<<53 || p.Omitted < 0 || len(p.Columns)+p.Omitted != cols {
		return fmt.Errorf("profile: inputs must be %d, got %d (of %d rows)", cols, len(p.Columns)+p.Omitted, p.Rows)
	}
	for j, c := range p.Columns {
		if err := c.validate(schema.Name(j), schema.Column(j), p.Rows); err != nil {
			return err
		}
	}
	if len(p.Targets) > len(schema.Targets) {
		return fmt.Errorf("profile: targets must be %d, got %d", len(schema.Targets), len(p.Targets))
	}
	for j, c := range p.Targets {
		if err := c.validate(schema.Targets[j].Name, schema.Targets[j], p.Rows); err != nil {
			return err
		}
	}
	return nil
}
