package estimatortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/param"
)

// batchFitter is an estimator that fits batches.
type batchFitter interface {
	estimator.Estimator
	batch.Fitter
}

// batch checks a BatchFitter: one outcome for each included candidate and fold and for no other;
// the predictions of separate fits; the same bits for any included subset; and an end at the first
// error of Yield.
func (s *suite) batch(t testing.TB) {
	fitter, ok := s.spec.(batchFitter)
	if !ok {
		t.Skip("fits no batches")
	}
	if err := compareBatch(fitter, s.data, s.Tolerance); err != nil {
		t.Error(err)
	}
}

// compareBatch compares the batches of a fitter with separate fits.
func compareBatch(fitter batchFitter, data datasets.Set, tolerance float64) error {
	folds, err := datasets.KFold{Folds: 3, Shuffle: true, Seed: 1}.Split(data)
	if err != nil {
		return err
	}
	// A fold may leave rows out, and folds may overlap.
	folds = append(folds, datasets.Fold{Train: folds[0].Test, Test: folds[1].Test})
	specs := batch.Candidates(fitter, fitter)
	if _, err := fitter.PlanBatch(batch.Job{Shape: data.Shape(), Folds: folds, Candidates: specs}); err != nil {
		return fmt.Errorf("PlanBatch of rows as they are: %w", err)
	}
	whole, err := compareJob(fitter, batch.Job{Data: data, Shape: data.Shape(), Folds: folds, Candidates: specs},
		tolerance)
	if err != nil {
		return err
	}
	some := batch.Job{Data: data, Shape: data.Shape(), Folds: folds, Candidates: specs,
		Include: func(candidate, fold int) bool { return (candidate+fold)%2 == 0 }}
	part, err := collectOutcomes(fitter, some)
	if err != nil {
		return fmt.Errorf("some of it: %w", err)
	}
	for at, out := range part {
		if !slices.Equal(out.Values, whole[at].Values) || !equalMatrices(out.Scores, whole[at].Scores) ||
			!equalMatrices(out.Targets, whole[at].Targets) {
			return fmt.Errorf("candidate %d on fold %d differs if others are not requested", at[0], at[1])
		}
	}
	return checkYieldError(fitter, some)
}

// parameters compares batches of the spec and one with another value of a parameter with separate
// fits, on rows and on related maps: a parameter that Shared leaves out by mistake would be ignored.
func (s *suite) parameters(t testing.TB) {
	fitter, ok := s.spec.(batchFitter)
	if !ok {
		t.Skip("fits no batches")
	}
	if !slices.ContainsFunc(param.All(s.spec), func(p param.Param) bool { return s.withOther(p) != nil }) {
		t.Skip("has no parameter with another value")
	}
	if err := s.compareParameters(fitter); err != nil {
		t.Error(err)
	}
}

func (s *suite) compareParameters(fitter batchFitter) (failed error) {
	folds, err := datasets.KFold{Folds: 2, Shuffle: true, Seed: 3}.Split(s.data)
	if err != nil {
		return err
	}
	for _, p := range param.All(s.spec) {
		other := s.withOther(p)
		if other == nil {
			continue
		}
		candidates := batch.Candidates(s.spec, other)
		j := batch.Job{Data: s.data, Shape: s.data.Shape(), Folds: folds, Candidates: candidates}
		if _, err := compareJob(fitter, j, s.Tolerance); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.Path, err))
		}
		j.Maps, j.Candidates = twoMaps(s.data.Cols()), slices.Clone(candidates)
		for i := range j.Candidates {
			j.Candidates[i].Width, j.Candidates[i].Scale = s.data.Cols(), 1
		}
		if j.CheckTags() != nil {
			continue
		}
		if _, err := compareJob(fitter, j, s.Tolerance); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s on maps: %w", p.Path, err))
		}
	}
	return failed
}

// withOther returns the spec with another value of a parameter, nil if there is none that it accepts.
func (s *suite) withOther(p param.Param) estimator.Estimator {
	values := []any{"balanced", map[string]any{"class 1": 3.0}}
	for _, option := range p.Options {
		values = append(values, option)
	}
	switch v := p.Value.(type) {
	case bool:
		values = []any{!v}
	case int:
		values = []any{v + 2, v - 1, v / 2}
	case float64:
		values = []any{v / 3, 2*v + 0.3, v + 1}
	}
	for _, v := range values {
		if reflect.DeepEqual(v, p.Value) {
			continue
		}
		if other, err := param.With(s.spec, param.Setting{Path: p.Path, Value: v}); err == nil && param.Check(other) == nil {
			return other.(estimator.Estimator)
		}
	}
	return nil
}

