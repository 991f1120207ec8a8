package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/paramkind"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// Ensemble combines the predictions of several models. The members are either Seeds copies of
// Estimator with different random seeds and equal weights; the first copy uses the seeds of
// Estimator, the others seeds derived from them. Or they are different Members, weighted by
// stacking: weights w ≥ 0 that minimize the squared error of Σ w·prediction on out-of-fold rows.
//
// A regression combines values. Several targets share the weights, with the error of each in units
// of its target's standard deviation. A classification combines probabilities, with weights that
// minimize the Brier score, if all members have them; else scores, each scaled to be nearest to the
// codes ±1. All classes share the weights.
//
// The weights sum to 1; useless members have weight 0 and are not evaluated. Sample weights are used.
// Weights "equal" and "given" (see Given) combine values, probabilities or scores without folds; given
// weights need not sum to 1.
//
// Out-of-fold predictions of the members use Folds folds, drawn by Seed, stratified by class, or by
// group if the rows have groups. Folds 0 means exact leave-one-out predictions if all members
// support them, as ridge does after steps that do not learn from rows, else 5 folds. The cost is
// Folds + 1 fits of every member, which share work as candidates and folds of a search do.
// (Wolpert, Neural Networks 1992; Breiman, Machine Learning 1996.)
// Use [NewEnsemble]: the zero value is invalid.
type Ensemble struct {
	Estimator estimator.Estimator
	Seeds     int
	Members   Members
	Weights   string
	Given     []float64
	Folds     int
	Seed      uint64
}

// NewEnsemble returns an ensemble of members weighted by stacking, with weights that sum to 1.
func NewEnsemble(members ...Member) Ensemble {
	members = slices.Clone(members)
	for i := range members {
		members[i].Estimator = specs.ByValue(members[i].Estimator)
	}
	return Ensemble{Members: members, Weights: "stacked"}
}

// NewSeedEnsemble returns the spec of copies of one model with different seeds.
func NewSeedEnsemble(inner estimator.Estimator, seeds int) Ensemble {
	s := NewEnsemble()
	s.Estimator, s.Seeds = specs.ByValue(inner), seeds
	return s
}

// Params declares how members are combined, and the parameters of the estimator or of the members.
func (s *Ensemble) Params(l *param.List) {
	l.Int(&s.Seeds, "seeds", "number of copies of the estimator with different random seeds; 0 with members",
		param.Between(0, 1000))
	l.Check("seeds", s.checkParts)
	l.Choice(&s.Weights, "weights", "weights of the members: stacked (minimal out-of-fold "+
		"error), equal, or given", "stacked",
		"equal", "given")
	l.Floats(&s.Given, "given", "weights of the members, in order, for weights: given", param.AtLeast(0))
	l.Check("given", s.checkGiven)
	declareFolds(l, &s.Folds, "number of folds for stacking; 0: exact leave-one-out if supported, else 5")
	l.Seed(&s.Seed, "seed", "seed of the folds in regression")
	l.OptionalChild("estimator", &s.Estimator)
	l.OptionalChild("members", &s.Members)
}

// checkParts returns an error unless the spec has either an estimator or members.
func (s *Ensemble) checkParts() error {
	switch {
	case s.Estimator == nil && len(s.Members) == 0:
		return param.FieldError{Problem: "the ensemble is empty", Hint: "set members, or estimator and seeds"}
	case s.Estimator != nil && len(s.Members) > 0:
		return param.FieldError{Problem: "both estimator and members are set", Hint: "a member may be an ensemble itself"}
	case s.Estimator == nil && s.Seeds > 0:
		return param.FieldError{Problem: "seeds requires estimator", Hint: "set estimator, or remove seeds"}
	case s.Estimator == nil:
		if err := s.Members.Check(); err != nil {
			return param.FieldError{Problem: err.Error()}
		}
		return nil
	case s.Seeds < 2:
		return errors.New("an integer ≥ 2 with estimator")
	case len(seedsOf(s.Estimator)) == 0:
		return param.FieldError{Problem: "estimator has no random seed", Hint: "use members to combine different models"}
	}
	return nil
}

