package batch

import (
	"context"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/newton"
)

// fewAbreast is the number of problems from which on it pays to solve them together.
const fewAbreast = 4

// unit is settings on all folds, to be solved abreast.
type unit struct {
	*newtonFamily
	settings []int
	folds    []int            // that have the classes they need
	labels   []*design.Labels // of these folds
	outputs  int
	problems []newton.Problem // setting by setting, fold by fold, output by output
	seconds  float64          // for each setting and fold
}

// units divides a path into settings to be solved abreast, as many as memory holds; nil where they are
// not: of a loss that has all classes together, of few problems, or of more than memory holds. Folds
// that cannot be fitted are left out.
func (s *newtonFamily) units(ctx context.Context, m *mappedRows, path []int) (units []*unit) {
	first := s.settings[path[0]]
	all := &unit{newtonFamily: s}
	for fold := range s.Folds {
		l, err := s.labels(ctx, first, fold)
		if err != nil {
			continue
		}
		t := first.Newton(l)
		if t.Groups != t.Outputs || all.outputs > 0 && all.outputs != t.Outputs {
			return nil
		}
		all.outputs = t.Outputs
		all.folds, all.labels = append(all.folds, fold), append(all.labels, l)
	}
	n := int64(m.all(1).N)
	for from := 0; from < len(path); {
		to := from + 1
		for to < len(path) && all.held(n, path[from:to+1]) <= s.Memory {
			to++
		}
		u := *all
		u.settings = path[from:to]
		if len(u.settings)*len(u.folds)*u.outputs < fewAbreast || u.held(n, u.settings) > s.Memory {
			return nil
		}
		units = append(units, &u)
		from = to
	}
	return units
}

// held returns the bytes that settings take together.
func (u *unit) held(n int64, settings []int) (bytes int64) {
	for _, i := range settings {
		k, d := int64(len(u.folds)*u.outputs), int64(u.Features[i].Width)
		bytes += 8 * (n*k + 3*d*d)
	}
	return bytes + 8*n*int64(len(u.folds)*(1+u.outputs))
}

// wanted reports whether anything of the unit is.
func (u *unit) wanted() bool {
	for _, i := range u.settings {
		for fold := range u.Folds {
			if u.Wants(i, fold) {
				return true
			}
		}
	}
	return false
}

// fill makes the problems.
func (u *unit) fill(m *mappedRows, n int) {
	type shares struct{ y, weights [][]float64 }
	by := make([]shares, len(u.folds))
	for f, fold := range u.folds {
		l := u.labels[f]
		weights := make([]float64, n)
		y := make([][]float64, u.outputs)
		for j := range y {
			y[j] = make([]float64, n)
		}
		at := 0
		for _, p := range u.trains[fold] {
			for r := range u.parts[p] {
				weights[m.starts[p]+r] = l.Weights[at]
				for j := range y {
					if int(l.Y[at]) == j+max(0, 2-u.outputs) {
						y[j][m.starts[p]+r] = 1
					}
				}
				at++
			}
		}
		by[f] = shares{y, slices.Repeat([][]float64{weights}, u.outputs)}
	}
	for _, i := range u.settings {
		c := u.Features[i].Scale
		loss := u.newtonFamily.settings[i].Newton(u.labels[0]).OfOne()
		for f := range u.folds {
			for j := range u.outputs {
				u.problems = append(u.problems, newton.Problem{Loss: loss, Y: by[f].y[j], Weights: by[f].weights[j],
					Factor: u.newtonFamily.settings[i].C * c * c, Width: u.Features[i].Width})
			}
		}
	}
}

// solve fits all settings of the unit on all its folds and hands over what they predict.
func (u *unit) solve(ctx context.Context, m *mappedRows) error {
	start := time.Now()
	first := u.newtonFamily.settings[u.settings[0]]
	r := m.all(u.width())
	u.fill(m, r.N)
	a := newton.NewBatch(ctx, r, first.Intercept, u.problems)
	err := a.Solve(first.Tol, first.MaxIter)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for fold := range u.Folds {
			if err := u.aloneAll(ctx, u.settings, fold); err != nil {
				return err
			}
		}
		return nil
	}
	u.seconds = time.Since(start).Seconds() / float64(len(u.settings)*len(u.folds))
	for fold := range u.Folds {
		f := slices.Index(u.folds, fold)
		if f < 0 {
			err = u.aloneAll(ctx, u.settings, fold)
		} else {
			err = u.predict(ctx, m, f, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// width is that of the widest setting.
func (u *unit) width() int {
	most := 0
	for _, i := range u.settings {
		most = max(most, u.Features[i].Width)
	}
	return most
}

// predict hands over what the models of one fold predict.
func (u *unit) predict(ctx context.Context, m *mappedRows, f int, a *newton.Batch) error {
	fold, t := u.folds[f], u.outputs
	models := make([]familyModel, len(u.settings))
	for k, i := range u.settings {
		s := u.Features[i]
		first := (k*len(u.folds) + f) * t
		setting := u.newtonFamily.settings[i]
		model := a.Model(first, t, setting.Tol)
		model.Report.Objective /= s.Scale * s.Scale
		models[k] = familyModel{setting: i, width: s.Width, report: model.Report, err: model.Report.Better(setting.C * setting.Newton(u.labels[f]).Bar), seconds: u.seconds, weights: model.Weights, offset: model.Intercept}
	}
	return u.score(ctx, m, models, u.labels[f].Classes, fold)
}
