package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

const (
	firstRows   = 2000 // of the first round
	firstSize   = 256  // of its maps
	mostSize    = 8192 // of any map, and with a number of candidates as the budget:
	mostCounted = 2048
	moreRows    = 4 // times as many, in the next round
	moreSize    = 2
)

// run is a search at work.
type run struct {
	options Options
	data    datasets.Set
	classes int // 0 for a quantity
	metric  metrics.Metric
	table   []recipe
	journal *journal
	began   time.Time

	order []int // of the rows
	taken datasets.Set
	folds map[int][]datasets.Fold // by the number of rows
	bases map[string]float64      // γ by the rule
	pace  map[string]pace         // by kind

	log       []scored
	tried     int
	resumed   int
	best      map[int]scored // of each recipe, on the most rows that it was tried on
	seen      map[place]bool // what was tried
	rounds    []Round
	last      level // of the last round
	leader    scored
	incumbent *fitted   // the model so far
	ensemble  *ensemble // that the model so far is; nil for one pipeline
	reserve   float64   // seconds that the last fit will take
	ended     string
	warnings  []string
}

// fitted is a model that was fitted to all rows.
type fitted struct {
	scored
	rows  int // that it has learned from
	spec  pipeline.Pipeline
	model estimator.Predictor
}

// newRun checks the options and the rows.
func newRun(data datasets.Set, o Options) (*run, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := data.Check(); err != nil {
		return nil, err
	}
	r := &run{options: o, data: data, classes: len(data.Schema.Classes()), began: time.Now(), ended: EndedBudget,
		folds: map[int][]datasets.Fold{}, bases: map[string]float64{}, pace: map[string]pace{}, best: map[int]scored{}, seen: map[place]bool{}}
	if err := r.checkRows(); err != nil {
		return nil, err
	}
	if r.options.Clean == nil {
		r.options.Clean = Clean(data)
	}
	task := datasets.Regression
	if r.classes > 0 {
		task = datasets.Classification
	}
	name := o.Score
	if name == "" {
		name = metrics.ForTask(task, r.classes)[0].Name
	}
	var err error
	if r.metric, err = metrics.ByName(name); err != nil {
		return nil, err
	}
	if r.metric.Task != task {
		return nil, fmt.Errorf("score %s is for %s, and the task is %s", r.metric.Name, r.metric.Task, task)
	}
	if r.classes > 0 {
		if err := r.metric.CheckClasses(r.classes); err != nil {
			return nil, err
		}
	}
	if err := r.chooseTable(task); err != nil {
		return nil, err
	}
	r.orderRows()
	return r, nil
}

// leastRows is how many rows there must be to choose by.
const leastRows = 20

// checkRows refuses rows that nothing can be learned or chosen from.
func (r *run) checkRows() error {
	switch n := r.data.Rows(); {
	case r.data.Y == nil && r.data.Targets == nil:
		return errors.New("the rows have no targets")
	case r.data.Targets != nil:
		return errors.New("one target is wanted, not several")
	case n < leastRows:
		return fmt.Errorf("%d rows are too few to choose a model by, wanted at least %d", n, leastRows)
	case r.data.Cols() == 0:
		return errors.New("the rows have no inputs")
	}
	first := r.data.Y[0]
	if !slices.ContainsFunc(r.data.Y, func(y float64) bool { return y != first }) {
		return errors.New("the target is the same in every row: there is nothing to learn")
	}
	return nil
}

// chooseTable leaves the recipes that suit the rows and the score.
func (r *run) chooseTable(task datasets.Task) error {
	scaled := standardizes(r.options.Clean)
	scores := r.metric.Needs == metrics.Probabilities
	for _, k := range table(task) {
		switch {
		case r.options.Only != nil && !slices.Contains(r.options.Only, k.String()),
			k.dense && isSparse(r.data), k.scale.name != "" && !scaled, scores && !k.probabilities, r.data.Cols() < k.inputs,
			k.mapping.rows > 0 && r.data.Rows() > k.mapping.rows, k.log && !r.skewed():
			continue
		}
		r.table = append(r.table, k)
	}
	if len(r.table) == 0 {
		return errors.New("none of the recipes suits the rows, the task and the score")
	}
	early := slices.ContainsFunc(r.table, func(k recipe) bool { return !k.late })
	for i := range r.table {
		r.table[i].late = r.table[i].late && early
	}
	return nil
}

