package leastsquares

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// Problem is a ridge regression whose targets and weights are computed per block.
type Problem struct {
	Ridge
	rows *design.Rows
	// Block returns the targets, rows × count, and the weights, nil for ones, of a block that
	// begins at row first.
	Block blockOf
}

// NewProblem returns a problem on rows.
func NewProblem(s Ridge, r *design.Rows, block blockOf) *Problem {
	return &Problem{Ridge: s, rows: r, Block: block}
}

// Moments returns the moments of all rows.
func (p *Problem) Moments(ctx context.Context) (*Moments, error) {
	r := NewSums(p.Ridge, p.rows.Cols, p.Block)
	r.check = nil
	if err := p.addBlocks(ctx, r, func(int) error { return nil }); err != nil {
		return nil, err
	}
	return r.sums, nil
}

// addBlocks adds all blocks to r. Before each block it calls inspect with the index of its first
// row.
func (p *Problem) addBlocks(ctx context.Context, r *Sums, inspect func(first int) error) error {
	err := p.rows.Each(ctx, func(first int, block datasets.Set) error {
		if err := inspect(first); err != nil {
			return err
		}
		return r.Add(ctx, first, block)
	})
	switch {
	case err != nil:
		return err
	case r.sums == nil:
		return fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case r.sums.Weight == 0:
		return errors.New("every weight is 0")
	}
	return nil
}

// probeRows first rows per column are enough to decide whether float32 sums suffice. If not, these
// rows are read again; they are at most one in minRowsPerProbe.
const (
	probeRows       = 2
	minRowsPerProbe = 8
)

// errNeedsFloat64 interrupts a pass whose float32 sums are too inaccurate.
var errNeedsFloat64 = errors.New("float32 sums are too inaccurate")

// sumsToSolve returns the sums of all rows. If the first rows show that float32 sums are too
// inaccurate, it restarts in float64, which avoids mapping all rows twice.
func (p *Problem) sumsToSolve(ctx context.Context) (*Sums, error) {
	probe, probed := probeRows*p.rows.Cols, !p.rows.Float32
	if p.rows.N < minRowsPerProbe*probe {
		probed = true
	}
	r := NewSums(p.Ridge, p.rows.Cols, p.Block)
	err := p.addBlocks(ctx, r, func(first int) error {
		if probed || first < probe {
			return nil
		}
		if probed = true; r.needsFloat64(ctx, p.rows.N) {
			return errNeedsFloat64
		}
		return nil
	})
	if errors.Is(err, errNeedsFloat64) {
		buf := r.factorBuffer
		r = NewSums(p.Ridge, p.rows.Cols, p.Block)
		r.widen, r.check, r.factorBuffer = true, nil, buf
		err = p.addBlocks(ctx, r, func(int) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