// compareJob compares the outcomes of a job on rows, or on the first of two maps, which is the rows,
// with separate fits.
func compareJob(fitter batchFitter, j batch.Job, tolerance float64) (got map[[2]int]batch.Outcome, err error) {
	if j.Maps != nil {
		plain := j
		j.FitOne = func(ctx context.Context, candidate, fold int) batch.Outcome {
			return estimator.FitOne(ctx, batch.Job{Data: plain.Data, Folds: plain.Folds, Candidates: plain.Candidates}, candidate,
				fold)
		}
	}
	if got, err = collectOutcomes(fitter, j); err != nil {
		return nil, err
	}
	for at, out := range got {
		if err := compareFit(j.Candidates[at[0]].Estimator.(estimator.Estimator), j.Data, j.Folds[at[1]], out,
			tolerance); err != nil {
			return nil, fmt.Errorf("candidate %d on fold %d: %w", at[0], at[1], err)
		}
	}
	return got, nil
}

// mappedBatch compares batches on related maps with separate fits on the leading columns of two
// maps.
func (s *suite) mappedBatch(t testing.TB) {
	fitter, ok := s.spec.(batchFitter)
	if !ok {
		t.Skip("fits no batches")
	}
	b := batch.Job{Data: s.data, Shape: s.data.Shape(), Maps: twoMaps(s.data.Cols())}
	for _, width := range []int{3, 5} {
		for which, scale := range []float64{1, 0.5} {
			b.Candidates = append(b.Candidates, batch.Candidate{Estimator: s.spec, Map: which, Width: width, Scale: scale})
		}
	}
	if err := b.CheckTags(); err != nil {
		t.Skip("takes no related maps: ", err)
	}
	if err := compareMappedBatch(fitter, b, s.Tolerance); err != nil {
		t.Error(err)
	}
}

// compareMappedBatch compares a batch on related maps with separate fits.
func compareMappedBatch(fitter batchFitter, b batch.Job, tolerance float64) error {
	var err error
	if b.Folds, err = (datasets.KFold{Folds: 3, Shuffle: true, Seed: 2}).Split(b.Data); err != nil {
		return err
	}
	mapped := func(c batch.Candidate) datasets.Set {
		out := b.Data
		x := mat.NewDense(b.Data.Rows(), c.Width, nil)
		for i := range b.Data.Rows() {
			for j := range c.Width {
				x.Set(i, j, c.Scale*float64(1+c.Map)*b.Data.X.At(i, j))
			}
		}
		out.X, out.Schema.Columns = x, nil
		return out
	}
	b.FitOne = func(ctx context.Context, candidate, fold int) (out batch.Outcome) {
		data := mapped(b.Candidates[candidate])
		p, err := fitter.Fit(ctx, data.Select(b.Folds[fold].Train))
		if out.Err = err; err == nil {
			out.Prediction, out.Err = estimator.Predict(ctx, p, rowblock.Select(data.X, b.Folds[fold].Test), estimator.Request{})
		}
		return out
	}
	got, err := collectOutcomes(fitter, b)
	if err != nil {
		return err
	}
	for at, out := range got {
		if err := compareFit(fitter, mapped(b.Candidates[at[0]]), b.Folds[at[1]], out, tolerance); err != nil {
			return fmt.Errorf("candidate %d on fold %d: %w", at[0], at[1], err)
		}
	}
	return checkYieldError(fitter, b)
}

// twoMaps is two maps of the given width: the rows, and twice the rows.
type twoMaps int

func (d twoMaps) Widths() []int { return []int{int(d), int(d)} }

func (d twoMaps) Each(_ context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	for _, w := range which {
		Z := mat.DenseCopyOf(X)
		Z.Scale(float64(1+w), Z)
		if err := yield(w, Z); err != nil {
			return err
		}
	}
	return nil
}

// leaveOneOut compares leave-one-out predictions with one fit per left-out row.
func (s *suite) leaveOneOut(t testing.TB) {
	fitter, ok := s.spec.(batchFitter)
	if !ok {
		t.Skip("fits no batches")
	}
	data := s.sample(3, 24)
	if err := (batch.Job{LeaveOneOut: true, Candidates: batch.Candidates(s.spec)}).CheckTags(); err != nil {
		t.Skip("leaves none out: ", err)
	}
	if err := compareLeaveOneOut(fitter, data, s.Tolerance); err != nil {
		t.Error(err)
	}
}

