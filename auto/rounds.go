package auto

import (
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/internal/learning/searchloop"
)

const (
	initialRows         = 2000  // rows of the first round
	initialSize         = 512   // size of the maps of the first round
	maxSize             = 16384 // maximum size of a map with a time budget
	maxSizeWithoutClock = 2048  // maximum size of a map with a number of candidates
	rowGrowth           = 4     // growth of the rows from round to round
	sizeGrowth          = 2     // growth of the size of maps

	promoted   = 8 // minimum number of recipes of the next round,
	maxOfMap   = 3 // maximum number of them with the same map and model
	maxOfInput = 4 // and with the same representation: ensembles need different members
	extensions = 3 // maximum number of grid extensions per round
	leaders    = 2 // number of recipes that a round begins with
)

// level is the fidelity of a round: its rows and the size of its maps.
type level struct{ rows, size int }

// entrant is a recipe in a round with its grid: the number and the step of values on either side of
// the point.
type entrant struct {
	point
	gammas, gammaStep, penalties, penaltyStep int
	transforms                                []string // of the target, in addition to that of the point
}

// allRounds runs rounds while the budget lasts and the score improves. With candidates to start from, the first round
// is one after the first: at the level of the earlier search, or, if that cannot be afforded, a lower one.
func (r *run) allRounds(ctx context.Context) (err error) {
	if r.options.Start != nil {
		field, at, err := r.startField(ctx)
		if err != nil {
			return err
		}
		r.last = level{min(initialRows, r.data.Rows()), initialSize}
		if err = r.roundsFrom(ctx, field, at, 1); err != nil || len(r.rounds) > 0 {
			return err
		}
		r.last = level{}
	}
	want := level{min(initialRows, r.data.Rows()), r.sizeWithin(initialSize)}
	if isText(r.data) { // the recipes are few, and the terms of few rows are others
		want.rows = min(heldOutFrom, r.data.Rows())
	}
	var field []entrant
	for i, k := range r.table {
		if !k.late {
			field = append(field, r.coarseEntrant(i, 0))
		}
	}
	return r.roundsFrom(ctx, field, want, 0)
}

// roundsFrom runs rounds, the first with the given field and level.
func (r *run) roundsFrom(ctx context.Context, field []entrant, want level, round int) error {
	for ; ; round++ {
		before := r.leader
		r.measureSpeed()
		if err := r.setReserve(ctx); err != nil {
			return err
		}
		at, until, ok, err := r.nextLevel(ctx, field, want, round)
		if err != nil || !ok {
			return err
		}
		tried, err := r.round(ctx, field, at, round, until)
		if err != nil || len(tried) == 0 {
			return err
		}
		if err := r.keepModel(ctx); err != nil {
			return err
		}
		r.last = at
		next := r.promote(tried, round)
		if r.converged(before, at, round) && len(next) <= len(tried) {
			r.stopReason = "converged"
			return nil
		}
		want, field = r.above(at, round), next
	}
}

// above returns the level above another one.
func (r *run) above(at level, round int) level {
	size := at.size * sizeGrowth
	if round == 0 && at.rows*rowGrowth < r.data.Rows() {
		size *= sizeGrowth // useful with many rows
	}
	rows := at.rows * rowGrowth
	if worth := 1.5; worth*float64(rows) > float64(r.data.Rows()) { // the round after would have hardly more
		rows = r.data.Rows()
	}
	return level{rows, r.sizeWithin(size)}
}

// roundEnd returns the end of a round, in seconds since the start or in candidates.
func (r *run) roundEnd(round int) float64 {
	if r.timed() {
		share := roundEnds[min(round, len(roundEnds)-1)]
		return min(share*r.options.Budget.Seconds(), r.options.Budget.Seconds()-r.reserve)
	}
	left := r.options.Candidates - r.tried
	if round == 0 {
		return float64(r.tried + (left+1)/2)
	}
	linear := 0 // left to tryLinear
	for i, k := range r.table {
		if k.plain() && r.best[i].on < r.data.Rows() {
			linear += 3
		}
	}
	return float64(r.tried + max(left-min(linear, r.options.Candidates/10), 0))
}

