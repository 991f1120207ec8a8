package pipeline

import (
	"context"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/sparse"
	"github.com/bochner-ml/bochner/transformer"
)

// nests divides branches that begin at the same place into those whose maps are parts of one, which
// is the first of them, and those that stand alone.
func nests(next []*branch) (out [][]*branch) {
	for _, b := range next {
		joined := false
		for k, nest := range out {
			switch {
			case within(b.step, nest[0].step):
				out[k], joined = append(nest, b), true
			case within(nest[0].step, b.step):
				out[k], joined = append([]*branch{b}, nest...), true
			}
			if joined {
				break
			}
		}
		if !joined {
			out = append(out, []*branch{b})
		}
	}
	return out
}

// within reports whether the map of a is part of that of b.
func within(a, b Step) bool {
	n, ok := a.Fitter.(transformer.Nested)
	return ok && a.path() == b.path() && n.Within(b.Fitter)
}

// settingsOf returns all settings that pass one of the branches.
func settingsOf(nest []*branch) (all []int) {
	for _, b := range nest {
		all = append(all, b.settings...)
	}
	return all
}

// nest descends branches whose maps are parts of the first one's, which alone is fitted and applied.
func (s *sweep) nest(ctx context.Context, nest []*branch, d division, depth int) {
	if len(nest) == 1 {
		s.descend(ctx, nest[0], d, depth)
		return
	}
	all := settingsOf(nest)
	if !s.wants(all, d.fold) {
		return
	}
	start, schema := time.Now(), d.set.Schema
	wide, fit, err := s.through(ctx, nest[0], d)
	if err != nil || fit == nil { // each says for itself what is wrong, or does with less memory
		for _, b := range nest {
			s.descend(ctx, b, d, depth)
		}
		return
	}
	s.share("grids")
	seconds := d.seconds + time.Since(start).Seconds()/float64(len(all))
	for _, b := range nest {
		if ctx.Err() != nil || !s.wants(b.settings, d.fold) {
			continue
		}
		start := time.Now()
		part := wide
		if b != nest[0] {
			var own transformer.Transformer
			own, part.set.X, err = b.step.Fitter.(transformer.Nested).Part(ctx, fit, wide.set.X)
			if err != nil {
				s.refuse(ctx, b, d, err)
				continue
			}
			part.set.Schema = describe(own, schema)
		}
		part.seconds = seconds + time.Since(start).Seconds()/float64(len(b.settings))
		s.below(ctx, b, part, depth)
	}
}

// refuse says that the step of b failed.
func (s *sweep) refuse(ctx context.Context, b *branch, d division, err error) {
	for _, i := range b.settings {
		s.give(ctx, i, d.fold, estimator.Outcome{Err: d.set.Locate(at("step", b.step.path(), err), 0)})
	}
}

// stacked returns the rows of a above those of b, which both came out of one step.
func stacked(a, b mat.Matrix) mat.Matrix {
	above, ok := a.(*sparse.CSR)
	below, also := b.(*sparse.CSR)
	if ok && also {
		return sparse.Stack([]*sparse.CSR{above, below})
	}
	n, width := a.Dims()
	m, _ := b.Dims()
	out := mat.NewDense(n+m, width, nil)
	fill(out.Slice(0, n, 0, width).(*mat.Dense), a, 1)
	fill(out.Slice(n, n+m, 0, width).(*mat.Dense), b, 1)
	return out
}