// checkGiven returns an error if the given weights do not match the members.
func (s *Ensemble) checkGiven() error {
	count := max(len(s.Members), s.Seeds)
	switch {
	case s.Weights != "given" && len(s.Given) > 0:
		return param.FieldError{Problem: "given requires weights: given"}
	case s.Weights != "given":
		return nil
	case len(s.Given) != count:
		return fmt.Errorf("%d numbers, one for each member", count)
	case !slices.ContainsFunc(s.Given, func(w float64) bool { return w > 0 }):
		return errors.New("at least one weight > 0")
	}
	return nil
}

// fixed returns the weights of the members if they are not learned.
func (s Ensemble) fixed(members int) []float64 {
	if s.Weights == "given" {
		return s.Given
	}
	return slices.Repeat([]float64{1 / float64(members)}, members)
}

// seedsOf returns the seed parameters of a spec.
func seedsOf(spec estimator.Estimator) (out []param.Param) {
	for _, p := range param.All(spec) {
		if p.Kind == paramkind.Seed {
			out = append(out, p)
		}
	}
	return out
}

// memberList returns the members that are fitted, the copies with other seeds included.
func (s Ensemble) memberList() (Members, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if s.Estimator == nil {
		return s.Members, nil
	}
	out := make(Members, s.Seeds)
	for k := range out {
		var settings []param.Setting
		for _, p := range seedsOf(s.Estimator) {
			settings = append(settings, param.Setting{Path: p.Path, Value: deriveSeed(p.Value, k)})
		}
		spec, err := param.With(s.Estimator, settings...)
		if err != nil {
			return nil, err
		}
		out[k] = Member{Name: fmt.Sprintf("seed%d", k+1), Estimator: spec.(estimator.Estimator)}
	}
	return out, nil
}

// deriveSeed returns the k-th seed derived from a seed, an integer that float64 represents exactly;
// the 0-th is the seed itself. (The finalizer of splitmix64; Steele, Lea & Flood, OOPSLA 2014.)
func deriveSeed(seed any, k int) any {
	var own uint64
	switch v := seed.(type) {
	case uint64:
		own = v
	case int:
		own = uint64(v)
	}
	if k == 0 {
		return own
	}
	z := own + uint64(k)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) >> 11
}

// stacks reports whether weights are learned.
func (s Ensemble) stacks() bool {
	return s.Estimator == nil && s.Weights == "stacked" && len(s.Members) > 1
}

func (s Ensemble) named(err error) error { return wrapError("ensemble", err) }

// Cost returns the total cost of the members, including repeated fits.
func (s Ensemble) Cost(shape datasets.Shape) (sum datasets.Cost) {
	parts, err := s.memberList()
	if err != nil {
		return sum
	}
	if s.stacks() {
		return s.crossValidation(2).cost(parts.candidates(), shape)
	}
	for _, c := range parts.candidates() {
		if coster, ok := c.Estimator.(datasets.CostEstimator); ok {
			sum = sum.Add(coster.Cost(shape))
		}
	}
	return datasets.Cost{Flops: sum.Flops, Bytes: sum.Bytes}
}

func (s Ensemble) crossValidation(classes int) crossValidation {
	return crossValidation{folds: s.Folds, classes: classes, shuffle: true, seed: s.Seed}
}

// Tags returns the task of the first member, and leave-one-out of all of them unless their weights are learned.
func (s Ensemble) Tags() (out datasets.Tags) {
	parts, err := s.memberList()
	if err != nil || len(parts) == 0 {
		return out
	}
	if err = (batch.Job{LeaveOneOut: true, Candidates: parts.candidates()}).CheckTags(); s.stacks() {
		err = errStackingLeaveOneOut
	}
	return datasets.Tags{Task: datasets.TagsOf(parts[0].Estimator).Task, LeaveOneOut: err == nil, NoLeaveOneOut: s.named(err)}
}

