package estimatortest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/param"
)

// mean predicts the mean of the targets. Its batches have the named defect.
type mean struct{ problem string }

func (s mean) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) {
	sum := 0.0
	for _, y := range data.Y {
		sum += y
	}
	return constant(sum / float64(len(data.Y))), nil
}

type constant float64

func (c constant) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(c)
	}
	return out, nil
}

func (s mean) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	if b.Maps != nil || b.LeaveOneOut {
		return nil, b.Yield(0, 0, batch.Outcome{Prediction: estimator.Prediction{Values: make([]float64, b.Data.Rows())}})
	}
	seen := 0
	for i, c := range b.Candidates {
		for f, fold := range b.Folds {
			if !b.Includes(i, f) && s.problem != "unasked" || s.problem == "missing" && i == 1 && f == 2 {
				continue
			}
			seen++
			train := fold.Train
			switch {
			case s.problem == "leaks":
				train = append(append([]int{}, train...), fold.Test...)
			case s.problem == "remembers": // what was fitted before shows
				train = train[min(seen-1, 5):]
			}
			p, err := c.Estimator.(estimator.Estimator).Fit(ctx, b.Data.Select(train))
			if err != nil {
				return nil, err
			}
			var out batch.Outcome
			out.Prediction, out.Err = estimator.Predict(ctx, p, rowblock.Select(b.Data.X, fold.Test), estimator.Request{})
			for range map[bool]int{false: 1, true: 2}[s.problem == "twice"] {
				if err := b.Yield(i, f, out); err != nil && s.problem != "deaf" {
					return nil, err
				}
			}
		}
	}
	return nil, nil
}

func (s mean) PlanBatch(batch.Job) (int64, error) { return 0, nil }

// TestBatchCheck checks that the conformance check of batches detects each kind of error.
func TestBatchCheck(t *testing.T) {
	data := (&suite{}).sample(1, 60)
	for problem, want := range map[string]string{
		"":          "",
		"unasked":   "is not requested",
		"missing":   "no outcome of candidate 1 on fold 2",
		"twice":     "candidate 0 on fold 0 twice",
		"leaks":     "that of a fit",
		"remembers": "that of a fit",
		"deaf":      "after the error of Yield it yields",
	} {
		err := compareBatch(mean{problem}, data, 1e-9)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", problem, err, want)
		}
	}
	if err := compareBatch(shifty{}, data, 1); err == nil || !strings.Contains(err.Error(),
		"differs if others are not requested") {
		t.Errorf("outcomes that depend on others: %v", err)
	}
}

// shifty is mean with predictions that depend slightly on the included fits.
type shifty struct{ mean }

func (s shifty) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return s.mean.Fit(ctx, data)
}

func (s shifty) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	yield := b.Yield
	b.Yield = func(i, f int, out batch.Outcome) error {
		if b.Include == nil {
			out.Values[0] += 1e-3
		}
		return yield(i, f, out)
	}
	return s.mean.FitBatch(ctx, b)
}

// TestOtherBatchChecks checks that the check of leave-one-out detects predictions of zeros, and that
// of related maps an error in one of many candidates.
func TestOtherBatchChecks(t *testing.T) {
	data := (&suite{}).sample(1, 24)
	if err := compareLeaveOneOut(mean{}, data, 1e-9); err == nil ||
		!strings.Contains(err.Error(), "without row 0: prediction 0 is 0") {
		t.Errorf("zeros: %v", err)
	}
	b := batch.Job{Data: data, Maps: twoMaps(5), Candidates: []batch.Candidate{{Estimator: mean{}, Width: 5, Scale: 1}}}
	if err := compareMappedBatch(mean{}, b, 1e-9); err == nil || !strings.Contains(err.Error(),
		"no outcome of candidate 0 on fold 1") {
		t.Errorf("one of many: %v", err)
	}
	b.FitOne = nil
	if err := compareMappedBatch(lone{}, b, 1e-9); err != nil {
		t.Errorf("all by Lone: %v", err)
	}
}

// lone leaves every candidate to Lone.
type lone struct{ mean }

func (s lone) FitBatch(ctx context.Context, b batch.Job) ([]string, error) {
	for i := range b.Candidates {
		for f := range b.Folds {
			if err := b.Yield(i, f, b.FitOne(ctx, i, f)); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// forgetful predicts Shift; candidates that Shared merges get the outcome of the first.
type forgetful struct {
	Shift  float64
	Forget bool
}

func (s *forgetful) Params(l *param.List) { l.Float(&s.Shift, "shift", "prediction", param.Any()) }

func (s forgetful) Fit(context.Context, datasets.Set) (estimator.Predictor, error) {
	return constant(s.Shift), nil
}

func (s forgetful) Shared() any {
	if s.Forget {
		s.Shift = 0
	}
	return s
}

func (s forgetful) FitBatch(ctx context.Context, j batch.Job) ([]string, error) {
	first := j.Candidates
	j.Candidates = slices.Clone(first)
	for i, at := range j.SharedKeys() {
		j.Candidates[i] = first[at]
	}
	return nil, estimator.FitSeparately(ctx, j)
}

func (s forgetful) PlanBatch(j batch.Job) (int64, error) {
	if j.HasMaps() {
		return 0, errors.New("no maps")
	}
	return 0, nil
}

// TestForgottenParameter checks that the conformance check of parameters detects one that Shared leaves
// out by mistake.
func TestForgottenParameter(t *testing.T) {
	for _, forget := range []bool{false, true} {
		spec := forgetful{Shift: 3, Forget: forget}
		err := newSuite(spec, Options{}).compareParameters(spec)
		if (err != nil) != forget || forget && !strings.HasPrefix(err.Error(), "shift: ") {
			t.Errorf("forgotten %v: %v", forget, err)
		}
	}
}
