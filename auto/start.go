package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ensembleOf begins the recipe of an ensemble on the leaderboard.
const ensembleOf = "ensemble of "

// candidates returns the entries with a score that are not ensembles, the chosen ones first.
func (l Leaderboard) candidates() (out Leaderboard) {
	for _, chosen := range []bool{true, false} {
		for _, e := range l {
			if e.Chosen == chosen && e.Failed == "" && !math.IsNaN(e.Score) && !strings.HasPrefix(e.Recipe, ensembleOf) {
				out = append(out, e)
			}
		}
	}
	return out
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
	number := func(name string) float64 {
		for _, s := range e.Settings {
			v, ok := s.Value.(float64)
			if n, integer := s.Value.(int); integer {
				v, ok = float64(n), true
			}
			switch {
			case !ok || !strings.HasSuffix(s.Path, "."+name):
			case v > 0:
				return v
			default:
				err = cmp.Or(err, fmt.Errorf("cannot start from %s: %s must be > 0, got %v", e.Recipe, name, v))
				return 1
			}
		}
		err = cmp.Or(err, fmt.Errorf("cannot start from %s: its parameters %q must have a number %s", e.Recipe,
			e.Parameters(), name))
		return 1
	}
	_, _, floor, most := kind.penalties()
	p.penalty = min(max(placeOf(number(kind.penalty)), floor), most)
	if kind.rule != "" {
		origin, wrong := r.gammaOf(ctx, p)
		err = cmp.Or(err, wrong)
		steps := math.Round(math.Log2(number("gamma")/origin) * kind.gammaSteps())
		p.gamma = int(min(max(steps, -maxGamma), maxGamma))
	}
	if kind.mapping.size != "" {
		for size := int(number(kind.mapping.size)); p.size < maxSize && kind.sizeOf(p.size) < size; {
			p.size *= sizeGrowth
		}
	}
	for _, s := range e.Settings {
		switch v := fmt.Sprint(s.Value); {
		case s.Path == "target.transform":
			p.target = v + p.target
		case s.Path == "target.limits" && v == "range":
			p.target += limitedSuffix
		}
	}
	return p, err
}