// compareLeaveOneOut returns an error if leave-one-out predictions differ from those of separate
// fits.
func compareLeaveOneOut(fitter batchFitter, data datasets.Set, tolerance float64) error {
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	got, err := collectOutcomes(fitter, batch.Job{Data: data, Shape: data.Shape(), LeaveOneOut: true,
		Candidates: batch.Candidates(fitter),
		Folds:      []datasets.Fold{{Train: all, Test: all}}})
	if err != nil {
		return err
	}
	whole := got[[2]int{}]
	if whole.Err != nil {
		return whole.Err
	}
	for i := range all {
		fold := datasets.Fold{Train: slices.Delete(slices.Clone(all), i, i+1), Test: []int{i}}
		out := batch.Outcome{Prediction: estimator.Prediction{Values: whole.Values[i : i+1]}}
		if whole.Scores != nil {
			_, k := whole.Scores.Dims()
			out.Scores = mat.NewDense(1, k, slices.Clone(whole.Scores.RawRowView(i)))
		}
		if err := compareFit(fitter, data, fold, out, tolerance); err != nil {
			return fmt.Errorf("without row %d: %w", i, err)
		}
	}
	return nil
}

// collectOutcomes fits a batch and returns the outcomes it yields, or an error if they are
// inconsistent.
func collectOutcomes(fitter batchFitter, b batch.Job) (map[[2]int]batch.Outcome, error) {
	got := map[[2]int]batch.Outcome{}
	b.Yield = func(candidate, fold int, out batch.Outcome) error {
		at := [2]int{candidate, fold}
		if candidate < 0 || candidate >= len(b.Candidates) || fold < 0 || fold >= len(b.Folds) {
			return fmt.Errorf("candidate %d on fold %d, of %d and %d", candidate, fold, len(b.Candidates), len(b.Folds))
		}
		if _, twice := got[at]; twice {
			return fmt.Errorf("candidate %d on fold %d twice", candidate, fold)
		}
		if !b.Includes(candidate, fold) {
			return fmt.Errorf("candidate %d on fold %d is not requested", candidate, fold)
		}
		got[at] = out
		return nil
	}
	if _, err := fitter.FitBatch(context.Background(), b); err != nil {
		return nil, err
	}
	for i := range b.Candidates {
		for f := range b.Folds {
			if _, ok := got[[2]int{i, f}]; !ok && b.Includes(i, f) {
				return nil, fmt.Errorf("no outcome of candidate %d on fold %d", i, f)
			}
		}
	}
	return got, nil
}

// compareFit returns how an outcome differs from a separate fit to the fold.
func compareFit(spec estimator.Estimator, data datasets.Set, fold datasets.Fold, out batch.Outcome,
	tolerance float64) error {
	lone, failed := spec.Fit(context.Background(), data.Select(fold.Train))
	if failed != nil || out.Err != nil {
		if failed != nil && out.Err != nil {
			return nil
		}
		return fmt.Errorf("the error is %v, that of a fit %v", out.Err, failed)
	}
	want, err := estimator.Predict(context.Background(), lone, rowblock.Select(data.X, fold.Test), estimator.Request{})
	if err != nil {
		return err
	}
	got, expected := out.Values, want.Values
	if want.Scores != nil {
		if out.Scores == nil {
			return errors.New("there are no scores")
		}
		got, expected = out.Scores.RawMatrix().Data, want.Scores.RawMatrix().Data
	}
	if len(got) != len(expected) {
		return fmt.Errorf("%d predictions, a fit makes %d", len(got), len(expected))
	}
	largest := 0.0
	for _, v := range expected {
		largest = max(largest, v, -v)
	}
	for i, v := range got {
		if off := max(v-expected[i], expected[i]-v); !(off <= tolerance*max(largest, 1)) {
			return fmt.Errorf("prediction %d is %v, that of a fit %v", i, v, expected[i])
		}
	}
	return nil
}

func equalMatrices(a, b *mat.Dense) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.RawMatrix().Data, b.RawMatrix().Data)
}

// checkYieldError reports a batch that continues after an error of Yield, or that hides it.
func checkYieldError(fitter batchFitter, b batch.Job) error {
	enough, calls := errors.New("enough"), 0
	b.Yield = func(int, int, batch.Outcome) error { calls++; return enough }
	if _, err := fitter.FitBatch(context.Background(), b); !errors.Is(err, enough) || calls != 1 {
		return fmt.Errorf("after the error of Yield it yields %d more and returns %v", calls-1, err)
	}
	return nil
}