// Fit fits every member to data, and finds their weights; the result is a [*FittedEnsemble].
func (s Ensemble) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	fitted, err := s.fit(ctx, data)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return nil, s.named(err)
	}
	return fitted, nil
}

func (s Ensemble) fit(ctx context.Context, data datasets.Set) (*FittedEnsemble, error) {
	parts, err := s.memberList()
	if err != nil {
		return nil, err
	}
	if err := data.Check(); err != nil {
		return nil, err
	}
	members := make([]FittedMember, len(parts))
	for k, m := range parts {
		fitted, err := guard.NotNil(m.Estimator.Fit(ctx, data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		members[k] = FittedMember{Name: m.Name, Weight: s.fixed(len(parts))[k], Predictor: fitted}
	}
	classes := classesOf(members[0].Predictor)
	if !s.stacks() {
		return newFittedEnsemble(data.Cols(), members, nil)
	}
	if classes != nil {
		data = namedClasses(data, classes)
	}
	found, _, err := s.crossValidation(len(classes)).predict(ctx,
		batch.Job{Data: data, Shape: data.Shape(), Candidates: parts.candidates()}, allRows(data), false,
		make([]int, len(parts)))
	if err != nil {
		return nil, err
	}
	predictions, err := predictionsOf(found, func(k int) string { return parts[k].Name })
	if err != nil {
		return nil, err
	}
	return s.Combine(ctx, data, members, predictions)
}

// predictionsOf returns predictions whose value is NaN for rows without one.
func predictionsOf(found []outOfFold, name func(k int) string) ([]estimator.Prediction, error) {
	out := make([]estimator.Prediction, len(found))
	for k, p := range found {
		if p.err != nil {
			return nil, fmt.Errorf("%s: %w", name(k), p.err)
		}
		if len(p.Values) == 0 {
			return nil, fmt.Errorf("%s: %w", name(k), errNoTestRows)
		}
		out[k] = p.Prediction
		for i, seen := range p.present {
			if !seen {
				out[k].Values[i] = math.NaN()
			}
		}
	}
	return out, nil
}

// errLabels is the error of wrappers of models with several labels per row.
var errLabels = errors.New("must have one target, got several labels per row")

// classesOf returns the classes of a classifier, none of another model.
func classesOf(fitted estimator.Predictor) []string { return estimator.OutputsOf(fitted).Classes }

// Combine returns an ensemble of members that were fitted elsewhere, for example by a search.
// predictions contains the out-of-fold predictions of each member for the rows of data; a row with
// a NaN value is ignored. Combine fits no member. Of the spec it uses only Weights and Given;
// it ignores the weights of the members.
func (s Ensemble) Combine(ctx context.Context, data datasets.Set, members []FittedMember,
	predictions []estimator.Prediction) (*FittedEnsemble, error) {
	switch {
	case len(members) == 0 || s.Weights == "stacked" && len(members) != len(predictions):
		return nil, s.named(fmt.Errorf("%d members and predictions of %d", len(members), len(predictions)))
	case s.Weights == "given" && len(s.Given) != len(members):
		return nil, s.named(fmt.Errorf("%d members and weights of %d", len(members), len(s.Given)))
	}
	members = slices.Clone(members)
	if s.Weights != "stacked" {
		for k, w := range s.fixed(len(members)) {
			members[k].Weight = w
		}
		fitted, err := newFittedEnsemble(data.Cols(), members, nil)
		return fitted, s.named(err)
	}
	weights, sizes, err := stacking.Fit(ctx, predictions, data, len(classesOf(members[0].Predictor)), stacking.SumToOne)
	if err != nil {
		return nil, s.named(err)
	}
	for k := range members {
		members[k].Weight = weights[k]
	}
	fitted, err := newFittedEnsemble(data.Cols(), members, sizes)
	return fitted, s.named(err)
}
