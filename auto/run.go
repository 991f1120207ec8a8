package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"math"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// run is the state of a search.
type run struct {
	sample
	space
	paces
	memo  memo
	began time.Time

	*searchloop.Loop // guards the following fields while recipes run concurrently
	log              []scored
	tried            int
	claimed          int // number of candidates, including running ones
	resumed          int
	best             map[int]scored      // best candidate of each recipe on the most rows it was evaluated on
	seen             map[evaluation]bool // evaluated points
	rounds           []Round
	last             level // level of the last round
	leader           scored
	incumbent        *fitted        // current model
	costs            map[point]cost // measured costs of predictions
	correction       float64        // factor of their estimates for ensembles
	reserve          float64        // estimated seconds of the final fit
	gain             float64        // see estimateGain
	stopReason       string
	warnings         []string
}

// newRun checks the options and the rows.
func newRun(data datasets.Set, o Options) (*run, error) {
	if err := cmp.Or(o.Check(), data.Check()); err != nil {
		return nil, err
	}
	r := &run{
		Loop:   searchloop.New(o.Memory, estimator.FitBatch),
		sample: sample{options: o, data: data, classes: len(data.Schema.Classes()), divided: map[int]*division{}},
		paces:  paces{pace: map[string]pace{}}, memo: memo{values: map[string]any{}},
		began: time.Now(), stopReason: "budget", best: map[int]scored{}, seen: map[evaluation]bool{},
		costs: map[point]cost{}, correction: 1,
	}
	r.Workers, r.Stop, r.options.Memory = runtime.GOMAXPROCS(0), o.Stop, r.Memory
	if err := r.checkRows(); err != nil {
		return nil, err
	}
	if r.options.Preprocessing == nil {
		r.options.Preprocessing = preprocessing.Steps(preprocessing.Of(data))
	}
	task := datasets.Regression
	if r.classes > 0 {
		task = datasets.Classification
	}
	var err error
	r.metric, err = metrics.ByName(cmp.Or(o.Score, metricinput.DefaultMetric(task, r.classCounts())))
	if err == nil && r.metric.Task != task {
		err = fmt.Errorf("score %s is for %s, and the task is %s", r.metric.Name, r.metric.Task, task)
	}
	if err == nil && r.classes > 0 {
		err = r.metric.CheckClasses(r.classes)
	}
	if err == nil {
		err = r.chooseTable()
	}
	if err != nil {
		return nil, err
	}
	if r.interpolates() {
		r.warnings = append(r.warnings,
			"each target is close to that of the row before, and folds of shuffled rows interpolate between them: "+
				"their scores do not hold for rows that come later; if the rows are in the order of time, take folds in that "+
				"order (search.cv: {kind: time} of an experiment file)")
	}
	r.orderRows()
	return r, r.findLessons()
}

