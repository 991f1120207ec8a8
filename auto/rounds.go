package auto

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/guard"
)

const (
	initialRows         = 2000  // rows of the first round
	initialSize         = 512   // size of the maps of the first round
	maxSize             = 16384 // maximum size of a map with a time budget
	maxSizeWithoutClock = 2048  // maximum size of a map with a number of candidates
	rowGrowth           = 4     // growth of the rows from round to round
	sizeGrowth          = 2     // growth of the size of maps
)

// level is the fidelity of a round: its rows, the size of its maps, and the effort of
// representation learning.
type level struct{ rows, size, effort int }

// entrant is a recipe in a round with its grid: the number and the step of values on either side of
// the point.
type entrant struct {
	point
	gammas, gammaStep, penalties, penaltyStep int
	transforms                                []string // of the target, in addition to that of the point
}

// allRounds runs rounds while the budget lasts and the score improves.
func (r *run) allRounds(ctx context.Context) error {
	want := level{min(initialRows, r.data.Rows()), r.sizeWithin(initialSize), 0}
	if isText(r.data) { // the recipes are few, and the terms of few rows are others
		want.rows = min(heldOutFrom, r.data.Rows())
	}
	field := r.firstField()
	for round := 0; ; round++ {
		before := r.leader
		r.measureSpeed()
		if err := r.setReserve(ctx); err != nil {
			return err
		}
		at, until, ok, err := r.nextLevel(ctx, field, want, round)
		if err != nil || !ok {
			return err
		}
		best := maps.Clone(r.best)
		tried, err := r.round(ctx, field, at, round, until)
		r.revertLeader(before, best)
		if err != nil || len(tried) == 0 {
			return err
		}
		if err := r.keepModel(ctx); err != nil {
			return err
		}
		r.last = at
		next := r.promote(tried, round)
		if r.converged(before, at, round) && len(next) <= len(tried) {
			r.stopReason = StoppedConverged
			return nil
		}
		wider := sizeGrowth
		if round == 0 && r.moreRowsAvailable() {
			wider *= sizeGrowth // useful with many rows
		}
		rows := at.rows * rowGrowth
		if worth := 1.5; worth*float64(rows) > float64(r.data.Rows()) { // the round after would have hardly more
			rows = r.data.Rows()
		}
		want = level{rows, r.sizeWithin(at.size * wider), min(at.effort+1, efforts-1)}
		field = next
	}
}

// revertLeader restores the previous leader if the time of a round with more rows ended before the
// leader was evaluated in it, and no evaluated candidate beats its previous score.
func (r *run) revertLeader(before scored, best map[int]scored) {
	missed := r.best[before.recipe].on < r.leader.on && r.leader.on > before.on
	if r.timed() && missed && !r.metric.Better(r.leader.mean, before.mean) {
		r.leader, r.best = before, best
	}
}

// moreRowsAvailable reports whether the data has more rows than the next round.
func (r *run) moreRowsAvailable() bool { return r.last.rows*rowGrowth < r.data.Rows() }

// roundEnd returns the end of a round, in seconds since the start or in candidates.
func (r *run) roundEnd(round int) float64 {
	if r.timed() {
		share := roundEnds[min(round, len(roundEnds)-1)]
		return min(share*r.options.Budget.Seconds(), r.options.Budget.Seconds()-r.reserve)
	}
	left := r.options.Candidates - r.tried
	if round == 0 {
		left = (left + 1) / 2
	} else {
		left = max(left-r.linearReserve(), 0)
	}
	return float64(r.tried + left)
}

// linearReserve returns the number of candidates that rounds leave to [run.tryLinear].
func (r *run) linearReserve() (n int) {
	const points, share = 3, 10
	for i, k := range r.table {
		if k.plain && r.best[i].on < r.data.Rows() {
			n += points
		}
	}
	return min(n, r.options.Candidates/share)
}

// spent returns the used part of the budget, in seconds since the start or in candidates.
func (r *run) spent() float64 {
	if r.timed() {
		return time.Since(r.began).Seconds()
	}
	return float64(r.claimed)
}

