package leastsquares

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// Problem is a ridge regression on targets and weights that a function makes of each block.
type Problem struct {
	Ridge
	rows *design.Rows
	// Block returns the targets, rows × count, and weights, nil for ones, of a block that begins at row first.
	Block blockOf
}

// NewProblem is ridge regression on rows.
func NewProblem(s Ridge, r *design.Rows, block blockOf) *Problem {
	return &Problem{Ridge: s, rows: r, Block: block}
}

// Moments adds up all blocks.
func (p *Problem) Moments(ctx context.Context) (*Moments, error) {
	r := NewSums(p.Ridge, p.rows.Cols, p.Block)
	r.check = nil
	if err := p.addBlocks(ctx, r, func(int) error { return nil }); err != nil {
		return nil, err
	}
	return r.sums, nil
}

// addBlocks adds all blocks to sums. look is asked before each, which begins at row first, whether to go on.
func (p *Problem) addBlocks(ctx context.Context, r *Sums, look func(first int) error) error {
	err := p.rows.Each(ctx, func(first int, block datasets.Set) error {
		if err := look(first); err != nil {
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

// The first probeRows rows for each column show whether sums in single precision will do; where they would not, these rows
// are read again, so they are at most one of probeShare.
const (
	probeRows       = 2
	minRowsPerProbe = 8
)

// errNeedsFloat64 ends a pass whose sums in single precision would not do.
var errNeedsFloat64 = errors.New("single precision will not do")

// sumsToSolve are the sums of all rows for the solution with the penalty: of rows in single precision, whose sums would have
// to be made again in double, it makes these at once. What maps make of rows, which takes as long as the sums, is then made
// once and not twice.
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
		room := r.factorBuffer
		r = NewSums(p.Ridge, p.rows.Cols, p.Block)
		r.widen, r.check, r.factorBuffer = true, nil, room
		err = p.addBlocks(ctx, r, func(int) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