// nextLevel returns the requested level of a round and its end, or a level with fewer rows or narrower maps, at which
// the leader or an equally good entrant, and some others, can be evaluated in the time left; ok is false if there is
// none. Without the leader, more rows would only compare the others; once all rows are used, others may follow. If
// the time of the round does not suffice, it may use that of later ones.
func (r *run) nextLevel(ctx context.Context, field []entrant, want level, round int) (level, float64, bool, error) {
	const first, share = 6, 0.4
	until := r.roundEnd(round)
	if round == 0 || !r.timed() {
		return want, until, until > r.spent(), nil
	}
	between := int(math.Sqrt(float64(want.rows) * float64(r.last.rows)))
	for _, until := range []float64{until, r.roundEnd(len(roundEnds))} {
		for _, l := range []level{want, {want.rows, r.last.size}, {between, r.last.size}, {r.last.rows, want.size}} {
			if l == r.last && round > 1 {
				continue
			}
			for i, e := range field[:min(first, len(field))] {
				best := r.best[e.recipe]
				if i > 0 && r.last.rows < r.data.Rows() && (best.on < r.leader.on || !r.withinError(best, r.leader, 1)) {
					continue
				}
				p := r.pointAt(e, l)
				p.careful = false
				ok, err := r.affordable(ctx, []point{p}, l.rows, share*(until-r.spent()))
				if ok || err != nil {
					return l, until, ok, err
				}
			}
		}
	}
	return want, until, false, nil
}

// sizeWithin bounds the size of a map by the number of rows.
func (r *run) sizeWithin(size int) int {
	most := maxSize
	if !r.timed() {
		most = maxSizeWithoutClock // nothing else bounds the time of a candidate
	}
	if r.options.Memory > 0 {
		const sums = 32 // bytes per pair of features, for their products and the factor
		most = min(most, int(math.Sqrt(float64(r.options.Memory)/sums)))
	}
	return max(min(size, most, 4*r.data.Rows()/initialSize*initialSize), initialSize)
}

// converged reports whether the search has converged: the last round used all rows and gained a
// negligible amount, or maps cannot grow further.
func (r *run) converged(before scored, at level, round int) bool {
	if at.rows < r.data.Rows() || round < 2 {
		return false
	}
	gained := math.Abs(r.leader.mean - before.mean)
	return at.size >= r.sizeWithin(at.size*sizeGrowth) || before.on >= r.data.Rows() &&
		(!r.metric.Better(r.leader.mean, before.mean) || gained < 0.05*r.leader.spread)
}

// coarseEntrant returns a recipe with a coarse grid around a value of γ.
func (r *run) coarseEntrant(recipe, gamma int) entrant {
	low, high, _, _ := r.table[recipe].penalties()
	e := entrant{point: point{recipe: recipe, gamma: gamma, penalty: (low + high) / 2}, gammas: coarseGammas,
		gammaStep: coarseGamma, penalties: 2, penaltyStep: (high - low) / 4}
	// each penalty requires a factorization of the whole matrix
	if r.table[recipe].mapping.exact() && r.data.Rows() >= minSharedLessons {
		e.gammas, e.penalties = 1, 1
	}
	return e
}

