package estimatortest

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/snapshot"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// oneRow checks that predicting a single row is bit-identical to predicting it in a batch.
func (s *suite) oneRow(t testing.TB) {
	p := s.fit(t, s.data)
	for _, X := range []mat.Matrix{s.probe, matrices.CSRFromDense(s.probe)} {
		batch, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Values {
			one, err := estimator.Predict(context.Background(), p, rowblock.Slice(X, i, i+1), estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if one.Values[0] != batch.Values[i] || batch.Anomaly != nil && one.Anomaly[0] != batch.Anomaly[i] {
				t.Fatalf("row %d: %v alone, %v in the batch", i, one.Values[0], batch.Values[i])
			}
			for _, pair := range [][2]*mat.Dense{{one.Scores, batch.Scores}, {one.Probabilities, batch.Probabilities},
				{one.Targets, batch.Targets}} {
				if pair[0] != nil && !slices.Equal(pair[0].RawRowView(0), pair[1].RawRowView(i)) {
					t.Fatalf("row %d: %v alone, %v in the batch", i, pair[0].RawRowView(0), pair[1].RawRowView(i))
				}
			}
		}
	}
}

// noRows checks that predicting an empty batch succeeds.
func (s *suite) noRows(t testing.TB) {
	p := s.fit(t, s.data)
	values, err := p.Predict(context.Background(), &mat.Dense{})
	if err != nil || len(values) != 0 {
		t.Fatalf("%v, %v", values, err)
	}
	if full, ok := p.(estimator.FullPredictor); ok {
		if out, err := full.PredictFull(context.Background(), &mat.Dense{}, estimator.Request{}); err != nil ||
			len(out.Values) != 0 {
			t.Fatalf("%v, %v", out, err)
		}
	}
}

// outputs checks that a model has exactly the outputs that it declares, and that an output does not
// depend on which others are requested.
func (s *suite) outputs(t testing.TB) {
	p := s.fit(t, s.data)
	has := estimator.OutputsOf(p)
	if has.Has.Has(estimator.OutputScores) != (len(has.Classes) >= 2) {
		t.Errorf("%d classes, and scores: %v", len(has.Classes), has.Has.Has(estimator.OutputScores))
	}
	all, err := estimator.Predict(context.Background(), p, s.probe, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	found := estimator.Output(0)
	for output := estimator.OutputValues; output <= estimator.OutputAnomalyScores && output != 0; output <<= 1 {
		one, err := estimator.Predict(context.Background(), p, s.probe, estimator.Request{Outputs: output})
		if err != nil {
			t.Fatal(err)
		}
		vectors, matrices := one.Parts()
		allVectors, allMatrices := all.Parts()
		for k, v := range vectors {
			if *v == nil {
				continue
			}
			if found |= output; !slices.Equal(*v, *allVectors[k]) {
				t.Errorf("output %b alone is %v, and %v with the others", output, *v, *allVectors[k])
			}
		}
		for k, m := range matrices {
			if *m == nil {
				continue
			}
			if found |= output; *allMatrices[k] == nil || !mat.Equal(*m, *allMatrices[k]) {
				t.Errorf("output %b alone differs from that with the others", output)
			}
		}
	}
	if found != has.Has {
		t.Errorf("the model predicts the outputs %b, and lists %b", found, has.Has)
	}
}

// nested checks that the interval, or set, of a level contains that of a lower level.
func (s *suite) nested(t testing.TB) {
	p := s.fit(t, s.data)
	has := estimator.OutputsOf(p).Has
	hasIntervals, hasSets := has.Has(estimator.OutputIntervals), has.Has(estimator.OutputSets)
	if !hasIntervals && !hasSets {
		t.Skip("no intervals or sets")
	}
	n, _ := s.probe.Dims()
	var before [][2]float64
	var within *mat.Dense
	for _, level := range []float64{0.3, 0.5, 0.8} {
		all, err := estimator.Predict(context.Background(), p, s.probe,
			estimator.Request{Outputs: estimator.OutputIntervals | estimator.OutputSets, Level: level})
		if hasIntervals {
			lower, upper := all.Lower, all.Upper
			if err != nil || len(lower) != n || len(upper) != n {
				t.Fatalf("level %v: %d and %d ends of %d rows, %v", level, len(lower), len(upper), n, err)
			}
			for i := range lower {
				if !(lower[i] <= upper[i]) || before != nil && (lower[i] > before[i][0] || upper[i] < before[i][1]) {
					t.Fatalf("level %v: row %d has [%v, %v], and at a lower level %v", level, i, lower[i], upper[i], before)
				}
			}
			before = nil
			for i := range lower {
				before = append(before, [2]float64{lower[i], upper[i]})
			}
		}
		if hasSets {
			set := all.Sets
			if err != nil {
				t.Fatal(err)
			}
			if rows, classes := set.Dims(); rows != n || classes != s.Classes {
				t.Fatalf("level %v: sets of %d rows and %d classes, want %d and %d", level, rows, classes, n, s.Classes)
			}
			for i := range n {
				for k, v := range set.RawRowView(i) {
					if v != 0 && v != 1 || within != nil && within.At(i, k) > v {
						t.Fatalf("level %v: row %d has %v for class %d, and more at a lower level", level, i, v, k)
					}
				}
			}
			within = set
		}
	}
}

// consistent checks that the predicted class has the largest score and, unless the model uses
// another decision rule, the largest probability, and that the probabilities of a row sum to 1.
func (s *suite) consistent(t testing.TB) {
	p := s.fit(t, s.data)
	out, err := estimator.Predict(context.Background(), p, s.probe, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := s.probe.Dims()
	if len(out.Values) != n {
		t.Fatalf("%d values for %d rows", len(out.Values), n)
	}
	if out.Targets != nil && !slices.Equal(mat.Col(nil, 0, out.Targets), out.Values) {
		t.Error("Predict is not the first target")
	}
	if s.Classes == 0 {
		return
	}
	if out.Scores == nil {
		t.Fatal("the fit of a classification has no scores")
	}
	if names := estimator.OutputsOf(p).Classes; !slices.Equal(names, s.data.Schema.Classes()) {
		t.Fatalf("classes %q, want %q", names, s.data.Schema.Classes())
	}
	for i, v := range out.Values {
		scores := out.Scores.RawRowView(i)
		if best := top(scores); float64(best) != v {
			t.Fatalf("row %d: class %v predicted, scores %v", i, v, scores)
		}
		if out.Probabilities == nil {
			continue
		}
		probabilities, sum := out.Probabilities.RawRowView(i), 0.0
		for _, q := range probabilities {
			sum += q
		}
		if len(probabilities) != s.Classes || math.Abs(sum-1) > 1e-12 || !s.Decides && float64(top(probabilities)) != v {
			t.Fatalf("row %d: class %v predicted, probabilities %v", i, v, probabilities)
		}
	}
}

// top returns the class of a row of scores, or of a single score that is positive for class 1.
func top(scores []float64) int {
	if len(scores) == 1 {
		if scores[0] > 0 {
			return 1
		}
		return 0
	}
	return slices.Index(scores, slices.Max(scores))
}

// concurrent checks that fitted models and specs can be used concurrently. Run with -race to detect
// data races.
func (s *suite) concurrent(t testing.TB) {
	p := s.fit(t, s.data)
	want, err := p.Predict(context.Background(), s.probe)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	failures := make(chan error, 8)
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			q := p
			if g%4 == 0 {
				if q, err := s.spec.Fit(context.Background(), s.data); err != nil || q == nil {
					failures <- err
					return
				}
			}
			got, err := q.Predict(context.Background(), s.probe)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("goroutine %d predicts something else", g)
			}
			failures <- err
		}()
	}
	wait.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Error(err)
		}
	}
}