// skewed reports whether the target is positive and has a long tail of large values, so that its logarithm
// may be easier to predict.
func (r *run) skewed() bool {
	sorted := slices.Sorted(slices.Values(r.data.Y))
	n := len(sorted)
	low, middle, high := sorted[n/20], sorted[n/2], sorted[n-1-n/20]
	return sorted[0] > 0 && high-middle > 2*(middle-low)
}

// search goes from the first model through the rounds to the last fit.
func (r *run) search(ctx context.Context) (err error) {
	if r.journal, err = openJournal(r.options.Journal, r.headOf()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.journal.close()) }()
	r.measureSpeed()
	err = r.firstModel(ctx)
	if err == nil {
		err = r.allRounds(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.stopped() {
		r.ended = EndedStopped
	}
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	if r.incumbent == nil {
		return ErrNoModel
	}
	if r.ended == EndedStopped {
		return nil
	}
	return r.finish(ctx)
}

// firstModel makes a model within a few seconds: a narrow map of few rows, γ by the rule.
func (r *run) firstModel(ctx context.Context) error {
	const rows, size = 1000, 128
	at := slices.IndexFunc(r.table, func(k recipe) bool { return !k.late && k.learn.name == "" && !k.mapping.exact })
	if at < 0 {
		at = 0
	}
	low, high, _, _ := r.table[at].penalties()
	p := point{recipe: at, size: size, penalty: (low + high) / 2}
	points := r.around(p, 0, 0, 2, (high-low)/4)
	if r.options.Candidates > 0 {
		points = points[:min(len(points), r.options.Candidates)]
	}
	out, err := r.try(ctx, rows, -1, points)
	if err != nil {
		return err
	}
	r.takeIn(out)
	if r.leader.folds == nil {
		return fmt.Errorf("the first model cannot be scored: %s", out[0].failed)
	}
	return r.refit(ctx, r.leader, size, rows)
}

// takeIn notes the best of each recipe and the leader.
func (r *run) takeIn(out []scored) {
	for _, s := range out {
		if math.IsNaN(s.mean) {
			continue
		}
		if b, ok := r.best[s.recipe]; !ok || r.before(s, b) {
			r.best[s.recipe] = s
		}
		if r.leader.folds == nil || r.before(s, r.leader) {
			r.leader = s
		}
	}
}

// before reports whether a candidate comes before another one: scored on more rows, or better on as many.
// Scores on different rows do not compare.
func (r *run) before(a, b scored) bool {
	return a.on > b.on || a.on == b.on && r.metric.Better(a.mean, b.mean)
}

// refit fits a candidate to the first rows of the order, all where there are no more, as the model so far. Its
// map has another size where that is wanted.
func (r *run) refit(ctx context.Context, s scored, size, rows int) error {
	p := s.point
	p.size = size
	spec, err := r.pipelineOf(ctx, p)
	if err != nil {
		return err
	}
	r.report("refit")
	ctx, cancel := r.untilStopped(ctx)
	defer cancel()
	part := r.part(rows)
	model, err := spec.Fit(ctx, part)
	if ctx.Err() != nil {
		return errEnded
	}
	if err != nil {
		return err
	}
	r.incumbent = &fitted{s, part.Rows(), spec, model}
	r.report("search")
	return nil
}

// level is the rows of a round, the size of its maps, and the effort by which its recipes learn what they learn.
type level struct{ rows, size, effort int }

// entrant is a recipe in a round, with the grid about its place.
type entrant struct {
	point
	gammas, gammaStep, penalties, penaltyStep int
}

// allRounds goes on while the budget lasts and something is gained.
func (r *run) allRounds(ctx context.Context) error {
	at := level{min(firstRows, r.data.Rows()), r.sizeWithin(firstSize), 0}
	field := r.all()
	for round := 0; ; round++ {
		chosen, to, err := r.affordable(ctx, field, at, round)
		if err != nil || len(chosen) == 0 {
			return err
		}
		before := r.leader
		if err := r.round(ctx, chosen, to, round); err != nil {
			return err
		}
		if err := r.keepModel(ctx); err != nil {
			return err
		}
		if r.settled(before, to, round) {
			r.ended = EndedConverged
			return nil
		}
		r.last = to
		at = level{min(to.rows*moreRows, r.data.Rows()), r.sizeWithin(to.size * moreSize), min(to.effort+1, efforts-1)}
		field = r.next(chosen, round)
	}
}

// sizeWithin bounds the size of a map by what so many rows can make use of.
func (r *run) sizeWithin(size int) int {
	most := mostSize
	if !r.timed() {
		most = mostCounted // nothing else bounds the time that a candidate takes
	}
	return max(min(size, most, 4*r.data.Rows()/firstSize*firstSize), firstSize)
}

// settled reports whether the last round had all rows, gained next to nothing, and the next would have nothing
// more.
func (r *run) settled(before scored, at level, round int) bool {
	if at.rows < r.data.Rows() {
		return false
	}
	if at.size >= r.sizeWithin(at.size*moreSize) && round >= 2 {
		return true
	}
	gained := math.Abs(r.leader.mean - before.mean)
	return round >= 2 && before.on >= r.data.Rows() && (!r.metric.Better(r.leader.mean, before.mean) || gained < 0.05*r.leader.std)
}

// all returns every recipe that is not late, over a coarse grid.
func (r *run) all() []entrant {
	var out []entrant
	for i, k := range r.table {
		if !k.late {
			out = append(out, r.coarse(i, 0))
		}
	}
	return out
}

// coarse is a recipe with a coarse grid about a place of γ.
func (r *run) coarse(recipe, gamma int) entrant {
	low, high, _, _ := r.table[recipe].penalties()
	return entrant{point{recipe: recipe, gamma: gamma, penalty: (low + high) / 2}, coarseGammas, coarseGamma, 2, (high - low) / 4}
}

// next returns the better third of the field with a finer grid, and after the first round the other models on
// their maps.
func (r *run) next(field []entrant, round int) []entrant {
	ranked := slices.Clone(field)
	ranked = slices.DeleteFunc(ranked, func(e entrant) bool { _, ok := r.best[e.recipe]; return !ok })
	slices.SortStableFunc(ranked, func(a, b entrant) int { return r.compare(r.best[a.recipe], r.best[b.recipe]) })
	const least = 4
	ranked = ranked[:min(len(ranked), max(least, (len(ranked)+2)/3))]
	var out []entrant
	for i, e := range ranked {
		best := r.best[e.recipe]
		finer := entrant{best.point, 1, max(e.gammaStep/2, 1), 1, max(e.penaltyStep/2, 2)}
		out = append(out, finer)
		if round > 0 || i >= 3 {
			continue
		}
		for at, k := range r.table {
			if k.late && k.representation.name == r.table[e.recipe].representation.name && k.mapping.name == r.table[e.recipe].mapping.name {
				other := r.coarse(at, best.gamma)
				other.gammas, other.gammaStep = 1, max(e.gammaStep/2, 1)
				out = append(out, other)
			}
		}
	}
	return out
}

// round tries a field, family by family, and then extends the grids on whose edge the best lies, of recipes
// that may be the best.
func (r *run) round(ctx context.Context, field []entrant, at level, round int) error {
	began, before := time.Now(), r.tried
	tried := map[point]scored{}
	for time := 0; time <= extensions; time++ {
		more := false
		for _, family := range r.families(field) {
			var points []point
			for _, e := range family {
				if time == 0 {
					points = append(points, r.around(r.at(e, at), e.gammas, e.gammaStep, e.penalties, e.penaltyStep)...)
				} else if best, ok := r.best[e.recipe]; ok && best.on == at.rows && best.round == round && r.near(best) {
					points = append(points, r.beyond(tried, best.point, e.gammaStep, e.penaltyStep)...)
				}
			}
			points = r.unseen(points, at.rows)
			if time > 0 {
				var err error
				if points, err = r.affordedPoints(ctx, points, at); err != nil {
					return err
				}
			}
			if len(points) == 0 {
				continue
			}
			more = true
			out, err := r.try(ctx, at.rows, round, points)
			if err != nil {
				return err
			}
			r.takeIn(out)
			for _, s := range out {
				if !math.IsNaN(s.mean) {
					tried[s.point] = s
				}
			}
		}
		if !more {
			break
		}
	}
	_, folds, err := r.partAndFolds(at.rows)
	if err != nil {
		return err
	}
	r.rounds = append(r.rounds, Round{Rows: at.rows, Size: at.size, Folds: len(folds), Recipes: len(field),
		Candidates: r.tried - before, Best: r.entryOf(r.leader), Seconds: time.Since(began).Seconds()})
	return nil
}

// extensions is how many times grids are extended in a round.
const extensions = 3

// near reports whether a candidate is within two standard errors of the best.
func (r *run) near(s scored) bool {
	margin := 2 * r.leader.std
	if r.metric.GreaterIsBetter {
		return s.mean >= r.leader.mean-margin
	}
	return s.mean <= r.leader.mean+margin
}

// at is the place of an entrant in a round with maps of that size. A recipe for which it makes no difference has
// size 0, and the least effort.
func (r *run) at(e entrant, l level) point {
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

// place is a point and the rows that it was tried on.
type place struct {
	point
	on int
}

// unseen returns the points that were not tried on so many rows, each once.
func (r *run) unseen(points []point, on int) []point {
	return slices.DeleteFunc(unique(points), func(p point) bool { return r.seen[place{p, on}] })
}

// families groups a field by what its recipes learn in common, in the order of the field.
func (r *run) families(field []entrant) [][]entrant {
	var out [][]entrant
	index := map[string]int{}
	for _, e := range field {
		k := r.table[e.recipe]
		name := k.representation.name
		if k.family != "" {
			name = k.family
		}
		at, ok := index[name]
		if !ok {
			at = len(out)
			index[name] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], e)
	}
	return out
}

// affordedPoints leaves of points those that the budget has room for.
func (r *run) affordedPoints(ctx context.Context, points []point, at level) ([]point, error) {
	if !r.timed() {
		return points[:min(len(points), r.options.Candidates-r.tried)], nil
	}
	if len(points) == 0 {
		return nil, nil
	}
	const share = 0.3
	took, err := r.expected(ctx, at.rows, points)
	if err != nil || took > share*(r.left()-r.reserve) {
		return nil, err
	}
	return points, nil
}

// affordable returns as much of a field as the budget has room for, and the level at which: that wanted, or
// one between the last one and that. None where the budget has no room for anything more.
func (r *run) affordable(ctx context.Context, field []entrant, want level, round int) ([]entrant, level, error) {
	if !r.timed() {
		return r.counted(field, round), want, nil
	}
	levels, room, wanted := r.levels(want, round), 0.7, 3
	if round == 0 {
		room, wanted = 0.3, len(field) // fewer rows before fewer recipes
	}
	for i, l := range levels {
		if err := r.setReserve(ctx, l); err != nil {
			return nil, l, err
		}
		for _, grid := range [][2]int{{2, 2}, {1, 1}, {1, 0}} {
			some, err := r.affordedOf(ctx, narrowed(field, grid[0], grid[1]), l, room*(r.left()-r.reserve))
			if err != nil {
				return nil, l, err
			}
			last := i == len(levels)-1 && grid[1] == 0
			if last || len(some) >= min(wanted, len(field)) && some[0].recipe == field[0].recipe {
				return some, l, nil
			}
		}
	}
	return nil, want, nil
}

// levels are what a round may be at, the most wanted first.
func (r *run) levels(want level, round int) []level {
	if round == 0 {
		return []level{want, {want.rows / 2, want.size, 0}, {min(want.rows, firstRows/4), firstSize / 2, 0}}
	}
	last := r.last
	out := []level{want, {want.rows, want.size, last.effort}, {want.rows, last.size, last.effort}, {last.rows, want.size, last.effort},
		{(want.rows + last.rows) / 2, last.size, last.effort}}
	out = slices.DeleteFunc(out, func(l level) bool { return l.rows == last.rows && l.size == last.size })
	return slices.Compact(out)
}

// affordedOf returns those of a field, from the first on, that together are expected to take no longer than the
// limit. One that would take too long is left out, and not those behind it.
func (r *run) affordedOf(ctx context.Context, field []entrant, l level, limit float64) ([]entrant, error) {
	var out []entrant
	for _, e := range field {
		took, err := r.expectedField(ctx, append(slices.Clip(out), e), l)
		if err != nil {
			return nil, err
		}
		if took <= limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// setReserve foresees how long the last fit will take.
func (r *run) setReserve(ctx context.Context, l level) error {
	p := r.leader.point
	p.size = l.size
	took, err := r.expectedFit(ctx, p)
	r.reserve = 1.5*took + 0.02*r.options.Budget.Seconds()
	return err
}

// narrowed returns a field with grids of at most so many values on either side.
func narrowed(field []entrant, gammas, penalties int) []entrant {
	out := slices.Clone(field)
	for i := range out {
		out[i].gammas, out[i].penalties = min(out[i].gammas, gammas), min(out[i].penalties, penalties)
	}
	return out
}

// expectedField is how long a field will take.
func (r *run) expectedField(ctx context.Context, field []entrant, l level) (float64, error) {
	sum := 0.0
	for _, family := range r.families(field) {
		var points []point
		for _, e := range family {
			points = append(points, r.around(r.at(e, l), e.gammas, e.gammaStep, e.penalties, e.penaltyStep)...)
		}
		took, err := r.expected(ctx, l.rows, points)
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

// counted returns as much of a field as the candidates left allow: half of them for the first round.
func (r *run) counted(field []entrant, round int) []entrant {
	left := r.options.Candidates - r.tried
	if round == 0 {
		left = (left + 1) / 2
	}
	points := func(e entrant) int {
		return len(r.around(r.at(e, level{1, firstSize, 0}), e.gammas, e.gammaStep, e.penalties, e.penaltyStep))
	}
	const wanted = 6 // recipes, rather than fine grids
	for _, few := range [][2]int{{2, 2}, {2, 1}, {1, 1}, {1, 0}} {
		some, sum := narrowed(field, few[0], few[1]), 0
		for i, e := range some {
			if sum += points(e); sum > left {
				some = some[:i]
				break
			}
		}
		if len(some) >= min(wanted, len(field)) || few[1] == 0 {
			return some
		}
	}
	return nil
}

// keepModel fits the leader to all rows, so that there is a model of it whatever happens, where that
// takes little of the time that is left.
func (r *run) keepModel(ctx context.Context) error {
	if r.timed() {
		took, err := r.expectedFit(ctx, r.leader.point)
		if err != nil || took > 0.1*r.left() {
			return err
		}
	}
	return r.refit(ctx, r.leader, r.leader.size, r.data.Rows())
}

// finish fits the leader to all rows, with a wider map where the time allows, or an ensemble where that helps.
func (r *run) finish(ctx context.Context) error {
	if done, err := r.fitEnsemble(ctx); done || err != nil || r.ended == EndedStopped {
		return err
	}
	size, err := r.widest(ctx, r.leader.point, 0.5*r.left())
	if err != nil {
		return err
	}
	if r.leader.point == r.incumbent.point && r.leader.size == size && r.incumbent.rows == r.data.Rows() {
		return nil
	}
	err = r.refit(ctx, r.leader, size, r.data.Rows())
	if errors.Is(err, errEnded) && ctx.Err() == nil {
		r.ended = EndedStopped
		return nil
	}
	return err
}

// widest is the largest size of a point's map, doubled time and again, with which a fit to all rows is expected
// to take no longer than the limit: its own size at least.
func (r *run) widest(ctx context.Context, p point, limit float64) (int, error) {
	for r.timed() && r.table[p.recipe].sizeOf(p.size) > 0 {
		wider := p
		wider.size = r.sizeWithin(moreSize * p.size)
		took, err := r.expectedFit(ctx, wider)
		if err != nil {
			return 0, err
		}
		if wider.size <= p.size || took > limit {
			break
		}
		p = wider
	}
	return p.size, nil
}

// report tells how far the search is.
func (r *run) report(doing string) {
	if r.options.Progress == nil {
		return
	}
	p := Progress{Doing: doing, Tried: r.tried, Candidates: r.options.Candidates, Elapsed: time.Since(r.began)}
	if r.timed() {
		p.Budget = r.options.Budget
	}
	if r.leader.folds != nil {
		p.Best = r.entryOf(r.leader)
	}
	r.options.Progress(p)
}

// result is what was found.
func (r *run) result() *Result {
	in := r.incumbent
	out := &Result{
		Pipeline: in.spec, Model: in.model, Chosen: r.entryOf(in.scored), Score: r.metric.Name, GreaterIsBetter: r.metric.GreaterIsBetter,
		Leaderboard: r.leaderboard(), Rounds: r.rounds, Tried: r.tried, Resumed: r.resumed, Rows: in.rows,
		Seconds: time.Since(r.began).Seconds(), Ended: r.ended, Warnings: r.warnings,
	}
	out.Pipeline.Memory = 0
	members := []scored{in.scored}
	if r.ensemble != nil {
		members = r.ensemble.members
		out.Chosen = r.entryOfEnsemble()
	}
	for i := range out.Leaderboard {
		e := &out.Leaderboard[i]
		e.Chosen = slices.ContainsFunc(members, func(m scored) bool { return e.at.point == m.point && e.at.round == m.round })
	}
	out.Learned = r.learned(in.model)
	return out
}
