package batch

import (
	"context"
	"maps"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
)

// mappedRidges is one batch on related maps.
type mappedRidges struct {
	Batch
	ctx        context.Context
	candidates []Ridge
	parts      [][]int // rows that are trained on by the same folds
	trains     [][]int // numbers of the parts that a fold trains on
	groups     []*ridgeGroup
	shared     map[string]bool
	scratch    []float64 // a path's Gram matrix
}

// ridgeGroup is candidates with the same sums on the same map.
type ridgeGroup struct {
	members []int
	which   int // map
	width   int
	problem *leastsquares.Problem
	sums    []*leastsquares.Moments // by part
	seconds float64                 // spent on the sums
	models  [][]model               // by fold, of the members that are wanted
}

// each maps a tile of rows for the groups.
func (s *mappedRidges) each(groups []*ridgeGroup, X mat.Matrix, f func(k int, Z *mat.Dense) error) error {
	var which []int
	for _, g := range groups {
		if !slices.Contains(which, g.which) {
			which = append(which, g.which)
		}
	}
	return s.Maps.Each(s.ctx, X, which, func(m int, Z *mat.Dense) error {
		n, _ := Z.Dims()
		for k, g := range groups {
			if g.which == m {
				if err := f(k, Z.Slice(0, n, 0, g.width).(*mat.Dense)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// add adds the mapped rows of a block to a part.
func (g *ridgeGroup) add(ctx context.Context, part int, Z *mat.Dense, block datasets.Set) error {
	y, count, weights, err := g.problem.Block(0, block)
	if err != nil {
		return err
	}
	if g.sums[part] == nil {
		if part == 0 {
			g.sums[part] = leastsquares.NewMoments(g.width, count, g.problem.Intercept)
		} else {
			g.sums[part] = g.sums[0].Beside()
		}
	}
	return g.sums[part].Add(ctx, Z, y, weights)
}

// train makes wide the sums of a fold's training rows.
func (s *mappedRidges) train(wide *leastsquares.Moments, g *ridgeGroup, fold int) {
	var parts []*leastsquares.Moments
	for _, p := range s.trains[fold] {
		parts = append(parts, g.sums[p])
	}
	wide.SetSum(g.sums[0], parts)
}

// byWidth calls f for models on the same sums, several at once, with the path of each one's width.
func (s *mappedRidges) byWidth(models []model, wide *leastsquares.Moments, f func(*leastsquares.Path, *model)) error {
	byWidth := map[int][]int{}
	for k, m := range models {
		byWidth[m.width] = append(byWidth[m.width], k)
	}
	for _, width := range slices.Sorted(maps.Keys(byWidth)) {
		if s.ctx.Err() != nil {
			break
		}
		list := byWidth[width]
		if cap(s.scratch) < width*width {
			s.scratch = make([]float64, width*width)
		}
		p := leastsquares.NewPath(s.ctx, wide, width, s.scratch[:width*width])
		kern.Parallel(len(list), 1, func(lo, hi int) {
			for _, k := range list[lo:hi] {
				start := time.Now()
				f(p, &models[k])
				models[k].seconds += time.Since(start).Seconds()
			}
		})
	}
	return s.ctx.Err()
}

// finish makes the rest of a model of its weights.
func (m *model) finish(p *leastsquares.Path) {
	model := p.Model(m.weights)
	m.offset, m.report = model.Intercept, model.Report
}
