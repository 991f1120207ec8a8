package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/cause"
)

// StackSources returns the rows of all sources, one after the other, in the blocks in which they come from memory.
// The sources have the same columns and targets, of the same kinds and with the same categories; where these are
// still to be learned, as those of several files are, the readers open all files at once, such as OpenFiles of
// package csv. A number of a group means the same group in all sources. It holds one block beside those of the sources.
//
// The source is a [Seeker], which leaves out whole sources whose numbers of rows are known, and a [Surveyor].
func StackSources(sources ...Source) (Source, error) {
	if len(sources) == 0 {
		return nil, errors.New("datasets: no sources to stack")
	}
	if len(sources) == 1 {
		return sources[0], nil
	}
	first := sources[0].Schema()
	_, cols := sources[0].Dims()
	for k, src := range sources {
		s := src.Schema()
		if _, d := src.Dims(); d != cols {
			return nil, fmt.Errorf("datasets: %d columns, then %d in source %d", cols, d, k)
		}
		if err := sameColumns(first.Columns, s.Columns); err != nil {
			return nil, fmt.Errorf("datasets: source %d: %w", k, err)
		}
		if err := sameColumns(first.Targets, s.Targets); err != nil {
			return nil, fmt.Errorf("datasets: source %d: target: %w", k, err)
		}
	}
	return stacked(slices.Clone(sources)), nil
}

// sameColumns returns an error where columns differ in more than where they come from.
func sameColumns(want, got []Column) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d columns are named, wanted %d", len(got), len(want))
	}
	for j, w := range want {
		switch g := got[j]; {
		case g.Name != w.Name:
			return fmt.Errorf("column %d is %q, wanted %q", j, g.Name, w.Name)
		case g.Kind != w.Kind:
			return fmt.Errorf("column %s is %v, wanted %v", w.Name, g.Kind, w.Kind)
		case !slices.Equal(g.Levels, w.Levels):
			return fmt.Errorf("column %s has other categories", w.Name)
		}
	}
	return nil
}

type stacked []Source

func (s stacked) Schema() Schema { return s[0].Schema() }

func (s stacked) Dims() (rows, cols int) {
	for _, src := range s {
		n, d := src.Dims()
		if cols = d; n < 0 || rows < 0 {
			rows = -1
		} else {
			rows += n
		}
	}
	return rows, cols
}

func (s stacked) Blocks(ctx context.Context, yield func(block Set) error) error {
	return s.BlocksFrom(ctx, 0, yield)
}

// BlocksFrom begins with the source that has the row, as far as the numbers of rows are known.
func (s stacked) BlocksFrom(ctx context.Context, row int, yield func(block Set) error) error {
	c := &collector{}
	for _, src := range s {
		if err := cause.Err(ctx); err != nil {
			return err
		}
		n, _ := src.Dims()
		if n >= 0 && row >= n {
			row -= n
			continue
		}
		read, left := src.Blocks, row
		if from, ok := src.(Seeker); ok && row > 0 {
			read = func(ctx context.Context, yield func(block Set) error) error { return from.BlocksFrom(ctx, row, yield) }
			left = 0
		}
		err := read(ctx, func(block Set) error {
			lo := min(left, block.Rows())
			left -= lo
			return c.fill(block, lo, yield)
		})
		if err != nil {
			return err
		}
		row = max(left, 0)
	}
	if c.rows == 0 {
		return nil
	}
	return yield(c.set())
}

// fill takes in a block from row lo on, and yields whenever it is full.
func (c *collector) fill(block Set, lo int, yield func(block Set) error) error {
	full := blockRows(block.X)
	if c.rows == 0 && lo == 0 && block.Rows() == full {
		return yield(block)
	}
	for lo < block.Rows() {
		take := min(full-c.rows, block.Rows()-lo)
		if err := c.add(block, lo, lo+take); err != nil {
			return err
		}
		if lo += take; c.rows == full {
			if err := yield(c.set()); err != nil {
				return err
			}
			c.reset()
		}
	}
	return nil
}

// Survey asks every source.
func (s stacked) Survey(ctx context.Context) ([]Content, error) {
	var out []Content
	rows := 0
	for k, src := range s {
		content, err := Survey(ctx, src)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			out = make([]Content, len(content))
			for j := range out {
				out[j].Empty = true
			}
		}
		for j, c := range content {
			out[j].Empty = out[j].Empty && c.Empty
			out[j].Missing = further(out[j].Missing, c.Missing, rows)
			out[j].Unknown = further(out[j].Unknown, c.Unknown, rows)
		}
		n, _ := src.Dims()
		if n < 0 && k+1 < len(s) {
			n = 0
			if err := src.Blocks(ctx, func(block Set) error { n += block.Rows(); return nil }); err != nil {
				return nil, err
			}
		}
		rows += n
	}
	return out, nil
}

// further is the spot that was known, or else one behind so many rows.
func further(known, spot *Spot, rows int) *Spot {
	if known != nil || spot == nil {
		return known
	}
	moved := *spot
	moved.Row += rows
	return &moved
}
