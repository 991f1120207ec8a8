package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// fitted is a fitted ensemble or candidate.
type fitted struct {
	ensemble
	scale float64 // of the maps, relative to those in the scores
	rows  int     // number of training rows
	took  float64 // seconds
	later float64 // estimated seconds of [Options.LaterFits]
	spec  pipeline.Pipeline
	model estimator.Predictor
	cost  cost // measured with limits only
}

// scales lists the factors by which the maps of a final fit may be wider than those that were scored. Narrower ones
// take less time.
var scales = []float64{0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// scaled returns a point with a map wider by a factor, bounded by the number of rows.
func (r *run) scaled(p point, scale float64) point {
	if scale != 1 && r.table[p.recipe].sizeOf(p.size) > 0 {
		size := int(scale * float64(p.size))
		if p.size = r.sizeWithin(size); r.limited() {
			p.size = min(p.size, max(size, minLimitedSize))
		}
	}
	return p
}

// fit fits an ensemble to the first rows of the order (all if there are fewer), with wider maps, and stores it as the
// current model, unless only the one before meets the limits. It is canceled at a deadline, in seconds since the start;
// iterations stop earlier.
func (r *run) fit(ctx context.Context, e ensemble, scale float64, rows int, until float64) (*fitted, error) {
	phase := "refit"
	if len(e.members) > 1 {
		phase = "ensemble"
	}
	r.report(phase)
	sum, later := 0.0, 0.0
	for _, m := range e.members {
		own, more, err := r.workWithLater(ctx, r.scaled(m.point, scale))
		if err != nil {
			return nil, err
		}
		sum, later = sum+own, later+more
	}
	part, began := r.first(rows), time.Now()
	limited, cancel := r.Limited(ctx, r.deadline(until))
	defer cancel()
	if r.timed() && r.incumbent != nil {
		margin, spent := softMargin*r.options.Budget.Seconds(), r.spent()
		own := (until - margin - spent) * sum / (sum + later)
		limited = ctxerr.WithSoftDeadline(limited, r.began.Add(seconds(spent+own)))
	}
	whole := meta.NewEnsemble()
	whole.Weights, whole.Given = "given", e.weights
	var members []meta.FittedMember
	names := r.memberNames(e)
	for k, m := range e.members {
		spec, model, err := r.fitMember(limited, r.scaled(m.point, scale), part.Rows(), len(e.members) == 1)
		if err != nil {
			return nil, err
		}
		whole.Members = append(whole.Members, meta.Member{Name: names[k], Estimator: spec})
		members = append(members, meta.FittedMember{Name: names[k], Predictor: model})
	}
	out := fitted{ensemble: e, scale: scale, rows: part.Rows()}
	if out.model = members[0].Predictor; len(members) == 1 {
		out.spec = whole.Members[0].Estimator.(pipeline.Pipeline)
	} else {
		out.spec = pipeline.Sequence{}.Then(whole)
		together, err := whole.Combine(ctx, part, members, nil)
		if err != nil {
			return nil, err
		}
		if out.model, err = out.spec.WithFitted(together).Fit(ctx, part); err != nil {
			return nil, err
		}
	}
	out.took = time.Since(began).Seconds()
	out.later = out.took * later / sum
	if err := r.measureFitted(ctx, &out); err != nil {
		return nil, err
	}
	if r.incumbent == nil || !r.exceeds(&out) || r.exceeds(r.incumbent) {
		r.incumbent = &out
	}
	r.report("search")
	return &out, nil
}

// memberNames returns the names of the members of an ensemble: their recipes, numbered from the second one of each.
func (r *run) memberNames(e ensemble) (names []string) {
	times := map[int]int{}
	for _, m := range e.members {
		name := strings.ReplaceAll(r.table[m.recipe].String(), " ", "_")
		if times[m.recipe]++; times[m.recipe] > 1 {
			name = fmt.Sprintf("%s_%d", name, times[m.recipe])
		}
		names = append(names, name)
	}
	return names
}

// fitMember fits the pipeline of a point to the first rows of the order. Only one that is alone may use float32:
// the documents of ensembles have no precision of their members.
func (r *run) fitMember(ctx context.Context, p point, rows int, alone bool) (spec pipeline.Pipeline,
	model estimator.Predictor, err error) {
	kind := r.table[p.recipe]
	if spec, err = r.pipelineOf(ctx, p); err != nil {
		return spec, nil, err
	}
	fitting, err := r.fittingOf(ctx, p, false)
	const wide = 2048 // features, of which float32 halves the time and does not change the scores noticeably
	if alone && kind.size != "" && !kind.sparse() && p.size >= wide {
		spec.Precision, fitting.Precision = pipeline.Float32, pipeline.Float32
	}
	began := time.Now()
	if err == nil {
		model, err = fitting.Fit(ctx, r.first(rows))
	}
	took := time.Since(began).Seconds()
	if ctx.Err() != nil {
		err = searchloop.ErrEnded
	}
	if flops, wrong := r.fitWork(context.Background(), p, rows); wrong == nil && r.timed() {
		r.notePace(fitOf(kind), flops, took)
	}
	var reporter estimator.Reporter
	if err != nil || !kind.mapping.exact() || !estimator.As(model, &reporter) {
		return spec, model, err
	}
	const coarse = 0.03 // relative residual with which a model is of no use
	if report := reporter.Report(); report.Solver == "cg" && report.Gradient > coarse {
		return spec, nil, searchloop.ErrEnded
	} else if report.Solver == "cg" && !report.Converged { // another fit has to make as many steps
		path := kind.modelPath(p.target)
		spec, err = spec.With(param.Setting{Path: path + ".solver", Value: "cg"},
			param.Setting{Path: path + ".max_iter", Value: report.Iterations})
	}
	return spec, model, err
}

// keepModel fits the best candidate whose fit to all rows takes a small part of the time left, so
// that the search has a model if it is interrupted.
func (r *run) keepModel(ctx context.Context) error {
	s, err := r.bestAffordable(ctx, keepShare)
	if err != nil || s.Scores == nil || r.incumbent.rows == r.data.Rows() && r.rank(s, r.incumbent.members[0]) >= 0 {
		return err
	}
	_, err = r.fit(ctx, single(s), 1, r.data.Rows(), r.spent()+2*keepShare*r.secondsLeft())
	if errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil && !r.Stopped() {
		return nil // it exceeded its estimated time; the previous model stays
	}
	return err
}

// ranked returns the best candidate of each recipe, best first. One with probabilities that is equal to the leader up
// to chance comes first.
func (r *run) ranked() (out []scored) {
	for i := range r.table {
		if s, ok := r.best[i]; ok {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, r.rank)
	at := slices.IndexFunc(out, func(s scored) bool {
		return s.on == r.leader.on && r.table[s.recipe].probabilities && r.withinError(s, r.leader, tieMargin)
	})
	if at > 0 {
		first := out[at]
		out = slices.Insert(slices.Delete(out, at, at+1), 0, first)
	}
	return out
}

// bestAffordable returns the best candidate whose fit to all rows is expected to take at most a share of the time
// left, with a map as wide as in its scores or narrower. Its folds are nil if there is none.
func (r *run) bestAffordable(ctx context.Context, share float64) (scored, error) {
	for _, s := range r.ranked() {
		if scale, err := r.widest(ctx, single(s), 1, share); scale > 0 || err != nil {
			return s, err
		}
	}
	return scored{}, nil
}

// load returns the expected time of the fit of an ensemble to all rows, relative to a share of the time left, or the
// cost of its predictions, relative to the limits, whichever is larger.
func (r *run) load(ctx context.Context, e ensemble, scale, share float64) (float64, error) {
	out, err := r.costRatio(ctx, e, scale)
	if len(e.members) > 1 {
		out *= r.correction
	}
	if err != nil || !r.timed() {
		return out, err
	}
	sum := 0.0
	for _, m := range e.members {
		took, err := r.expectedFit(ctx, r.scaled(m.point, scale))
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return max(out, sum/max(share*r.secondsLeft(), math.SmallestNonzeroFloat64)), nil
}

// widest returns the largest scale, at most the given one, at which an ensemble can be fitted to all rows within a
// share of the time left and the limits; 0 if there is none. Without a time budget, maps are at most as wide as in the
// scores.
func (r *run) widest(ctx context.Context, e ensemble, most, share float64) (best float64, err error) {
	if !r.timed() {
		most = 1
	}
	before := -1.0
	for _, scale := range scales {
		if scale > most {
			break
		}
		load, err := r.load(ctx, e, scale, share)
		if load > 1 || err != nil {
			return best, err
		}
		if load > before || scale <= 1 { // the rows bound the size of maps
			best = scale
		}
		before = load
	}
	return best, nil
}

// narrow reports whether a candidate has a dense map with few features relative to the rows: it
// benefits more from width than from a finer grid or an ensemble.
func (r *run) narrow(s scored) bool {
	const rows = 16 // for each feature
	kind := r.table[s.recipe]
	return r.timed() && !kind.sparse() && kind.sizeOf(s.size) > 0 && r.data.Rows() >= rows*s.size
}

// finish fits an ensemble if it scores better, else the leader, to all rows, first with maps as in the scores, then
// with maps as wide as time allows. If a fit takes much longer than estimated, it is canceled and another one is
// tried.
func (r *run) finish(ctx context.Context) error {
	attempts := 3
	if r.limited() { // a model may exceed its estimated cost: the next best follows
		attempts += promoted
	}
	for range attempts {
		err := r.withinLimits(ctx)
		if err != nil || r.leader.Scores == nil {
			return err
		}
		chosen, err := r.choose(ctx)
		if err != nil || chosen.members == nil {
			return err
		}
		if in := r.incumbent; !r.exceeds(in) && in.rows == r.data.Rows() && slices.EqualFunc(in.members, chosen.members,
			func(a, b scored) bool { return a.point == b.point && a.on == b.on }) {
			break
		}
		scale, err := r.widest(ctx, chosen, 1, finalShare)
		var out *fitted
		if err == nil {
			out, err = r.fit(ctx, chosen, scale, r.data.Rows(), r.hardDeadline())
		}
		if errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil && !r.Stopped() {
			continue
		}
		if len(chosen.members) > 1 && err != nil && !errors.Is(err, searchloop.ErrEnded) && ctx.Err() == nil {
			r.warnings = append(r.warnings, fmt.Sprintf("an ensemble would do better over the folds, but cannot be fitted: %v",
				err))
			return nil
		}
		if err != nil {
			return err
		}
		if !r.exceeds(out) {
			break
		}
	}
	if r.exceeds(r.incumbent) {
		return nil
	}
	for range 3 {
		in := r.incumbent
		scale, err := r.widest(ctx, in.ensemble, math.Inf(1), finalShare)
		if err != nil {
			return err
		}
		if scale <= in.scale {
			break
		}
		if out, err := r.fit(ctx, in.ensemble, scale, r.data.Rows(), r.hardDeadline()); err != nil {
			return err
		} else if r.exceeds(out) {
			break
		}
	}
	return r.decide(ctx)
}

// decide chooses the threshold between two classes by the metric, if the metric depends on it and the
// time suffices for the fits to folds. Accuracy, for which the most probable class is best, needs none.
func (r *run) decide(ctx context.Context) error {
	const folds = 3
	in := *r.incumbent
	if r.classes != 2 || r.metric.Requires != metrics.RequiresPredictions || r.metric.Name == "accuracy" ||
		r.options.Exportable ||
		in.rows < r.data.Rows() || r.timed() && (folds+1)*in.took+in.later > finalShare*r.secondsLeft() {
		return nil
	}
	limited, cancel := r.Limited(ctx, r.deadline(r.hardDeadline()))
	defer cancel()
	threshold := meta.NewThreshold(in.spec.Estimator)
	threshold.Score, threshold.Folds = r.metric.Name, folds
	in.spec.Estimator = threshold
	var err error
	in.model, err = in.spec.Fit(limited, r.data)
	switch {
	case ctx.Err() != nil:
		return ctxerr.Check(ctx)
	case limited.Err() != nil:
		return searchloop.ErrEnded
	case err != nil: // such as a class without rows in a fold
		r.warnings = append(r.warnings, fmt.Sprintf("the decision threshold cannot be chosen by %s: %v", r.metric.Name, err))
		return nil
	}
	var fitted *meta.FittedThreshold
	if estimator.As(in.model, &fitted) {
		// its folds keep the order of the rows; of sorted rows they are unlike those of the search
		const times = 4
		c, ok := fitted.Cutoff()
		if ok && !r.withinError(scored{mean: c.AtUsual}, scored{mean: in.mean, spread: r.leader.spread}, times) {
			return nil
		}
	}
	if err := r.measureFitted(ctx, &in); err != nil {
		return err
	}
	if !r.exceeds(&in) {
		r.incumbent = &in
	}
	return nil
}