// chooseTable selects the recipes that suit the rows and the score.
func (r *run) chooseTable() error {
	// of many terms, kernels are slow and linear models good; of many rows, a wider map improves the score in less time
	// than Newton's method for several classes
	const manyRows = 20_000
	const sparseRows = 5000 // from which a support vector machine on a sparse map takes less time than ridge regression
	// of few rows an exact kernel is cheaper than its maps, of very many it is too slow
	const maxExactOnly, maxExact = 1500, 100_000
	task, o, rows := r.metric.Task, r.options, r.data.Rows()
	scores := r.metric.Requires == metrics.RequiresProbabilities
	byClass := metricinput.IsClassBalanced(r.metric.Name)
	reweights := r.classes > 0 && r.metric.Name != "accuracy" && !byClass &&
		metricinput.DefaultMetric(task, r.classCounts()) != "accuracy"
	poisson := r.metric.Name == "mean_poisson_deviance" || r.metric.Name == "d2_poisson" // of predictions > 0
	r.transforms = r.tails()
	for _, k := range table(task, r.orderedRepresentations(), hasText(r.data)) {
		if k.late = k.head.late || k.near != ""; hasText(r.data) && k.plain() {
			k.head = k.head.ofText()
		}
		if k.selects {
			k.head = k.head.inUnits(r.unitStep())
		}
		ridge := k.model.name == "ridge_classifier"
		if k.sparse() && rows >= sparseRows && (ridge || k.model.name == "svm") {
			k.late = ridge || k.balanced
		}
		switch {
		case o.Recipes != nil && !slices.Contains(o.Recipes, k.String()), o.Exportable && !k.exports(),
			k.dense && isSparse(r.data), isText(r.data) && !k.plain() && k.rule != ruleColumns,
			k.scale.name != "" && !contains[transformer.Standardize](o.Preprocessing),
			r.data.Cols() < k.inputs, k.mapping.exact() && rows > maxExact,
			!k.late && rows < maxExactOnly && k.size != "" && !k.sparse() && o.Recipes == nil,
			k.model.name == "poisson" && !r.counts() && !poisson, poisson && k.model.name != "poisson",
			k.selects && !r.wide() && o.Recipes == nil, k.balanced && !reweights,
			k.rule == ruleColumns && k.step.name == "binning" && hasText(r.data),
			scores && !k.probabilities, k.calibrated && !scores,
			rows > manyRows && r.classes > 2 && k.late && !k.plain() && !scores,
			ridge && k.late && k.sparse() && (rows > manyRows || r.classes > 2),
			k.encode != "" && k.rule != ruleColumns && k.mapping.step.name == "nystroem": // random features suffice
			continue
		}
		if k.rule == ruleColumns {
			product := r.productKernel()
			k.learn = k.learn.with(product)
			if r.classes > 0 { // errors of classes are not normal, as the evidence assumes
				k.learn = k.learn.with(param.Setting{Path: "objective", Value: "press"})
			}
			if k.step.name != "binning" {
				k.step = k.step.with(product)
			}
		}
		if r.classes > 0 && byClass {
			k.model = k.model.with(balancedClasses)
		}
		r.table = append(r.table, k)
	}
	if isSparse(r.data) { // linear models are often the best with many columns
		others := func(k recipe) bool { return !k.plain() && k.rule != ruleColumns }
		r.table = slices.Concat(slices.DeleteFunc(slices.Clone(r.table), others),
			slices.DeleteFunc(slices.Clone(r.table), func(k recipe) bool { return !others(k) }))
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

// findLessons selects the rows for representation learning, ascending: those that the step samples
// from all rows, so that the final fit learns the same. There are none if the rows are few, ordered
// or grouped; each fold then learns from its own rows.
func (r *run) findLessons() error {
	if r.data.Rows() < minSharedLessons || r.options.TimeOrdered || r.data.Groups != nil {
		return nil
	}
	at := slices.IndexFunc(r.table, func(k recipe) bool { return k.learn.name != "" })
	if at < 0 {
		return nil
	}
	step, err := r.learnStep(r.table[at].representation)
	if err != nil {
		return err
	}
	alike := datasets.Set{X: mat.NewDense(r.data.Rows(), 1, nil), Y: r.data.Y, Weights: r.data.Weights,
		Schema: datasets.Schema{Targets: r.data.Schema.Targets}} // sampling does not depend on the inputs
	switch s := step.(type) {
	case transformer.ARD:
		r.lessonRows, err = s.Sample(context.Background(), alike.Source())
	case transformer.RFM:
		r.lessonRows, err = s.Sample(context.Background(), alike.Source())
	}
	return err
}

// head describes the search in its journal.
func (r *run) head() journal.Head {
	return journal.Head{Journal: "bochner auto", Version: 8, Sums: map[string]string{
		"data": journal.Sum(func(h hash.Hash) { journal.Rows(h, r.data) }),
		"options": journal.Sum(func(h hash.Hash) {
			fmt.Fprintf(h, "%s %d %v\n", r.metric.Name, r.options.Seed, r.options.TimeOrdered)
			journal.Spec(h, pipeline.Chain{Steps: r.options.Preprocessing})
			for _, k := range r.table {
				fmt.Fprintln(h, k)
			}
		}),
	}}
}

// search runs all phases: the first model, the rounds and the final fit.
func (r *run) search(ctx context.Context) (err error) {
	if err := r.Open(r.options.Journal, r.head(), nil, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.measureSpeed()
	for _, phase := range []func(context.Context) error{r.firstModel, r.allRounds, r.tryLinear} {
		if err == nil {
			err = phase(ctx)
		}
	}
	if err == nil || errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil && !r.Stopped() && r.incumbent != nil {
		err = r.finish(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctxerr.Check(ctx)
	case err != nil && !errors.Is(err, searchloop.ErrEnded):
		return err
	case r.incumbent == nil:
		return ErrNoModel
	case r.Stopped():
		r.stopReason = "stopped"
	}
	if err := r.meetLimits(ctx); err != nil {
		return err
	}
	return r.estimateGain(ctx)
}

// firstModel fits a model within a few seconds: a narrow map of few rows, with γ by the rule. If that fails
// or takes too long, a linear model of fewer rows takes its place, whose time has no limit.
func (r *run) firstModel(ctx context.Context) error {
	const rows, size, fewer = 1000, 128, 250
	try := func(at, rows, penalties int) ([]scored, error) {
		low, high, _, _ := r.table[at].penalties()
		first := r.pointAt(entrant{point: point{recipe: at, penalty: (low + high) / 2}}, level{size: size})
		points := r.neighborhood(first, 0, 0, penalties, (high-low)/4)
		return r.tryExtra(ctx, rows, -1, points)
	}
	at := max(slices.IndexFunc(r.table, func(k recipe) bool {
		return !k.late && !k.selects && k.learn.name == ""
	}), 0)
	out, err := try(at, rows, 2)
	if err == nil && r.leader.Scores == nil && r.hashTerms(ctx) {
		out, err = try(at, rows, 2)
	}
	learned := rows
	if err == nil && r.leader.Scores == nil {
		learned = fewer
		_, err = try(max(slices.IndexFunc(r.table, func(k recipe) bool { return k.plain() && !k.selects }), 0), fewer, 0)
	}
	if err == nil && r.leader.Scores == nil {
		err = fmt.Errorf("the first model cannot be scored: %s", out[0].Failed)
	}
	if err != nil {
		return err
	}
	_, err = r.fit(ctx, single(r.leader), 1, learned, r.hardDeadline())
	return err
}

// tryExtra evaluates points outside of the rounds, at most as many as the budget has, for the first model one at least.
func (r *run) tryExtra(ctx context.Context, rows, round int, points []point) ([]scored, error) {
	if most := r.options.Candidates; most > 0 {
		left := max(most-r.tried, 0)
		if r.leader.Scores == nil {
			left = max(left, 1)
		}
		points = points[:min(len(points), left)]
	}
	if len(points) == 0 {
		return nil, nil
	}
	return r.try(ctx, rows, round, points)
}

// tryLinear evaluates linear recipes on the rows and folds of the leader if no round has done so.
// The selected model is then at least as good as a linear one in cross-validation. It warns if no recipe is better than
// a constant.
func (r *run) tryLinear(ctx context.Context) error {
	for i, k := range r.table {
		if !k.plain() || r.best[i].on >= r.leader.on {
			continue
		}
		e := r.coarseEntrant(i, 0)
		if !r.timed() && r.tried+2*e.penalties >= r.options.Candidates {
			e.penalties = 1
		}
		points := r.neighborhood(r.pointAt(e, r.last), 0, 0, e.penalties, e.penaltyStep)
		if _, err := r.tryExtra(ctx, r.leader.on, len(r.rounds), points); err != nil {
			return err
		}
	}
	if constant, err := r.constantScore(); err == nil && !r.metric.Better(r.leader.mean, constant) {
		r.warnings = append(r.warnings, fmt.Sprintf("no recipe is better than always predicting the same: %s %.4g against "+
			"%.4g over the folds", r.metric.Name, r.leader.mean, constant))
	}
	return nil
}

// constantScore returns the mean score, on the folds of the leader, of the mean target or of the most
// frequent class with the class frequencies as probabilities.
func (r *run) constantScore() (float64, error) {
	d, err := r.divide(r.leader.on)
	if err != nil {
		return 0, err
	}
	folds, err := r.scoresOf(d, func(k int) (p estimator.Prediction, err error) {
		n, train := len(d.scores[k]), d.folds[d.fold(k)].Train
		value, shares := 0.0, make([]float64, max(r.classes, 1))
		for _, i := range train {
			value += d.data.Y[i] / float64(len(train))
			if r.classes > 0 {
				shares[int(d.data.Y[i])] += 1 / float64(len(train))
			}
		}
		if r.classes > 0 {
			value = float64(slices.Index(shares, slices.Max(shares)))
			p.Probabilities = mat.NewDense(n, r.classes, slices.Repeat(shares, n))
			if p.Scores = p.Probabilities; r.classes == 2 {
				p.Scores = mat.NewDense(n, 1, nil)
			}
		}
		p.Values = slices.Repeat([]float64{value}, n)
		return p, nil
	})
	mean, _ := meanAndSpread(folds, 1)
	return mean, err
}

// updateBest updates the best candidate of each recipe and the leader.
func (r *run) updateBest(out []scored) {
	for _, s := range out {
		if math.IsNaN(s.mean) {
			continue
		}
		if b, ok := r.best[s.recipe]; !ok || r.rank(s, b) < 0 {
			r.best[s.recipe] = s
		}
		if r.leader.Scores == nil || r.rank(s, r.leader) < 0 {
			r.leader = s
		}
	}
}

// report passes the progress to the callback.
func (r *run) report(phase string) {
	if r.options.Progress == nil {
		return
	}
	p := gridsearch.Progress{Phase: phase, Done: r.tried, Total: r.options.Candidates, Scored: r.tried, Candidate: -1,
		Score: math.NaN(), Best: math.NaN(), Metric: r.metric.Name, Elapsed: time.Since(r.began)}
	if r.timed() {
		p.Budget = r.options.Budget
	}
	if best := r.leader; best.Scores != nil {
		e := r.entryOf(best)
		p.Best, p.Folds, p.Settings = e.Score, len(best.Scores), e.Recipe+" "+e.Parameters()
	}
	r.options.Progress(p)
}

// result returns the result of the search.
func (r *run) result() *Result {
	in := r.incumbent
	out := &Result{
		Pipeline: in.spec, Model: in.model, Chosen: r.entryOfEnsemble(in.ensemble, in.scale), Score: r.metric.Name,
		GreaterIsBetter: r.metric.GreaterIsBetter, Rounds: r.rounds, Tried: r.tried, Resumed: r.resumed, Rows: in.rows,
		LaterSeconds: in.later, Seconds: time.Since(r.began).Seconds(), StopReason: r.stopReason, Warnings: r.warnings,
		InputRelevance: relevance(in.model),
	}
	out.Pipeline.Memory = 0
	out.Chosen.Estimate = out.Chosen.Score - r.optimism(out.Chosen) + r.gain
	out.Chosen.PredictSeconds, out.Chosen.Bytes = in.cost.perRow, in.cost.bytes
	out.Leaderboard = r.leaderboard(out.Chosen)
	return out
}