// nextLevel returns the level and the end of a round; ok is false if there is none. If the leader
// has an exact kernel, the round may use the time of later rounds, because the final fit does not
// profit from it as a wider map would.
func (r *run) nextLevel(ctx context.Context, field []entrant, want level, round int) (at level, until float64, ok bool,
	err error) {
	last := round
	if r.timed() && round > 0 && r.table[r.leader.recipe].mapping.exact {
		last = max(round, len(roundEnds)-1)
	}
	for end := round; end <= last && !ok && err == nil; end++ {
		until = r.roundEnd(end)
		at, ok, err = r.affordableLevel(ctx, field, want, round, until)
	}
	return at, until, ok, err
}

// affordableLevel returns the requested level of a round, or the nearest lower one, at which the leader
// or an equally good entrant, and some others, can be evaluated in the time left; ok is false if
// there is none. Without the leader, more rows would only compare the others. Once all rows are
// used and the leader is evaluated, others may follow.
func (r *run) affordableLevel(ctx context.Context, field []entrant, want level, round int, until float64) (level, bool,
	error) {
	buf := until - r.spent()
	if round == 0 || !r.timed() {
		return want, buf > 0, nil
	}
	const first, share, worth = 6, 0.4, 1.5 // a round with this factor more rows is worthwhile
	last := r.last
	between := int(math.Sqrt(float64(want.rows) * float64(last.rows)))
	for _, l := range []level{want, {want.rows, want.size, last.effort}, {want.rows, last.size, last.effort},
		{between, want.size, want.effort},
		{between, last.size, last.effort}, {last.rows, want.size, want.effort}, {last.rows, want.size, last.effort}} {
		few := l.rows < r.data.Rows() && l.size <= last.size && float64(l.rows) < worth*float64(last.rows)
		if round > 1 && (l == last || few) {
			continue
		}
		for i, e := range field[:min(first, len(field))] {
			best, known := r.best[e.recipe]
			if similar := known && best.on == r.leader.on && r.withinError(best, r.leader, 1); i > 0 && !similar &&
				last.rows < r.data.Rows() {
				continue
			}
			took, err := r.expected(ctx, l.rows, []point{r.pointAt(e, l)})
			if err != nil || r.growth(r.table[e.recipe], l.rows)*took < share*buf {
				return l, true, err
			}
		}
	}
	return want, false, nil
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
	if at.rows < r.data.Rows() {
		return false
	}
	if at.size >= r.sizeWithin(at.size*sizeGrowth) && round >= 2 {
		return true
	}
	gained := math.Abs(r.leader.mean - before.mean)
	return round >= 2 && before.on >= r.data.Rows() && (!r.metric.Better(r.leader.mean, before.mean) ||
		gained < 0.05*r.leader.spread)
}

// firstField returns all recipes of the first round with coarse grids.
func (r *run) firstField() []entrant {
	var out []entrant
	for i, k := range r.table {
		if !k.late {
			out = append(out, r.coarseEntrant(i, 0))
		}
	}
	return out
}

// coarseEntrant returns a recipe with a coarse grid around a value of γ.
func (r *run) coarseEntrant(recipe, gamma int) entrant {
	low, high, _, _ := r.table[recipe].penalties()
	e := entrant{point: point{recipe: recipe, gamma: gamma, penalty: (low + high) / 2}, gammas: coarseGammas,
		gammaStep: coarseGamma, penalties: 2, penaltyStep: (high - low) / 4}
	// each penalty requires a factorization of the whole matrix
	if r.table[recipe].mapping.exact && r.data.Rows() >= minSharedLessons {
		e.gammas, e.penalties = 1, 1
	}
	return e
}

const (
	// minimum number of recipes promoted per round if the last round has all rows or the budget is
	// a number of candidates
	minNext     = 8
	minPromoted = 6 // number of recipes promoted otherwise
	maxOfMap    = 3 // maximum number of promoted recipes with the same map and model
	maxOfInput  = 4 // maximum number of promoted recipes with the same representation: ensembles need different members
)