// promote returns the best third of the field with finer grids. After the first round it adds the other models on
// their maps, and once all rows are in use those that fell behind or did not fit into earlier rounds.
func (r *run) promote(field []entrant, round int) []entrant {
	ranked := slices.DeleteFunc(slices.Clone(field), func(e entrant) bool { _, ok := r.best[e.recipe]; return !ok })
	slices.SortStableFunc(ranked, func(a, b entrant) int { return r.compare(r.best[a.recipe], r.best[b.recipe]) })
	ofMap, ofInput := map[string]int{}, map[string]int{}
	var out, others []entrant
	chosen := map[int]bool{}
	most := max(promoted, (len(ranked)+2)/3)
	for _, e := range ranked {
		k := r.table[e.recipe]
		if len(out) >= most || ofMap[kindOf(k)] >= maxOfMap || ofInput[k.representation.name] >= maxOfInput {
			continue
		}
		ofMap[kindOf(k)]++
		ofInput[k.representation.name]++
		next := r.finerEntrant(r.best[e.recipe].point, max(e.gammaStep/2, 1), max(e.penaltyStep/2, 2))
		if k.linear() && (round == 0 || r.timed()) { // for hardly more time, but more candidates
			next.transforms = r.transforms
		}
		out, chosen[e.recipe] = append(out, next), true
		if round > 0 || len(out) > 5 {
			continue
		}
		for at, o := range r.table {
			if o.late && o.representation.name == k.representation.name && o.mapping.follows(k.mapping) {
				other := r.coarseEntrant(at, next.gamma)
				other.gammas, other.gammaStep = 1, next.gammaStep
				others, chosen[at] = append(others, other), true
			}
		}
	}
	if out = append(out, others...); r.last.rows < r.data.Rows() {
		return out
	}
	behind := slices.DeleteFunc(slices.SortedFunc(maps.Values(r.best), r.rank), func(s scored) bool {
		return s.on >= r.last.rows || chosen[s.recipe]
	})
	for _, s := range behind[:min(len(behind), promoted)] {
		out = append(out, r.finerEntrant(s.point, 2, 2))
	}
	for i, k := range r.table {
		if _, known := r.best[i]; !known && !k.late {
			out = append(out, r.coarseEntrant(i, 0))
		}
	}
	return out
}

// finerEntrant returns an entrant with one step on either side of a point.
func (r *run) finerEntrant(p point, gammaStep, penaltyStep int) entrant {
	return entrant{point: p, gammas: 1, gammaStep: gammaStep, penalties: 1, penaltyStep: penaltyStep}
}

// round evaluates the field, best first, until its end, and extends the grids whose best point is
// on the edge: those of the leaders before it evaluates the others. It returns the evaluated
// entrants.
func (r *run) round(ctx context.Context, field []entrant, at level, round int, until float64) (entered []entrant,
	err error) {
	began, before := time.Now(), r.tried
	d, err := r.divide(at.rows)
	if err != nil {
		return nil, err
	}
	first := 0
	if round > 0 {
		first = min(leaders, len(field))
	}
	for _, part := range [][]entrant{field[:first], field[first:]} {
		if err == nil && len(part) > 0 {
			entered, err = r.tryAll(ctx, part, entered, len(field), at, round, until)
		}
	}
	if r.tried == before {
		return nil, err
	}
	r.rounds = append(r.rounds, Round{Rows: at.rows, Size: at.size, Folds: len(d.scores), Recipes: len(entered),
		Candidates: r.tried - before, Best: r.entryOf(r.leader), Seconds: time.Since(began).Seconds()})
	return entered, err
}

// tryAll evaluates a part of the field, and extends the grids of all evaluated entrants, which it
// returns.
func (r *run) tryAll(ctx context.Context, part, entered []entrant, field int, at level, round int,
	until float64) ([]entrant, error) {
	done := len(entered)
	err := r.runConcurrently(ctx, len(part), at, round, func(i int) ([]point, error) {
		points, err := r.affordablePoints(ctx, part[i], at, until, field-done-i)
		if len(points) > 0 {
			entered = append(entered, part[i])
		}
		return points, err
	})
	for time := 0; time < extensions && err == nil; time++ {
		// fixed, because a leader that changes concurrently would depend on the number of cores
		tried, leader := r.tried, r.leader
		err = r.runConcurrently(ctx, len(entered), at, round, func(i int) ([]point, error) {
			return r.extensionPoints(ctx, entered[i], leader, at, round, until)
		})
		if r.tried == tried {
			break
		}
	}
	return entered, err
}

// runConcurrently evaluates the points of entrants 0 to n−1, one trial per core. It calls points in
// ascending order, never concurrently.
func (r *run) runConcurrently(ctx context.Context, n int, at level, round int,
	points func(i int) ([]point, error)) error {
	return r.Run(ctx, n, func(i int) (*searchloop.Proposal, error) {
		list, err := points(i)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		_, p, err := r.propose(at.rows, round, list)
		return p, err
	})
}

