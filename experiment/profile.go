package experiment

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/internal/suggest"
)

// profilingSource profiles rows as they are read.
type profilingSource struct {
	datasets.Source
	pass datasets.Pass
}

// Blocks reads the rows.
func (d *profilingSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	_, cols := d.Dims()
	d.pass = profile.Start(d.Schema(), cols)
	return d.Source.Blocks(ctx, func(block datasets.Set) error {
		if err := d.pass.Add(ctx, block); err != nil {
			return err
		}
		return yield(block)
	})
}

// constantWarnings returns warnings about training columns with a single value.
func constantWarnings(p profile.Profile) (warnings []string) {
	if names := constants(p.Targets); len(names) > 0 {
		in := "the same value in all training rows"
		if p.Rows == 1 {
			in = "a value in one training row only"
		}
		warnings = append(warnings, fmt.Sprintf("the target %s has %s, so that the model can only predict it; name "+
			"another target with data.target, or give more rows", suggest.List(names), in))
	}
	if names := constants(p.Columns); len(names) > 0 {
		warnings = append(warnings, "the same in all training rows, so that nothing is learned from them: "+
			suggest.List(names))
	}
	return warnings
}

// constants returns the names of the columns that have one value in all rows.
func constants(columns []profile.Column) (names []string) {
	for _, c := range columns {
		same := c.Kind == "numeric" && c.Min == c.Max || c.Kind == "categorical" && len(c.Categories) == 1 &&
			c.OtherCategories == 0
		if same && c.Missing == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// comparingSource compares rows with a profile as they are read.
type comparingSource struct {
	datasets.Source
	with *profile.Comparison
}

// Blocks reads the rows.
func (c comparingSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	return c.Source.Blocks(ctx, func(block datasets.Set) error {
		if err := c.with.Add(ctx, block); err != nil {
			return err
		}
		return yield(block)
	})
}
