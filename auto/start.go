package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// ensembleOf begins the recipe of an ensemble on the leaderboard.
const ensembleOf = "ensemble of "

// candidates returns the entries with a score that are not ensembles, the chosen ones first.
func (l Leaderboard) candidates() Leaderboard {
	out := slices.DeleteFunc(slices.Clone(l), func(e Entry) bool {
		return e.Failed != "" || math.IsNaN(e.Score) || strings.HasPrefix(e.Recipe, ensembleOf)
	})
	slices.SortStableFunc(out, func(a, b Entry) int {
		switch {
		case a.Chosen == b.Chosen:
			return 0
		case a.Chosen:
			return -1
		}
		return 1
	})
	return out
}

// checkStart returns the errors of Options.Start.
func (o Options) checkStart() (errs param.FieldErrors) {
	if o.Start == nil {
		return nil
	}
	list := o.Start.candidates()
	if len(list) == 0 {
		errs = append(errs, param.FieldError{Path: "start", Problem: "the leaderboard has no candidate with a score"})
	}
	seen := map[string]bool{}
	for _, e := range list {
		if !seen[e.Recipe] && !known(e.Recipe) {
			errs = append(errs, param.FieldError{Path: "start", Value: e.Recipe, Constraint: "the name of a recipe",
				Hint: "did you mean " + suggest.Nearest(e.Recipe, Recipes()) + "?"})
		}
		seen[e.Recipe] = true
	}
	return errs
}

// startField returns the best candidate of each of the best recipes of the earlier search, on the grid of this one, and
// the level of that search.
func (r *run) startField(ctx context.Context) (field []entrant, at level, err error) {
	at = level{min(initialRows, r.data.Rows()), initialSize}
	seen := map[int]bool{}
	for _, e := range r.options.Start.candidates() {
		i := slices.IndexFunc(r.table, func(k recipe) bool { return k.String() == e.Recipe })
		if i < 0 || seen[i] || len(field) >= promoted {
			continue
		}
		seen[i] = true
		p, err := r.pointOf(ctx, i, e)
		if err != nil {
			return nil, at, err
		}
		field = append(field, r.finerEntrant(p, 1, 2))
		at.rows, at.size = max(at.rows, e.Rows), max(at.size, p.size)
	}
	if len(field) == 0 {
		return nil, at, errors.New("none of the candidates to start from suits the rows, the task and the score")
	}
	if at.rows*rowGrowth > r.data.Rows() { // a later round would have hardly more
		at.rows = r.data.Rows()
	}
	return field, level{min(at.rows, r.data.Rows()), r.sizeWithin(at.size)}, nil
}

// pointOf returns the point of the grid of a recipe that is nearest to an entry, with the size of its map.
func (r *run) pointOf(ctx context.Context, i int, e Entry) (p point, err error) {
	kind := r.table[i]
	p = point{recipe: i, size: initialSize}
	number := func(name string) (float64, error) {
		for _, s := range e.Settings {
			if !strings.HasSuffix(s.Path, "."+name) {
				continue
			}
			switch v := s.Value.(type) {
			case float64:
				return v, nil
			case int:
				return float64(v), nil
			}
		}
		return 0, fmt.Errorf("cannot start from %s: its parameters %q must have a number %s", e.Recipe, e.Parameters(), name)
	}
	penalty, err := number(kind.penalty)
	if err == nil && !(penalty > 0) {
		err = fmt.Errorf("cannot start from %s: %s must be > 0, got %v", e.Recipe, kind.penalty, penalty)
	}
	if err != nil {
		return p, err
	}
	_, _, floor, most := kind.penalties()
	p.penalty = min(max(placeOf(penalty), floor), most)
	if kind.rule != "" {
		gamma, err := number("gamma")
		if err != nil {
			return p, err
		}
		origin, err := r.gammaOf(ctx, p)
		if err == nil && !(gamma > 0) {
			err = fmt.Errorf("cannot start from %s: gamma must be > 0, got %v", e.Recipe, gamma)
		}
		if err != nil {
			return p, err
		}
		steps := math.Round(math.Log2(gamma/origin) * kind.gammaSteps())
		p.gamma = int(min(max(steps, -maxGamma), maxGamma))
	}
	if kind.mapping.size != "" {
		size, err := number(kind.mapping.size)
		if err != nil {
			return p, err
		}
		for p.size < maxSize && kind.sizeOf(p.size) < int(size) {
			p.size *= sizeGrowth
		}
	}
	for _, s := range e.Settings {
		if s.Path == "target.transform" {
			p.target = fmt.Sprint(s.Value)
		}
	}
	return p, nil
}