// extensionPoints returns the points around the best one of an entrant that were not tried, as those beyond an edge of
// its grid, if the entrant may become the leader and the time suffices.
func (r *run) extensionPoints(ctx context.Context, e entrant, leader scored, at level, round int,
	until float64) ([]point, error) {
	best := r.best[e.recipe]
	if best.on != min(at.rows, r.data.Rows()) || best.round != round || !r.withinError(best, leader, 2) {
		return nil, nil
	}
	points := r.unseen(r.neighborhood(best.point, 1, e.gammaStep, 1, e.penaltyStep), best.on)
	if ok, err := r.affordable(ctx, points, at.rows, until-r.spent()); !ok {
		return nil, err
	}
	return points, nil
}

// narrowings lists the maximum number of values of γ and of the penalty on either side of the
// middle, in the order in which they are tried until the grid fits into the budget.
var narrowings = [][2]int{{2, 2}, {1, 2}, {1, 1}, {0, 1}, {0, 0}}

// affordablePoints returns the points of an entrant that fit in the time left: its grid, or a coarser one; none if even
// that does not fit, or if the recipe could not be fitted to all rows. An entrant may use a multiple
// of its share of the time left, because others use less.
func (r *run) affordablePoints(ctx context.Context, e entrant, at level, until float64, toCome int) ([]point, error) {
	shares := 3.0 // per core
	if r.table[e.recipe].learn.name != "" {
		shares *= 2 // others use the same learned step
	}
	left := until - r.spent()
	buf := max(math.Ceil(left/float64(toCome)), min(left, 3))
	sizes := narrowings
	if r.timed() {
		p := r.pointAt(e, level{size: initialSize})
		took, err := r.expectedFit(ctx, p)
		if err != nil || took > maxFinalShare*r.options.Budget.Seconds() {
			return nil, err
		}
		buf = min(left, shares*float64(runtime.GOMAXPROCS(0))*left/float64(toCome))
		if _, known := r.paceOf(kindOf(r.table[e.recipe])); !known && r.last.rows > 0 {
			sizes = narrowings[len(narrowings)-1:] // its time is unknown
		}
	}
	for p := r.pointAt(e, at); ; p.careful = false {
		for _, few := range sizes {
			points := r.unseen(r.neighborhood(p, min(e.gammas, few[0]), e.gammaStep, min(e.penalties, few[1]), e.penaltyStep,
				e.transforms...), min(at.rows, r.data.Rows()))
			if ok, err := r.affordable(ctx, points, at.rows, buf); ok || err != nil {
				return points, err
			}
		}
		if !p.careful {
			return nil, nil
		}
	}
}

// pointAt returns the point of an entrant at a level: rounds after the first learn representations with more effort.
// The size is 0 if there is no map.
func (r *run) pointAt(e entrant, l level) point {
	p := e.point
	p.careful = r.table[p.recipe].learn.name != "" && r.last.rows > 0
	if p.size = l.size; r.table[p.recipe].sizeOf(l.size) == 0 {
		p.size = 0
	}
	return p
}

// evaluation is a point and the number of rows it was evaluated on.
type evaluation struct {
	point
	on int
}

// unseen returns the points that were not evaluated on the given rows.
func (r *run) unseen(points []point, on int) []point {
	return slices.DeleteFunc(points, func(p point) bool { return r.seen[evaluation{p, on}] })
}

// setReserve estimates the time of the final fit: of the leader and, if they are fast, of other members of an ensemble,
// or for wider maps.
func (r *run) setReserve(ctx context.Context) (err error) {
	if !r.timed() {
		return nil
	}
	budget := r.options.Budget.Seconds()
	if r.reserve = finalShare * budget; r.narrow(r.leader) && r.last.rows > initialRows {
		return nil
	}
	r.reserve = 0
	const membersShare, slack = 0.3, 1.5
	for i, m := range append([]scored{r.leader}, r.bestOfRecipes()...) {
		took, wrong := r.expectedFit(ctx, m.point)
		err = errors.Join(err, wrong)
		if i == 0 || i <= maxMembers && m.point != r.leader.point && r.reserve+took < membersShare*budget {
			r.reserve += took
		}
	}
	r.reserve = min(slack*r.reserve, maxFinalShare*budget)
	return err
}