// canceled checks that a call canceled at any time returns the error of its context.
func (s *suite) canceled(t testing.TB) {
	for what, err := range cancellationErrors(s.spec, s.data, s.probe) {
		t.Errorf("%s: %v", what, err)
	}
	if e, ok := s.spec.(estimator.BlockEstimator); ok {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if _, err := e.FitSource(ctx, cancelingStream{stream{s.data}, cancel}); !errors.Is(err, context.Canceled) {
			t.Errorf("FitSource: %v", err)
		}
	}
}

// cancellationErrors returns the violations of canceled by a spec or its fit, keyed by call.
func cancellationErrors(spec estimator.Estimator, data datasets.Set, probe mat.Matrix) map[string]error {
	out := map[string]error{}
	check := func(what string, run func(ctx context.Context) (result bool, err error)) {
		if err := canceltest.Check(canceltest.WithoutCause(run)); err != nil {
			out[what] = err
		}
	}
	check("Fit", func(ctx context.Context) (bool, error) {
		p, err := spec.Fit(ctx, data)
		return p != nil, err
	})
	if e, ok := spec.(estimator.BlockEstimator); ok {
		check("FitSource", func(ctx context.Context) (bool, error) {
			p, err := e.FitSource(ctx, stream{data})
			return p != nil, err
		})
	}
	p, err := spec.Fit(context.Background(), data)
	if err != nil {
		return out
	}
	check("Predict", func(ctx context.Context) (bool, error) {
		values, err := p.Predict(ctx, probe)
		return values != nil, err
	})
	check("estimator.Predict", func(ctx context.Context) (bool, error) {
		all, err := estimator.Predict(ctx, p, probe, estimator.Request{})
		return all.Values != nil || all.Scores != nil || all.Targets != nil || all.Probabilities != nil || all.Anomaly != nil,
			err
	})
	return out
}

