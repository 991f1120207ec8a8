package joint

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// refine improves the models of a group that need refinement, for all folds jointly; each pass maps
// the rows once. Models that do not converge lose their weights.
func (s *mappedRidges) refine(g *ridgeGroup) error {
	for range leastsquares.MaxRefinements {
		r := newGradients(g)
		if len(r.columns) == 0 {
			return nil
		}
		if err := s.addGradient(g, r); err != nil {
			return err
		}
		if err := s.step(g, r); err != nil {
			return err
		}
	}
	for _, models := range g.models {
		for k := range models {
			if models[k].needsRefinement {
				models[k].weights, models[k].needsRefinement, models[k].path = nil, false, nil
			}
		}
	}
	return nil
}

// gradients are the gradients of the models to be refined, on the columns of the group.
type gradients struct {
	targets int
	columns []gradientColumn // by fold
	blocks  []*gradientBlock
	blockOf []*gradientBlock // by fold, nil if no model needs refinement
}

// gradientBlock contains the gradients of the inaccurate models of some folds, accumulated in one
// product: a few more columns cost little compared with packing the rows.
type gradientBlock struct {
	columns []gradientColumn
	sums    *leastsquares.Gradient
}

// maxBlockColumns is the maximum number of columns of a block; more columns would save no further
// copies.
const maxBlockColumns = 128

// gradientColumn is a model that needs refinement, and the column of its first target in the block.
type gradientColumn struct {
	fold, model, at int
}

func newGradients(g *ridgeGroup) *gradients {
	r := &gradients{blockOf: make([]*gradientBlock, len(g.models))}
	var last *gradientBlock
	for fold, models := range g.models {
		var list []gradientColumn
		for k, m := range models {
			if m.needsRefinement {
				r.targets = len(m.offset)
				list = append(list, gradientColumn{fold: fold, model: k})
			}
		}
		if len(list) == 0 {
			continue
		}
		if last == nil || (len(last.columns)+len(list))*r.targets > maxBlockColumns {
			last = &gradientBlock{}
			r.blocks = append(r.blocks, last)
		}
		for _, c := range list {
			c.at = len(last.columns) * r.targets
			last.columns = append(last.columns, c)
		}
		r.blockOf[fold] = last
	}
	for _, b := range r.blocks {
		r.columns = append(r.columns, b.columns...)
		b.sums = leastsquares.NewGradient(g.width, len(b.columns)*r.targets)
	}
	return r
}

// addGradient adds up the gradients over the parts.
func (s *mappedRidges) addGradient(g *ridgeGroup, r *gradients) error {
	weights, offsets := make([][]float64, len(r.blocks)), make([][]float64, len(r.blocks))
	for k, b := range r.blocks {
		weights[k], offsets[k] = b.pack(g, r.targets)
	}
	for p, list := range s.parts {
		if !slices.ContainsFunc(r.columns, func(c gradientColumn) bool { return slices.Contains(s.trains[c.fold], p) }) {
			continue
		}
		for lo := 0; lo < len(list); lo += tileRows {
			block := s.Data.Select(list[lo:min(lo+tileRows, len(list))])
			y, t, sample, err := g.problems[p].Block(0, block)
			if err != nil {
				return err
			}
			err = s.each([]*ridgeGroup{g}, block.X, func(_ int, Z mat.Matrix) error {
				return design.WithFloat64(Z, func(Z mat.Matrix) error {
					for k, b := range r.blocks {
						b.sums.AddSelected(Z, repeated(y, t, len(b.columns)), weights[k], offsets[k], sample, s.trained(b, p, t))
					}
					return nil
				})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// trained returns for each column of a block whether its fold trains on a part.
func (s *mappedRidges) trained(b *gradientBlock, part, targets int) (list []bool) {
	for _, c := range b.columns {
		list = append(list, slices.Repeat([]bool{slices.Contains(s.trains[c.fold], part)}, targets)...)
	}
	return list
}

// repeated returns rows of t targets with the targets of each row repeated the given number of
// times.
func repeated(y []float64, t, times int) []float64 {
	out := make([]float64, 0, len(y)*times)
	for lo := 0; lo < len(y); lo += t {
		for range times {
			out = append(out, y[lo:lo+t]...)
		}
	}
	return out
}

// pack returns the concatenated weights of the models of a block, with zeros for missing columns,
// and their offsets.
func (b *gradientBlock) pack(g *ridgeGroup, targets int) (weights, offsets []float64) {
	k := len(b.columns) * targets
	weights = make([]float64, g.width*k)
	for _, c := range b.columns {
		m := &g.models[c.fold][c.model]
		for i := range m.width {
			copy(weights[i*k+c.at:], m.weights[i*targets:(i+1)*targets])
		}
		offsets = append(offsets, m.offset...)
	}
	return weights, offsets
}

// step updates the models by their gradients and clears needsRefinement of those that have
// converged.
func (s *mappedRidges) step(g *ridgeGroup, r *gradients) error {
	return cmp.Or(runParallel(len(r.columns), func(k int) error {
		c := r.columns[k]
		g.models[c.fold][c.model].improve(r.blockOf[c.fold].sums, c.at)
		return ctxerr.Check(s.ctx)
	}), ctxerr.Check(s.ctx))
}

// improve updates a model by its gradient, which begins at the given column.
func (m *fittedModel) improve(gradient *leastsquares.Gradient, column int) {
	var ok bool
	if m.needsRefinement, ok = m.path.Refine(m.weights, gradient, column, m.alpha); ok {
		m.finish(m.path)
	} else {
		m.weights = nil
	}
	if !m.needsRefinement {
		m.path = nil
	}
}