// promote returns the best third of the field with finer grids; after the first round it adds the
// other models on their maps.
func (r *run) promote(field []entrant, round int) []entrant {
	ranked := slices.Clone(field)
	ranked = slices.DeleteFunc(ranked, func(e entrant) bool { _, ok := r.best[e.recipe]; return !ok })
	slices.SortStableFunc(ranked, func(a, b entrant) int { return r.compare(r.best[a.recipe], r.best[b.recipe]) })
	ofMap, inputs := map[string]int{}, map[string]int{}
	most := max(minNext, (len(ranked)+2)/3)
	if r.timed() && r.moreRowsAvailable() {
		most = minPromoted
	}
	var out, others []entrant
	chosen := 0
	if round == 0 && r.moreRowsAvailable() {
		ranked = r.preferLearned(ranked)
	}
	for _, e := range ranked {
		k := r.table[e.recipe]
		name := kindOf(k)
		if chosen >= most || ofMap[name] >= maxOfMap || inputs[k.representation.name] >= maxOfInput {
			continue
		}
		ofMap[name]++
		inputs[k.representation.name]++
		chosen++
		best := r.best[e.recipe]
		next := entrant{point: best.point, gammas: 1, gammaStep: max(e.gammaStep/2, 1), penalties: 1,
			penaltyStep: max(e.penaltyStep/2, 2)}
		if k.linear() && (round == 0 || r.timed()) { // for hardly more time, but more candidates
			next.transforms = r.transforms
		}
		out = append(out, next)
		if round > 0 || chosen > 4 {
			continue
		}
		for at, o := range r.table {
			if o.late && o.representation.name == k.representation.name && o.mapping.follows(k.mapping) {
				other := r.coarseEntrant(at, best.gamma)
				other.gammas, other.gammaStep = 1, max(e.gammaStep/2, 1)
				others = append(others, other)
			}
		}
	}
	out = append(out, others...)
	if r.last.rows < r.data.Rows() {
		return out
	}
	out = append(out, r.droppedRecipes(out)...)
	if r.timed() && r.last.rows >= heldOutFrom {
		return out
	}
	for i, k := range r.table { // recipes that did not fit into earlier rounds, once all rows are in use
		if _, known := r.best[i]; !known && !k.late {
			out = append(out, r.coarseEntrant(i, 0))
		}
	}
	return out
}

// preferLearned moves the recipes of binning a few inputs with learned scales that are close to the leader
// behind it: their many bins need more rows than those of the first round.
func (r *run) preferLearned(ranked []entrant) []entrant {
	const times = 6
	first := ranked[:min(1, len(ranked))]
	learned, others := slices.Clone(first), []entrant(nil)
	for _, e := range ranked[len(first):] {
		if k := r.table[e.recipe]; k.mapping.name == "few" && k.scaled && r.withinError(r.best[e.recipe], r.leader, times) {
			learned = append(learned, e)
		} else {
			others = append(others, e)
		}
	}
	return append(learned, others...)
}

// droppedRecipes returns the best recipes that were evaluated on fewer rows than the last round and
// are not in the field, best first: on all rows, one of them may become the leader or an ensemble
// member.
func (r *run) droppedRecipes(field []entrant) []entrant {
	var behind []scored
	for recipe, s := range r.best {
		if s.on < r.last.rows && !slices.ContainsFunc(field, func(e entrant) bool { return e.recipe == recipe }) {
			behind = append(behind, s)
		}
	}
	slices.SortFunc(behind, func(a, b scored) int { return cmp.Or(r.rank(a, b), cmp.Compare(a.recipe, b.recipe)) })
	var out []entrant
	for _, s := range behind[:min(len(behind), minPromoted)] {
		out = append(out, entrant{point: s.point, gammas: 1, gammaStep: 2, penalties: 1, penaltyStep: 2})
	}
	return out
}

// round evaluates the field, best first, until its end, and extends the grids whose best point is
// on the edge: those of the leaders before it evaluates the others. It returns the evaluated
// entrants.
func (r *run) round(ctx context.Context, field []entrant, at level, round int, until float64) (entered []entrant,
	err error) {
	began, before := time.Now(), r.tried
	r.views.shrink()
	first := 0
	if round > 0 {
		first = min(leaders, len(field))
	}
	for _, part := range [][]entrant{field[:first], field[first:]} {
		if err == nil && len(part) > 0 {
			entered, err = r.tryAll(ctx, part, entered, len(field), at, round, until)
		}
	}
	_, folds, wrong := r.partAndFolds(at.rows)
	if wrong != nil || r.tried == before {
		return nil, errors.Join(err, wrong)
	}
	r.rounds = append(r.rounds, Round{Rows: at.rows, Size: at.size, Folds: len(folds), Recipes: len(entered),
		Candidates: r.tried - before, Best: r.entryOf(r.leader), Seconds: time.Since(began).Seconds()})
	return entered, err
}