// cancelingStream is a stream that cancels the context of its reader after some rows.
type cancelingStream struct {
	stream
	cancel context.CancelFunc
}

func (l cancelingStream) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	seen := 0
	return l.stream.Blocks(ctx, func(block datasets.Set) error {
		if seen += block.Rows(); seen > 20 {
			l.cancel()
		}
		return yield(block)
	})
}

// record returns the state of p, or skips the test where p has none.
func record(t testing.TB, p estimator.Predictor) *archive.Archive {
	t.Helper()
	v, ok := p.(model.Stateful)
	if !ok {
		t.Skip("the fit is not model.Stateful")
	}
	a, err := model.Record(v)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// zero returns a zero value of p's type to restore a state into.
func zero(p estimator.Predictor) estimator.Predictor {
	return reflect.New(reflect.TypeOf(p).Elem()).Interface().(estimator.Predictor)
}

// clone returns a deep copy of the archive.
func clone(t testing.TB, a *archive.Archive) *archive.Archive {
	t.Helper()
	out := &archive.Archive{Scalars: maps.Clone(a.Scalars)}
	var file bytes.Buffer
	if err := gob.NewEncoder(&file).Encode(a.Arrays); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&file).Decode(&out.Arrays); err != nil {
		t.Fatal(err)
	}
	return out
}

// unchanged checks that saving a fitted model or computing its report does not modify it.
func (s *suite) unchanged(t testing.TB) {
	p := s.fit(t, s.data)
	before := snapshot.Of(p)
	record(t, p)
	var r estimator.Reporter
	if estimator.As(p, &r) {
		r.Report()
	}
	if snapshot.Of(p) != before {
		t.Error("writing the state or the report changes the fitted model")
	}
}

// saved checks that a model file contains everything that prediction needs.
func (s *suite) saved(t testing.TB) {
	p := s.fit(t, s.data)
	q := zero(p)
	if err := model.Restore(clone(t, record(t, p)), q.(model.Stateful)); err != nil {
		t.Fatal(err)
	}
	agree(t, "restored", predictions(t, q, s.probe), predictions(t, p, s.probe), 0)
	var r, back estimator.Reporter
	if estimator.As(p, &r) && estimator.As(q, &back) {
		got, want := back.Report(), r.Report()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("report %+v, want %+v", got, want)
		}
	}
}

