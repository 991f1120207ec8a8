package batch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/newton"
	"github.com/bochner-ml/bochner/internal/solve"
)

// newtonFamily is one batch on related maps.
type newtonFamily struct {
	Batch
	settings []Penalised
	parts    [][]int
	trains   [][]int
}

// Newtons fits candidates on related maps by Newton's method. Those with the same key are solved together where
// there are enough of them, else one after the other, from few features to many and from small C to large.
func Newtons(ctx context.Context, f Batch, list []Penalised) ([]string, error) {
	s := &newtonFamily{Batch: f, settings: list}
	var ok bool
	s.parts, s.trains, ok = f.divide()
	groups := map[string][]int{}
	byMap := map[int][]string{}
	for i, e := range f.Features {
		if !ok || list[i].Invalid != nil {
			for fold := range f.Folds {
				if err := s.Single(ctx, i, fold, nil); err != nil {
					return nil, err
				}
			}
			continue
		}
		key := fmt.Sprint(e.Map, " ", s.settings[i].Key)
		if groups[key] == nil {
			byMap[e.Map] = append(byMap[e.Map], key)
		}
		groups[key] = append(groups[key], i)
	}
	shared := map[string]bool{}
	for _, which := range slices.Sorted(maps.Keys(byMap)) {
		var paths [][]int
		for _, key := range byMap[which] {
			path := groups[key]
			slices.SortStableFunc(path, func(a, b int) int {
				return cmp.Or(cmp.Compare(f.Features[a].Width, f.Features[b].Width), cmp.Compare(s.settings[a].C, s.settings[b].C))
			})
			paths = append(paths, path)
			shared["features"] = shared["features"] || len(path)*len(f.Folds) > 1
			shared["path"] = shared["path"] || len(path) > 1
		}
		if err := s.walk(ctx, which, paths); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(shared, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(shared)), nil
}

// job is a path on a fold.
type job struct {
	path []int // as far as anything is wanted
	fold int
}

// walk does all paths on a map: those whose problems can be solved together first.
func (s *newtonFamily) walk(ctx context.Context, which int, paths [][]int) error {
	if !slices.ContainsFunc(paths, func(path []int) bool { return len(s.jobs(path)) > 0 }) {
		return nil
	}
	start := time.Now()
	m, err := s.prepare(ctx, which)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	seconds := time.Since(start).Seconds()
	var jobs []job
	for _, path := range paths {
		var units []*unit
		if err == nil {
			units = s.units(ctx, m, path)
		}
		if units == nil {
			jobs = append(jobs, s.jobs(path)...)
			continue
		}
		for _, u := range units {
			if !u.wanted() {
				continue
			}
			if err := u.solve(ctx, m); err != nil {
				return err
			}
		}
	}
	return s.sideBySide(jobs, func(j job) error {
		if err != nil { // each says for itself what is wrong with the rows
			return s.aloneAll(ctx, j.path, j.fold)
		}
		return s.path(ctx, m, j.path, j.fold, seconds/float64(len(jobs)*len(j.path)))
	})
}

// jobs returns what is wanted of a path.
func (s *newtonFamily) jobs(path []int) (jobs []job) {
	for fold := range s.Folds {
		for n := len(path); n > 0; n-- {
			if s.Wants(path[n-1], fold) {
				jobs = append(jobs, job{path[:n], fold})
				break
			}
		}
	}
	return jobs
}

// sideBySide does jobs on all cores and returns the first of their errors.
func (s *newtonFamily) sideBySide(jobs []job, do func(job) error) error {
	next := make(chan job)
	errs := make(chan error, len(jobs))
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		workers.Go(func() {
			for j := range next {
				errs <- do(j)
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	workers.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *newtonFamily) aloneAll(ctx context.Context, settings []int, fold int) error {
	for _, i := range settings {
		if err := s.Single(ctx, i, fold, nil); err != nil {
			return err
		}
	}
	return nil
}

// mappedRows is the rows of the parts, one part after the other, on one map: held in memory where
// there is room, else mapped whenever they are read.
type mappedRows struct {
	family *newtonFamily
	which  int
	starts []int // of the parts
	Z      *mat.Dense
}

func (s *newtonFamily) prepare(ctx context.Context, which int) (*mappedRows, error) {
	m := &mappedRows{family: s, which: which}
	n, width := 0, s.Maps.Widths()[which]
	for _, part := range s.parts {
		m.starts = append(m.starts, n)
		n += len(part)
	}
	if 8*int64(n)*int64(width) > s.Memory {
		return m, nil
	}
	Z := mat.NewDense(n, width, nil)
	for p, part := range s.parts {
		err := s.tiles(ctx, which, part, func(first int, tile *mat.Dense) error {
			k, _ := tile.Dims()
			Z.Slice(m.starts[p]+first, m.starts[p]+first+k, 0, width).(*mat.Dense).Copy(tile)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.Z = Z
	return m, nil
}

// tiles maps rows, so many at a time.
func (s *newtonFamily) tiles(ctx context.Context, which int, list []int, yield func(first int, Z *mat.Dense) error) error {
	for lo := 0; lo < len(list); lo += familyTile {
		part := list[lo:min(lo+familyTile, len(list))]
		X := datasets.SelectRows(s.Data.X, part)
		if err := s.Maps.Each(ctx, X, []int{which}, func(_ int, Z *mat.Dense) error { return yield(lo, Z) }); err != nil {
			return s.Data.AtRows(err, part)
		}
	}
	return nil
}

// all returns the rows of all parts.
func (m *mappedRows) all(width int) *design.Rows {
	list := make([]int, len(m.starts))
	for p := range list {
		list[p] = p
	}
	return m.rows(list, width)
}

// rows returns the rows of some parts, one after the other, as wide as asked.
func (m *mappedRows) rows(parts []int, width int) *design.Rows {
	s := m.family
	r := &design.Rows{Cols: width}
	for _, p := range parts {
		r.N += len(s.parts[p])
	}
	r.Each = func(ctx context.Context, yield func(int, datasets.Set) error) error {
		first := 0
		for _, p := range parts {
			n := len(s.parts[p])
			if m.Z == nil {
				err := s.tiles(ctx, m.which, s.parts[p], func(lo int, Z *mat.Dense) error {
					k, _ := Z.Dims()
					return yield(first+lo, datasets.Set{X: Z.Slice(0, k, 0, width)})
				})
				if err != nil {
					return err
				}
			} else {
				for lo := 0; lo < n; lo += datasets.BlockRows {
					if err := ctx.Err(); err != nil {
						return err
					}
					at, end := m.starts[p]+lo, m.starts[p]+min(lo+datasets.BlockRows, n)
					if err := yield(first+lo, datasets.Set{X: m.Z.Slice(at, end, 0, width)}); err != nil {
						return err
					}
				}
			}
			first += n
		}
		return nil
	}
	return r
}

// labels returns the classes and weights of a fold's training rows, in the order of rows.
func (s *newtonFamily) labels(ctx context.Context, first Penalised, fold int) (*design.Labels, error) {
	var order []int
	for _, p := range s.trains[fold] {
		order = append(order, s.parts[p]...)
	}
	r, err := design.OfSet(s.Data.Select(order))
	if err != nil {
		return nil, err
	}
	return first.Labels(ctx, r)
}

// path solves settings of the same kind on a fold, one after the other.
func (s *newtonFamily) path(ctx context.Context, m *mappedRows, settings []int, fold int, seconds float64) error {
	first := s.settings[settings[0]]
	l, err := s.labels(ctx, first, fold)
	if err != nil {
		return s.aloneAll(ctx, settings, fold)
	}
	path, err := newton.NewPath(ctx, first.Newton(l), s.Maps.Widths()[m.which], func(width int) *design.Rows {
		return m.rows(s.trains[fold], width)
	})
	if err != nil {
		return s.aloneAll(ctx, settings, fold)
	}
	models := make([]familyModel, len(settings))
	for k, i := range settings {
		start := time.Now()
		one, f := s.settings[i], s.Features[i]
		models[k] = familyModel{setting: i, width: f.Width}
		var model solve.Linear
		if model, models[k].err = path.Step(f.Width, one.C, f.Scale, one.Tol, one.MaxIter); ctx.Err() != nil {
			return ctx.Err()
		}
		models[k].report, models[k].offset, models[k].weights = model.Report, model.Intercept, model.Weights
		models[k].seconds = time.Since(start).Seconds() + seconds
	}
	return s.score(ctx, m, models, l.Classes, fold)
}

// score hands over what models predict for the test rows of a fold, which are mapped once for all.
func (s *newtonFamily) score(ctx context.Context, m *mappedRows, models []familyModel, classes []string, fold int) error {
	start := time.Now()
	blocks := scoreBlocks(models, len(s.Folds[fold].Test))
	err := s.tiles(ctx, m.which, s.Folds[fold].Test, func(first int, Z *mat.Dense) error {
		for _, b := range blocks {
			b.score(Z, first)
		}
		return nil
	})
	if err != nil {
		for _, f := range models {
			if err := s.Single(ctx, f.setting, fold, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for _, b := range blocks {
		b.spread()
	}
	seconds := time.Since(start).Seconds() / float64(len(models))
	for k := range models {
		if err := s.hold(ctx, &models[k], classes, fold, seconds); err != nil {
			return err
		}
	}
	return nil
}

// hold hands over what a model predicts.
func (s *newtonFamily) hold(ctx context.Context, m *familyModel, classes []string, fold int, seconds float64) error {
	if !s.Wants(m.setting, fold) {
		return nil
	}
	if m.err != nil || m.scores == nil || !kern.Finite(m.scores.RawMatrix().Data) {
		return s.Single(ctx, m.setting, fold, nil)
	}
	return s.Yield(m.setting, fold, Result{Scores: m.scores, Classes: classes, Report: m.report, Seconds: m.seconds + seconds})
}