// tryAll evaluates a part of the field, and extends the grids of all evaluated entrants, which it
// returns.
func (r *run) tryAll(ctx context.Context, part, entered []entrant, field int, at level, round int,
	until float64) ([]entrant, error) {
	done := len(entered)
	err := r.runConcurrently(ctx, len(part), at, round, func(i int) ([]point, error) {
		points, err := r.affordablePoints(ctx, part[i], at, until, round > 0 && done == 0, field-done-i)
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
	var wait sync.WaitGroup
	var failed error
	next := 0
	work := func() {
		defer wait.Done()
		for {
			r.mu.Lock()
			if next == n || failed != nil {
				r.mu.Unlock()
				return
			}
			var list []point
			err := guard.Do(r, "points", func() (err error) {
				list, err = points(next)
				return err
			})
			next++
			r.claimed += len(list)
			r.mu.Unlock()
			if err == nil && len(list) > 0 {
				err = guard.Do(r, "try", func() error {
					_, err := r.try(ctx, at.rows, round, list)
					return err
				})
			}
			if err != nil {
				r.mu.Lock()
				if failed == nil {
					failed = err
				}
				r.mu.Unlock()
			}
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Add(1)
		go work()
	}
	wait.Wait()
	return failed
}

// extensionPoints returns the points beyond the edge of a grid on which the best point of an entrant lies,
// if the entrant may become the leader and the time suffices.
func (r *run) extensionPoints(ctx context.Context, e entrant, leader scored, at level, round int,
	until float64) ([]point, error) {
	best, ok := r.best[e.recipe]
	if !ok || best.on != min(at.rows, r.data.Rows()) || best.round != round || !r.withinError(best, leader, 2) {
		return nil, nil
	}
	tried := map[point]bool{}
	for _, s := range r.log {
		if s.round == round && s.recipe == e.recipe && !math.IsNaN(s.mean) {
			tried[s.point] = true
		}
	}
	points := r.unseen(r.pointsBeyondEdge(tried, best.point, e.gammaStep, e.penaltyStep), best.on)
	if ok, err := r.fitsRound(ctx, points, at, until); !ok {
		return nil, err
	}
	return points, nil
}

// extensions is the maximum number of grid extensions per round.
const extensions = 3

// A recipe may use this multiple of its equal share of the time of a round.
const (
	othersShares  = 3.0
	leadersShares = 8.0
	leaders       = 2
)

// narrowings lists the maximum number of values of γ and of the penalty on either side of the
// middle, in the order in which they are tried until the grid fits into the budget.
var narrowings = [][2]int{{2, 2}, {1, 2}, {1, 1}, {1, 0}, {0, 0}}

// narrowingsExact is narrowings for exact kernels, where additional penalties cost little.
var narrowingsExact = [][2]int{{2, 2}, {1, 2}, {1, 1}, {0, 1}, {0, 0}}

// affordablePoints returns the points of an entrant that fit in the time left: its grid, or a coarser one,
// with a representation of the requested or a lower effort; none if even that does not fit. An
// entrant may use a multiple of its share of the time left, the leader more.
func (r *run) affordablePoints(ctx context.Context, e entrant, at level, until float64, leads bool,
	toCome int) ([]point, error) {
	if ok, err := r.fitsAll(ctx, e); !ok {
		return nil, err
	}
	var buf float64
	if buf = until - r.spent(); r.timed() {
		cores := float64(runtime.GOMAXPROCS(0))
		shares := othersShares
		if leads {
			shares = leadersShares
		}
		buf = min(buf, shares*cores*buf/float64(toCome))
	} else {
		buf = max(math.Ceil(buf/float64(toCome)), min(buf, 3))
	}
	sizes := narrowings
	if r.table[e.recipe].mapping.exact {
		sizes = narrowingsExact
	}
	if _, known := r.paceKnown(kindOf(r.table[e.recipe])); r.timed() && !known && r.last.rows > 0 {
		sizes = narrowings[len(narrowings)-1:] // its time is unknown
	}
	for {
		for _, few := range sizes {
			points := r.neighborhood(r.pointAt(e, at), min(e.gammas, few[0]), e.gammaStep, min(e.penalties, few[1]),
				e.penaltyStep)
			points = r.unseen(withTransforms(points, e.transforms), r.part(at.rows).Rows())
			took, err := r.budgetOf(ctx, points, at)
			if err != nil || took <= buf {
				return points, err
			}
		}
		if at.effort == 0 || r.table[e.recipe].learn.name == "" {
			return nil, nil
		}
		at.effort--
	}
}

// withTransforms returns the points followed by those with each transform of the target, and with none.
func withTransforms(points []point, transforms []string) []point {
	out := slices.Clone(points)
	for _, transform := range transforms {
		for _, p := range points {
			p.target = transform
			out = append(out, p)
		}
	}
	return out
}

// fitsRound reports whether there are points and the round has enough budget left for them.
func (r *run) fitsRound(ctx context.Context, points []point, at level, until float64) (bool, error) {
	if len(points) == 0 {
		return false, nil
	}
	took, err := r.budgetOf(ctx, points, at)
	return took <= until-r.spent(), err
}

// budgetOf returns the part of the budget that points of one recipe use.
func (r *run) budgetOf(ctx context.Context, points []point, at level) (float64, error) {
	if !r.timed() || len(points) == 0 {
		return float64(len(points)), nil
	}
	took, err := r.expected(ctx, at.rows, points)
	if at.rows > r.last.rows && r.last.rows > 0 {
		took *= growthFactor
	}
	return took, err
}

// growth returns the factor by which the time per row of a recipe grows from the last round: on
// sparse maps, iterations grow with the rows, and each involves more columns.
func (r *run) growth(k recipe, rows int) float64 {
	if !k.sparse() || r.last.rows == 0 || rows <= r.last.rows {
		return 1
	}
	return math.Sqrt(float64(rows) / float64(r.last.rows))
}

// pointAt returns the point of an entrant at a level. Size and effort are 0 if they do not affect the
// recipe.
func (r *run) pointAt(e entrant, l level) point {
	p := e.point
	p.size, p.effort = l.size, l.effort
	if r.table[p.recipe].sizeOf(l.size) == 0 {
		p.size = 0
	}
	if r.table[p.recipe].learn.name == "" {
		p.effort = 0
	}
	return p
}

// evaluation is a point and the number of rows it was evaluated on.
type evaluation struct {
	point
	on int
}

// unseen returns the distinct points that were not evaluated on the given rows.
func (r *run) unseen(points []point, on int) []point {
	return slices.DeleteFunc(unique(points), func(p point) bool { return r.seen[evaluation{p, on}] })
}

// setReserve estimates the time of the final fit.
func (r *run) setReserve(ctx context.Context) error {
	if !r.timed() {
		return nil
	}
	budget := r.options.Budget.Seconds()
	if r.narrow(r.leader) && r.last.rows > initialRows {
		wide, err := r.widest(ctx, r.leader.point, lastShare*widthShare*budget)
		if err != nil || wide > r.leader.size {
			r.reserve = widthShare * budget
			return err
		}
	}
	took, err := r.expectedFit(ctx, r.leader.point)
	slack := 1.5
	if r.table[r.leader.recipe].mapping.exact { // its cost is known more precisely
		slack = 1 / exactShare
	}
	r.reserve = min(slack*took, maxFinalShare*budget) + 0.02*budget
	others := r.bestOfRecipes()
	for _, m := range others[:min(len(others), maxMembers)] {
		other, wrong := r.expectedFit(ctx, m.point)
		err = errors.Join(err, wrong)
		if m.point != r.leader.point && r.reserve+other < maxMembersShare*budget && other < maxMemberShare*budget {
			r.reserve += other
		}
	}
	return err
}

// fitsAll reports whether a fit of a recipe to all rows, with a map of the first size and a large
// penalty, is expected to end in time. Others could win a place but not use it.
func (r *run) fitsAll(ctx context.Context, e entrant) (bool, error) {
	if !r.timed() {
		return true, nil
	}
	p := r.pointAt(e, level{size: initialSize})
	if r.table[p.recipe].mapping.exact {
		const decade = 4 // with few rows, very small penalties often tie with others
		p.penalty += 2 * decade
	}
	took, err := r.expectedFit(ctx, p)
	return took <= maxFinalShare*r.options.Budget.Seconds(), err
}
