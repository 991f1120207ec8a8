package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/solve"
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
	notes *notes
	began time.Time

	views views
	mu    sync.Mutex         // guards the following fields while recipes run concurrently
	bases map[string]float64 // γ by the rule, by representation and kernel

	log        []scored
	tried      int
	claimed    int // number of candidates, including running ones
	resumed    int
	best       map[int]scored      // best candidate of each recipe on the most rows it was evaluated on
	seen       map[evaluation]bool // evaluated points
	rounds     []Round
	last       level // level of the last round
	leader     scored
	incumbent  *fitted   // current model
	ensemble   *ensemble // ensemble of the current model; nil for one pipeline
	reserve    float64   // estimated seconds of the final fit
	finalTook  float64   // seconds of the fit of the current model to all rows
	stopReason StopReason
	warnings   []string
}

// fitted is a fitted candidate.
type fitted struct {
	scored
	size  int // of its map, possibly another one than in its scores
	rows  int // number of training rows
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
	r := &run{
		sample: sample{options: o, data: data, classes: len(data.Schema.Classes()), folds: map[int][]datasets.Fold{},
			errors: map[int]errorTerms{}},
		paces: paces{pace: map[string]pace{}, lastFits: map[string]pace{}},
		began: time.Now(), stopReason: StoppedByBudget, bases: map[string]float64{}, best: map[int]scored{},
		seen: map[evaluation]bool{}, views: newViews(),
	}
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
	name := o.Score
	if name == "" {
		name = metricinput.DefaultMetric(task, r.classCounts())
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
func (r *run) chooseTable(task datasets.Task) error {
	scaled := contains[transformer.Standardize](r.options.Preprocessing)
	scores := r.metric.Requires == metrics.Probabilities
	r.transforms = r.tails()
	reweights := r.classes > 0 && r.metric.Name != "accuracy" && !metricinput.IsClassBalanced(r.metric.Name) &&
		metricinput.DefaultMetric(task, r.classCounts()) != "accuracy"
	text := isText(r.data) // of many terms, with which kernels are slow and linear models good
	for _, k := range table(task, r.orderedRepresentations()) {
		if k.late = k.balanced || r.late(k); hasText(r.data) && k.plain {
			k.head = k.head.ofText()
		}
		switch {
		case r.options.Recipes != nil && !slices.Contains(r.options.Recipes, k.String()),
			k.dense && isSparse(r.data), text && !k.plain && k.rule != ruleColumns, k.scale.name != "" && !scaled,
			scores && !k.probabilities, k.calibrated && !scores, r.data.Cols() < k.inputs,
			k.mapping.rows > 0 && r.data.Rows() > k.mapping.rows, k.model.name == "poisson" && !r.counts(),
			(!scores || k.calibrated) && r.slow(k), r.options.Exportable && !k.exports(), k.balanced && !reweights,
			k.encode != "" && k.rule != ruleColumns && k.mapping.step.name == "nystroem", // its columns are few, so random features suffice
			!k.late && k.task == task && r.data.Rows() < k.mapping.from && r.options.Recipes == nil:
			continue
		}
		if k.rule == ruleColumns {
			product := r.productKernel()
			k.learn.settings = append(slices.Clone(k.learn.settings), product)
			k.step.settings = append(slices.Clone(k.step.settings), product)
		}
		if task == datasets.Classification && metricinput.IsClassBalanced(r.metric.Name) {
			balanced := param.Setting{Path: "class_weight", Value: "balanced"}
			k.model.settings = append(slices.Clone(k.model.settings), balanced)
		}
		r.table = append(r.table, k)
	}
	if isSparse(r.data) { // linear models are often the best with many columns
		linear := func(k recipe) bool { return k.plain || k.rule == ruleColumns }
		others := slices.DeleteFunc(slices.Clone(r.table), linear)
		r.table = append(slices.DeleteFunc(r.table, func(k recipe) bool { return !linear(k) }), others...)
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

// largeRows is the number of rows from which ridge regression on a sparse map takes longer than a
// support vector machine.
const largeRows = 5000

// maxSteps is the maximum number of rows for Newton's method with more than two classes and for
// ridge classifiers on sparse maps. With more rows, a wider map improves the score in less time.
const maxSteps = 20_000

// slow reports whether the model of a recipe is too slow for the rows or classes, and a similar one
// is available.
func (r *run) slow(k recipe) bool {
	many := r.data.Rows() > maxSteps
	switch k.model.name {
	case "ridge_classifier":
		return k.late && (many || r.classes > 2)
	case "logistic":
		return many && r.classes > 2
	case "svm":
		return many && r.classes > 2 && k.late
	}
	return false
}

// late reports whether a recipe enters in the second round.
func (r *run) late(k recipe) bool {
	if !k.sparse() || r.data.Rows() < largeRows {
		return k.head.late || k.near != ""
	}
	switch k.model.name {
	case "svm":
		return false
	case "ridge_classifier":
		return true
	}
	return k.head.late
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
	step, err := r.learner(r.table[at].representation, 0)
	if err != nil {
		return err
	}
	alike := datasets.Set{X: mat.NewDense(r.data.Rows(), 1, nil), Y: r.data.Y, Weights: r.data.Weights,
		Schema: datasets.Schema{Targets: r.data.Schema.Targets}} // sampling does not depend on the inputs
	r.lessonRows, err = step.(interface {
		Sample(ctx context.Context, data datasets.Source) ([]int, error)
	}).Sample(context.Background(), alike.Source())
	return err
}

// search runs all phases: the first model, the rounds and the final fit.
func (r *run) search(ctx context.Context) (err error) {
	if r.notes, err = openNotes(r.options.Journal, r.headOf()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.notes.journal.Close()) }()
	r.measureSpeed()
	err = r.firstModel(ctx)
	if err == nil {
		err = r.allRounds(ctx)
	}
	if err == nil {
		err = r.tryLinear(ctx)
	}
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if r.stopped() {
		r.stopReason = StoppedByCaller
	}
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	if r.incumbent == nil {
		return ErrNoModel
	}
	if r.stopReason == StoppedByCaller {
		return nil
	}
	return r.finish(ctx)
}

// firstModel fits a model within a few seconds: a narrow map of few rows, with γ by the rule. If that fails
// or takes too long, a linear model of fewer rows takes its place, whose time has no limit.
func (r *run) firstModel(ctx context.Context) error {
	const rows, size, fewer = 1000, 128, 250
	at := slices.IndexFunc(r.table, func(k recipe) bool { return !k.late && k.learn.name == "" })
	if at < 0 {
		at = 0
	}
	low, high, _, _ := r.table[at].penalties()
	p := point{recipe: at, size: size, penalty: (low + high) / 2}
	out, err := r.tryFirst(ctx, rows, r.neighborhood(p, 0, 0, 2, (high-low)/4))
	if err == nil && r.leader.folds == nil && r.hashTerms(ctx) {
		out, err = r.tryFirst(ctx, rows, r.neighborhood(p, 0, 0, 2, (high-low)/4))
	}
	if err != nil {
		return err
	}
	if r.leader.folds != nil {
		return r.refit(ctx, r.leader, size, rows)
	}
	reason := out[0].failed
	if plain := slices.IndexFunc(r.table, func(k recipe) bool { return k.plain }); plain >= 0 {
		at = plain
	}
	low, high, _, _ = r.table[at].penalties()
	if _, err := r.tryFirst(ctx, fewer, []point{{recipe: at, size: size, penalty: (low + high) / 2}}); err != nil {
		return err
	}
	if r.leader.folds == nil {
		return fmt.Errorf("the first model cannot be scored: %s", reason)
	}
	return r.refit(ctx, r.leader, size, fewer)
}

// tryFirst evaluates points for the first model, which count as candidates.
func (r *run) tryFirst(ctx context.Context, rows int, points []point) ([]scored, error) {
	if most := r.options.Candidates; most > 0 {
		points = points[:max(min(len(points), most-r.tried), 1)]
	}
	r.claimed += len(points)
	return r.try(ctx, rows, -1, points)
}

// tryLinear evaluates linear recipes on the rows and folds of the leader if no round has done so.
// The selected model is then at least as good as a linear one in cross-validation. If the leader is
// not better than a constant, it also evaluates linear models with the strongest penalty, which are
// close to the constant.
func (r *run) tryLinear(ctx context.Context) error {
	constant, err := r.constantScore()
	useless := err == nil && !r.metric.Better(r.leader.mean, constant)
	if useless {
		r.warnings = append(r.warnings, fmt.Sprintf("no recipe is better than always predicting the same: %s %.4g against "+
			"%.4g over the folds", r.metric.Name, r.leader.mean, constant))
	}
	for i, k := range r.table {
		if b, ok := r.best[i]; !k.plain || ok && b.on >= r.leader.on && !useless {
			continue
		}
		e := r.coarseEntrant(i, 0)
		if !r.timed() && r.tried+2*e.penalties >= r.options.Candidates {
			e.penalties = 1
		}
		points := r.neighborhood(r.pointAt(e, r.last), 0, 0, e.penalties, e.penaltyStep)
		if useless {
			strongest := points[:1]
			if _, _, floor, most := k.penalties(); k.penalty == "alpha" {
				strongest[0].penalty = most
			} else {
				strongest[0].penalty = floor
			}
			points = r.unseen(strongest, r.leader.on)
		}
		if most := r.options.Candidates; most > 0 {
			points = points[:min(len(points), most-r.tried)]
		}
		if len(points) == 0 {
			continue
		}
		r.claimed += len(points)
		if _, err := r.try(ctx, r.leader.on, len(r.rounds), points); err != nil {
			return err
		}
	}
	return nil
}

// constantScore returns the mean score, on the folds of the leader, of the mean target or of the most
// frequent class with the class frequencies as probabilities.
func (r *run) constantScore() (mean float64, err error) {
	part, folds, err := r.partAndFolds(r.leader.on)
	if err != nil {
		return 0, err
	}
	for _, f := range folds {
		n := len(f.Test)
		value, shares := 0.0, make([]float64, max(r.classes, 1))
		for _, i := range f.Train {
			value += part.Y[i] / float64(len(f.Train))
			if r.classes > 0 {
				shares[int(part.Y[i])] += 1 / float64(len(f.Train))
			}
		}
		in := metrics.Input{Classes: r.classes}
		if r.classes > 0 {
			value = float64(slices.Index(shares, slices.Max(shares)))
			in.Probabilities = mat.NewDense(n, r.classes, slices.Repeat(shares, n))
			in.Scores = in.Probabilities
			if r.classes == 2 {
				in.Scores = mat.NewDense(n, 1, nil)
			}
		}
		in.YPred = slices.Repeat([]float64{value}, n)
		for _, i := range f.Test {
			in.YTrue = append(in.YTrue, part.Y[i])
			if part.Weights != nil {
				in.Weights = append(in.Weights, part.Weights[i])
			}
		}
		score, err := r.metric.Score(in)
		if err != nil {
			return 0, err
		}
		mean += score / float64(len(folds))
	}
	return mean, nil
}

// updateBest updates the best candidate of each recipe and the leader.
func (r *run) updateBest(out []scored) {
	for _, s := range out {
		if math.IsNaN(s.mean) {
			continue
		}
		if b, ok := r.best[s.recipe]; !ok || r.ranksBefore(s, b) {
			r.best[s.recipe] = s
		}
		if r.leader.folds == nil || r.ranksBefore(s, r.leader) {
			r.leader = s
		}
	}
}

// refit fits a candidate to the first rows of the order (all if there are fewer) and stores it as
// the current model, with a map of another size if requested.
func (r *run) refit(ctx context.Context, s scored, size, rows int) error {
	last := r.hardDeadline()
	return r.refitUntil(ctx, s, size, rows, last-softMargin*r.options.Budget.Seconds(), last)
}

// refitUntil is refit with a soft deadline for the iterations and a hard deadline, both in seconds
// from the start of the search.
func (r *run) refitUntil(ctx context.Context, s scored, size, rows int, late, until float64) error {
	p := s.point
	p.size = size
	limited, cancel := r.withDeadline(ctx, until)
	defer cancel()
	r.report(PhaseRefit)
	spec, fitting, err := r.finalPipeline(limited, p)
	if err != nil {
		return endedOr(limited, err)
	}
	part := r.part(rows)
	began := time.Now()
	if r.timed() && r.incumbent != nil {
		limited = solve.WithSoftDeadline(limited, r.began.Add(seconds(late)))
	}
	model, err := fitting.Fit(limited, part)
	err = endedOr(limited, err)
	took := time.Since(began).Seconds()
	if err != nil {
		r.learnFitPace(p, part.Rows(), canceledFactor*took)
		return err
	}
	r.learnFitPace(p, part.Rows(), took)
	if tooCoarse(model) {
		return errEnded
	}
	if spec, err = r.withSteps(spec, p, model); err != nil {
		return err
	}
	r.incumbent, r.finalTook = &fitted{s, size, part.Rows(), spec, model}, took
	r.report(PhaseSearch)
	return nil
}

// tooCoarse reports whether the iterations of a model stopped too early for it to be of use.
func tooCoarse(model estimator.Predictor) bool {
	const most = 0.03 // relative residual
	var reporter estimator.Reporter
	return estimator.As(model, &reporter) && reporter.Report().Solver == "cg" && reporter.Report().Gradient > most
}

// withSteps sets the number of iterations in the spec of an exact kernel whose solver was stopped
// by the soft deadline, so that another fit agrees.
func (r *run) withSteps(spec pipeline.Pipeline, p point, model estimator.Predictor) (pipeline.Pipeline, error) {
	var reporter estimator.Reporter
	kind := r.table[p.recipe]
	if !kind.mapping.exact || !estimator.As(model, &reporter) || reporter.Report().Converged ||
		reporter.Report().Solver != "cg" {
		return spec, nil
	}
	return param.Replace(spec, param.Setting{Path: kind.modelPath(p.target) + ".solver", Value: "cg"},
		param.Setting{Path: kind.modelPath(p.target) + ".max_iter", Value: reporter.Report().Iterations})
}

// finalPipeline returns the spec of a point for the final fit, and a copy in which fitted steps replace
// their specs. Wide dense maps use float32, which halves the time and does not change the scores
// noticeably.
func (r *run) finalPipeline(ctx context.Context, p point) (spec, fitting pipeline.Pipeline, err error) {
	if spec, fitting, err = r.fullPipeline(ctx, p); err != nil {
		return spec, fitting, err
	}
	if r.inFloat32(p) {
		spec.Precision, fitting.Precision = pipeline.Float32, pipeline.Float32
	}
	return spec, fitting, nil
}

// inFloat32 reports whether the final fit of a point computes features in float32.
func (r *run) inFloat32(p point) bool {
	const wide = 2048
	kind := r.table[p.recipe]
	return kind.size != "" && !kind.sparse() && p.size >= wide
}

// fullPipeline returns the spec of a point, and a copy in which fitted steps replace their specs.
func (r *run) fullPipeline(ctx context.Context, p point) (spec, fitting pipeline.Pipeline, err error) {
	if spec, err = r.pipelineOf(ctx, p); err != nil {
		return spec, fitting, err
	}
	if fitting, err = r.viewPipeline(ctx, p); err != nil {
		return spec, fitting, err
	}
	ready, err := r.fittedSteps(ctx, r.table[p.recipe].representation, p.effort)
	fitting.Steps = append(ready, fitting.Steps...)
	return spec, fitting, err
}

// endedOr returns errEnded if the context has ended, else err.
func endedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errEnded
	}
	return err
}

// report passes the progress to the callback.
func (r *run) report(phase Phase) {
	if r.options.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Phase: phase, Tried: r.tried, Candidates: r.options.Candidates, Elapsed: time.Since(r.began)}
	if r.timed() {
		p.Budget = r.options.Budget
	}
	if r.leader.folds != nil {
		p.Best = r.entryOf(r.leader)
	}
	r.options.Progress(p)
}

// result returns the result of the search.
func (r *run) result() *Result {
	in := r.incumbent
	out := &Result{
		Pipeline: in.spec, Model: in.model, Chosen: r.entryAs(in.scored, in.size), Score: r.metric.Name,
		GreaterIsBetter: r.metric.GreaterIsBetter,
		Leaderboard:     r.leaderboard(), Rounds: r.rounds, Tried: r.tried, Resumed: r.resumed, Rows: in.rows,
		Seconds: time.Since(r.began).Seconds(), StopReason: r.stopReason, Warnings: r.warnings,
	}
	out.Pipeline.Memory = 0
	members := []scored{in.scored}
	if r.ensemble != nil {
		members = r.ensemble.members
		out.Chosen = r.entryOfEnsemble()
	}
	out.Optimism = r.optimism(out.Chosen)
	for i := range out.Leaderboard {
		e := &out.Leaderboard[i]
		member := func(m scored) bool { return e.at.point == m.point && e.at.round == m.round }
		e.Chosen = e.Chosen || slices.ContainsFunc(members, member)
	}
	out.InputRelevance = r.learned(in.model)
	return out
}
