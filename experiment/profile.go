package experiment

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/matrices"
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

// maxLeakRows is the number of training rows in which inputs that determine the target are looked for.
const maxLeakRows = 2000

// leakWarnings returns a warning about the inputs that determine a target.
func leakWarnings(train datasets.Set) (warnings []string) {
	if _, isSparse := train.X.(*matrices.CSR); isSparse {
		return nil
	}
	targets := [][]float64{train.Y}
	if train.Targets != nil {
		targets = nil
		for t := range train.Targets.RawMatrix().Cols {
			targets = append(targets, mat.Col(nil, t, train.Targets))
		}
	}
	for t, y := range targets {
		var names []string
		target := profile.Variable{Values: y, Categories: t < len(train.Schema.Targets) &&
			train.Schema.Targets[t].Kind == datasets.Categorical}
		for j := range train.Cols() {
			column := train.Schema.Column(j)
			if column.Kind == datasets.Text {
				continue
			}
			input := profile.Variable{Values: mat.Col(nil, j, train.X), Categories: column.Kind == datasets.Categorical}
			if profile.Determines(input, target) {
				names = append(names, train.Schema.Name(j))
			}
		}
		if len(names) > 0 {
			name := "the target"
			if t < len(train.Schema.Targets) && train.Schema.Targets[t].Name != "" {
				name += " " + train.Schema.Targets[t].Name
			}
			warnings = append(warnings, fmt.Sprintf("%s is determined by %s alone: drop inputs that are not known before the "+
				"target (data.drop)", name, suggest.Alternatives(names)))
		}
	}
	return warnings
}
