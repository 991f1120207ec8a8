package batch

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/leastsquares"
	"gonum.org/v1/gonum/mat"
)

// refine improves the rough models of a group, of all folds and candidates together: each pass maps
// the rows once. Models that do not converge lose their weights.
func (s *mappedRidges) refine(g *ridgeGroup) error {
	for range leastsquares.Refinements {
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
			if models[k].rough {
				models[k].weights, models[k].rough = nil, false
			}
		}
	}
	return nil
}

// gradients is the gradients of the rough models of a group, all on the group's columns.
type gradients struct {
	targets int
	columns []gradientColumn
	first   []*leastsquares.Gradient // by fold, nil for one without rough models
	byFold  [][]gradientColumn
}

// gradientColumn is a rough model and where its targets begin among those of its fold.
type gradientColumn struct {
	fold, model int
}

func newGradients(g *ridgeGroup) *gradients {
	r := &gradients{first: make([]*leastsquares.Gradient, len(g.models)), byFold: make([][]gradientColumn, len(g.models))}
	for fold, models := range g.models {
		for k, m := range models {
			if m.rough {
				r.targets = len(m.offset)
				c := gradientColumn{fold, k}
				r.columns, r.byFold[fold] = append(r.columns, c), append(r.byFold[fold], c)
			}
		}
		if n := len(r.byFold[fold]); n > 0 {
			r.first[fold] = leastsquares.NewGradient(g.width, n*r.targets)
		}
	}
	return r
}

// addGradient adds up the gradients over the parts.
func (s *mappedRidges) addGradient(g *ridgeGroup, r *gradients) error {
	weights, offsets := make([][]float64, len(s.Folds)), make([][]float64, len(s.Folds))
	for fold := range s.Folds {
		weights[fold], offsets[fold] = r.pack(g, fold)
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
				for fold, gradient := range r.first {
					if gradient != nil && slices.Contains(s.trains[fold], p) {
						gradient.Add(Z, repeated(y, t, gradient.Columns/t), weights[fold], offsets[fold], sample)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// repeated returns rows of t targets times over.
func repeated(y []float64, t, times int) []float64 {
	out := make([]float64, 0, len(y)*times)
	for lo := 0; lo < len(y); lo += t {
		for range times {
			out = append(out, y[lo:lo+t]...)
		}
	}
	return out
}

// pack returns the weights of a fold's rough models side by side, with zeros for columns that they
// do not have, and their offsets.
func (r *gradients) pack(g *ridgeGroup, fold int) (weights, offsets []float64) {
	k := len(r.byFold[fold]) * r.targets
	weights = make([]float64, g.width*k)
	for at, c := range r.byFold[fold] {
		m := &g.models[fold][c.model]
		for i := range m.width {
			copy(weights[i*k+at*r.targets:], m.weights[i*r.targets:(i+1)*r.targets])
		}
		offsets = append(offsets, m.offset...)
	}
	return weights, offsets
}

// step moves the rough models by their gradients; those that are done are rough no more.
func (s *mappedRidges) step(g *ridgeGroup, r *gradients) error {
	return sideBySide(len(s.Folds), func(fold int) error {
		gradient := r.first[fold]
		if gradient == nil {
			return nil
		}
		list := make([]model, len(r.byFold[fold]))
		for at, c := range r.byFold[fold] {
			list[at] = g.models[fold][c.model]
			list[at].column = at * r.targets
		}
		err := s.train(g, fold, func(wide *leastsquares.Moments) error {
			return s.byWidth(g, list, wide, few, func(p *leastsquares.Path, models []*model) {
				kern.Parallel(len(models), 1, func(lo, hi int) {
					for _, m := range models[lo:hi] {
						m.improve(p, gradient)
					}
				})
			})
		})
		for at, c := range r.byFold[fold] {
			g.models[fold][c.model] = list[at]
		}
		return err
	})
}

// few says that what is refined is few candidates of many, however many there are: each has a factor of its own.
func few(int) int { return 1 }

// improve moves a model by its gradient.
func (m *model) improve(p *leastsquares.Path, gradient *leastsquares.Gradient) {
	var ok bool
	if m.rough, ok = p.Refine(m.weights, gradient, m.column, m.alpha); !ok {
		m.weights = nil
		return
	}
	m.finish(p)
}