// damaged checks that a damaged model file does not make prediction panic.
func (s *suite) damaged(t testing.TB) {
	skipIfShort(t)
	p := s.fit(t, s.data)
	whole := record(t, p)
	try := func(what string, harm func(a *archive.Archive)) {
		a := clone(t, whole)
		harm(a)
		q := zero(p)
		if err := model.Restore(a, q.(model.Stateful)); err != nil {
			return
		}
		_, err := estimator.Predict(context.Background(), q, s.probe, estimator.Request{})
		if panicked := (*datasets.PanicError)(nil); errors.As(err, &panicked) {
			t.Errorf("%s was accepted, then prediction panicked: %v", what, panicked)
		}
	}
	for name := range whole.Scalars {
		try(name+" missing", func(a *archive.Archive) { delete(a.Scalars, name) })
		for _, v := range []any{true, "other", -1.0, 1e300, []string{}, []string{"one"}, nil} {
			try(fmt.Sprintf("%s = %v", name, v), func(a *archive.Archive) { a.Scalars[name] = v })
		}
	}
	for name, array := range whole.Arrays {
		try(name+" missing", func(a *archive.Archive) { delete(a.Arrays, name) })
		try(name+" empty", func(a *archive.Archive) { a.Arrays[name] = archive.Array{Shape: make([]int, len(array.Shape))} })
		try(name+" flat", func(a *archive.Archive) { a.Arrays[name] = archive.Array{Shape: []int{1}, Floats: []float64{1}} })
		try(name+" square", func(a *archive.Archive) {
			a.Arrays[name] = archive.Array{Shape: []int{2, 2}, Floats: []float64{1, 2, 3, 4}}
		})
		try(name+" of integers", func(a *archive.Archive) {
			a.Arrays[name] = archive.Array{Shape: array.Shape, Ints: make([]int64, size(array.Shape))}
		})
		try(name+" not numbers", func(a *archive.Archive) { spoil(a.Arrays[name].Floats) })
		try(name+" without its last row", func(a *archive.Archive) { a.Arrays[name] = shortened(array) })
	}
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// shortened returns an array of floats without its last row.
func shortened(a archive.Array) archive.Array {
	if len(a.Floats) == 0 || a.Shape[0] == 0 {
		return a
	}
	shape := slices.Clone(a.Shape)
	shape[0]--
	return archive.Array{Shape: shape, Floats: a.Floats[:size(shape)]}
}

// badInputs checks that invalid inputs of a prediction return an error that locates them.
func (s *suite) badInputs(t testing.TB) {
	p := s.fit(t, s.data)
	with := func(v float64) *mat.Dense {
		m := mat.DenseCopyOf(s.probe)
		m.Set(7, 1, v)
		return m
	}
	cases := []struct {
		name string
		X    mat.Matrix
		want []string
	}{
		{"a missing value", with(math.NaN()), []string{"row 7", "column", "missing"}},
		{"an infinite value", with(math.Inf(-1)), []string{"row 7", "column", "infinite"}},
		{"a missing value of a sparse row", matrices.CSRFromDense(with(math.NaN())), []string{"row 7", "missing"}},
		{"too few columns", mat.NewDense(3, 4, nil), []string{"5 columns", "4"}},
		{"too many columns", mat.NewDense(1, 6, nil), []string{"5 columns", "6"}},
	}
	for _, c := range cases {
		out, err := p.Predict(context.Background(), c.X)
		mentions(t, c.name, err, c.want...)
		if err == nil {
			t.Logf("predicted %v", out)
		}
	}
}

// mentions fails if err is nil or does not contain every word.
func mentions(t testing.TB, name string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not contain %q", name, err, w)
		}
	}
}
