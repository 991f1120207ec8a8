package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

var (
	long = flag.Duration("metamorphic", 0, "how long to draw cases; 0 for a fixed number of them")
	only = flag.Uint64("seed", 0, "draw this case alone")
)

// way is an equivalent computation of the predictions.
type way struct {
	name string
	// do returns the predictions for the test rows, nil if not applicable.
	do func(*testing.T, *world) []float64
	// exact means equal bits; otherwise results agree to the rounding of the case.
	exact bool
}

var ways = []way{
	{"again", again, true},
	{"on one core", onCores(1), true},
	{"on seven cores", onCores(7), true},
	{"from a model file", fromFile, true},
	{"row by row", rowByRow, false},
	{"as a stream", streamed, false},
	{"as a stream of other blocks", streamedInPieces, false},
	{"in merged parts", inParts, false},
	{"without memory for features", remade, false},
	{"with rows in another order", shuffled, false},
	{"with columns in another order", columnsTurned, false},
	{"with sparse rows", asSparse, false},
	{"as a candidate of a search", searched, false},
}

// found lists cases that have revealed errors: diverged hinge paths, components of either sign, a
// step to a bound.
var found = []uint64{37, 72, 143, 312}

// TestEveryWayAgrees checks that the predictions of a pipeline do not depend on how they are
// computed.
func TestEveryWayAgrees(t *testing.T) {
	if *only != 0 {
		hold(t, *only)
		return
	}
	for _, seed := range found {
		hold(t, seed)
	}
	cases, began := 60, time.Now()
	if !exhaustive.Tests() {
		cases = 15
	}
	for seed := uint64(1); seed <= uint64(cases) || time.Since(began) < *long; seed++ {
		if hold(t, seed); t.Failed() {
			return
		}
	}
}

// hold compares all computations of one case.
func hold(t *testing.T, seed uint64) {
	w := draw(t, seed)
	base := fit(t, w.pipe, w.train)
	if base == nil {
		t.Fatal(w)
	}
	want := answers(t, base, w.test.X)
	if r := estimator.Reporter(nil); estimator.As(base, &r) {
		w.settled = r.Report().Converged && !w.stochastic
	}
	if estimator.OutputsOf(base).Has.Has(estimator.OutputSets) {
		w.decided = len(w.train.Schema.Targets[0].Categories)
	}
	if w.task == "anomalies" {
		w.decided = 1
	}
	for _, way := range ways {
		got := way.do(t, w)
		if t.Failed() {
			t.Fatalf("%s: %s", way.name, w)
		}
		if got == nil || !way.exact && !w.settled {
			continue
		}
		tol := w.tolerance()
		if way.exact {
			tol = 0
		}
		if i, ok := w.agree(got, want, w.test.Rows(), tol); !ok {
			t.Fatalf("%s: prediction %d of %d is %.15g, was %.15g (tolerance %.1g)\n%s", way.name, i, len(want), got[i], want[i],
				tol, w)
		}
	}
}

// tolerance is the difference, relative to the largest prediction, that rounding and stopping early
// explain.
func (w *world) tolerance() float64 {
	switch {
	case w.single:
		return 2e-2
	case w.iterative:
		return 1e-3
	}
	return 1e-6
}

// agree compares the predictions of the given number of rows. If tol > 0, discrete outputs are
// skipped, because a score may lie on a decision boundary.
func (w *world) agree(got, want []float64, rows int, tol float64) (at int, ok bool) {
	if len(got) != len(want) {
		return 0, false
	}
	each := len(want) / rows
	size := 0.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range got {
		if tol > 0 && i%each >= each-w.decided {
			continue
		}
		if v != want[i] && !(math.Abs(v-want[i]) <= tol*size) {
			return i, false
		}
	}
	return 0, true
}

// answers are the scores, targets or values that p predicts.
func answers(t *testing.T, p estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	got, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Errorf("predict: %v", err)
		return nil
	}
	return numbers(got)
}

// numbers returns, row by row, scores, targets or values, then their uncertainty, and finally the
// decision: the set of classes, or whether the row is an anomaly.
func numbers(got estimator.Prediction) (out []float64) {
	main := got.Scores
	if main == nil {
		main = got.Targets
	}
	for i, v := range got.Values {
		switch {
		case main != nil:
			out = append(out, main.RawRowView(i)...)
		case got.Anomaly == nil:
			out = append(out, v)
		}
		for _, list := range [][]float64{got.Std, got.Lower, got.Upper, got.Anomaly} {
			if list != nil {
				out = append(out, list[i])
			}
		}
		for _, m := range []*mat.Dense{got.StdTargets, got.LowerTargets, got.UpperTargets, got.Sets} {
			if m != nil {
				out = append(out, m.RawRowView(i)...)
			}
		}
		if got.Anomaly != nil {
			out = append(out, v)
		}
	}
	return out
}

func fit(t *testing.T, p pipeline.Pipeline, data datasets.Set) estimator.Predictor {
	t.Helper()
	model, err := p.Fit(context.Background(), data)
	if err != nil {
		t.Errorf("fit: %v", err)
		return nil
	}
	return model
}

func fitted(t *testing.T, w *world, p pipeline.Pipeline, train datasets.Set, test mat.Matrix) []float64 {
	t.Helper()
	if model := fit(t, p, train); model != nil {
		return answers(t, model, test)
	}
	return nil
}

func again(t *testing.T, w *world) []float64 { return fitted(t, w, w.pipe, w.train, w.test.X) }

func onCores(n int) func(*testing.T, *world) []float64 {
	return func(t *testing.T, w *world) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		return again(t, w)
	}
}

func fromFile(t *testing.T, w *world) []float64 {
	p := fit(t, w.pipe, w.train)
	if p == nil {
		return nil
	}
	model, err := modelfile.New(p)
	if err != nil {
		t.Error(err)
		return nil
	}
	var file bytes.Buffer
	if err := model.Write(&file); err != nil {
		t.Error(err)
		return nil
	}
	back, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Error(err)
		return nil
	}
	return answers(t, back.Predictor, w.test.X)
}

func rowByRow(t *testing.T, w *world) []float64 {
	p := fit(t, w.pipe, w.train)
	if p == nil {
		return nil
	}
	var out []float64
	for i := range w.test.Rows() {
		out = append(out, answers(t, p, rowblock.Slice(w.test.X, i, i+1))...)
	}
	return out
}

func streamed(t *testing.T, w *world) []float64 { return fromSource(t, w, w.train.Source()) }

func streamedInPieces(t *testing.T, w *world) []float64 {
	return fromSource(t, w, pieces{w.train, w.seed})
}

func fromSource(t *testing.T, w *world, src datasets.Source) []float64 {
	p, err := w.pipe.FitSource(context.Background(), src)
	if err != nil {
		t.Errorf("fit: %v", err)
		return nil
	}
	return answers(t, p, w.test.X)
}

// inParts fits three parts of the rows separately, in each pass, and merges the states, some of
// them serialized. It applies to pipelines that support passes.
func inParts(t *testing.T, w *world) []float64 {
	if w.crossFits {
		return nil
	}
	p, err := mergedParts(w)
	if errors.Is(err, datasets.ErrNoPasses) {
		return nil
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	return answers(t, p, w.test.X)
}

func mergedParts(w *world) (estimator.Predictor, error) {
	ctx, n := context.Background(), w.train.Rows()
	start := func() (datasets.Pass, error) { return w.pipe.Start(ctx, w.train.Schema, w.train.Cols()) }
	begun, err := start()
	for err == nil {
		var parts [3]datasets.Pass
		for k := range parts {
			if parts[k], err = throughFile(begun, start); err != nil {
				return nil, err
			}
			half := w.train.Slice(k*n/3, (k+1)*n/3)
			for _, block := range []datasets.Set{half.Slice(0, half.Rows()/3), half.Slice(half.Rows()/3, half.Rows())} {
				if err := parts[k].Add(ctx, block); err != nil {
					return nil, err
				}
			}
		}
		if parts[1], err = throughFile(parts[1], start); err != nil {
			return nil, err
		}
		for _, other := range []int{2, 1} {
			if err := parts[0].Merge(ctx, parts[other]); err != nil {
				return nil, err
			}
		}
		if begun, err = parts[0].Next(ctx); err == nil && begun == nil {
			return w.pipe.Finish(ctx, parts[0])
		}
	}
	return nil, err
}

// throughFile returns a pass after serialization.
func throughFile(p datasets.Pass, start func() (datasets.Pass, error)) (datasets.Pass, error) {
	a, err := model.Record(p)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := archive.Write(&file, archive.Header{}, a); err != nil {
		return nil, err
	}
	_, a, err = archive.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		return nil, err
	}
	back, err := start()
	if err != nil {
		return nil, err
	}
	return back, model.Restore(a, back)
}

// pieces is a set as blocks of other sizes.
type pieces struct {
	datasets.Set
	seed uint64
}

func (p pieces) Schema() datasets.Schema { return p.Set.Schema }
func (p pieces) Dims() (rows, cols int)  { return -1, p.Set.Cols() }
func (p pieces) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	rng := rand.New(rand.NewPCG(p.seed, 1))
	for lo := 0; lo < p.Rows(); {
		hi := min(lo+1+rng.IntN(50), p.Rows())
		if err := yield(p.Slice(lo, hi)); err != nil {
			return err
		}
		lo = hi
	}
	return ctx.Err()
}

func remade(t *testing.T, w *world) []float64 {
	p := w.pipe
	p.Memory = 1
	return fitted(t, w, p, w.train, w.test.X)
}

// shuffled fits to rows in another order, but for landmarks, which are drawn by the places of rows.
func shuffled(t *testing.T, w *world) []float64 {
	if bytes.Contains([]byte(w.text), []byte("nystroem")) {
		return nil
	}
	if w.sampled {
		return nil
	}
	if w.divides || w.crossFits {
		return nil
	}
	order := rand.New(rand.NewPCG(w.seed, 2)).Perm(w.train.Rows())
	return fitted(t, w, w.pipe, w.train.Select(order), w.test.X)
}

// columnsTurned fits to permuted columns, for models whose random numbers do not depend on columns:
// linear models after scalers. The start of k-means depends on the order of the columns.
func columnsTurned(t *testing.T, w *world) []float64 {
	if w.task == "clusters" || bytes.Contains([]byte(w.text), []byte("gaussian_process")) {
		return nil
	}
	if w.sampled || w.axes != nil && w.axes[0].Path == "map.gamma" || len(w.train.Schema.Columns) == 0 ||
		bytes.Contains([]byte(w.text), []byte("union")) {
		return nil
	}
	order := rand.New(rand.NewPCG(w.seed, 3)).Perm(w.train.Cols())
	return fitted(t, w, w.pipe, turned(w.train, order), turned(w.test, order).X)
}

func turned(set datasets.Set, order []int) datasets.Set {
	n, d := set.X.Dims()
	x, columns := mat.NewDense(n, d, nil), make([]datasets.Column, d)
	for to, from := range order {
		columns[to] = set.Schema.Columns[from]
		for i := range n {
			x.Set(i, to, set.X.At(i, from))
		}
	}
	set.X, set.Schema.Columns = x, columns
	return set
}

// asSparse gives the rows as sparse ones, to pipelines that take these and do not center.
func asSparse(t *testing.T, w *world) []float64 {
	if len(w.pipe.Steps) > 0 {
		first, err := param.Get(w.pipe, w.pipe.Steps[0].Name+".mean")
		if err == nil && first == true || err != nil && w.train.Schema.Columns != nil {
			return nil
		}
	}
	train, test := w.train, w.test
	if dense, ok := train.X.(*mat.Dense); ok {
		train.X, test.X = matrices.CSRFromDense(dense), matrices.CSRFromDense(test.X)
	} else {
		train.X, test.X = mat.DenseCopyOf(train.X), mat.DenseCopyOf(test.X)
	}
	return fitted(t, w, w.pipe, train, test.X)
}

// searched fits many candidates together and compares each with a separate fit; it returns the
// reference.
func searched(t *testing.T, w *world) []float64 {
	if len(w.axes) == 0 {
		return nil
	}
	settings := product(t, w.pipe, w.axes)
	folds, err := datasets.KFold{Folds: 3, Shuffle: true, Seed: w.seed}.Split(w.train)
	if err != nil {
		t.Error(err)
		return nil
	}
	seen := map[[2]int]bool{}
	_, err = w.pipe.FitBatch(context.Background(), batch.Job{Data: w.train, Folds: folds,
		Candidates: batch.Candidates(settings...), Yield: func(setting, fold int, outcome batch.Outcome) error {
			if seen[[2]int{setting, fold}] {
				return fmt.Errorf("setting %d on fold %d comes twice", setting, fold)
			}
			seen[[2]int{setting, fold}] = true
			lone, failed := settings[setting].Fit(context.Background(), w.train.Select(folds[fold].Train))
			if (failed == nil) != (outcome.Err == nil) {
				return fmt.Errorf("setting %d on fold %d: alone %v, in a search %v", setting, fold, failed, outcome.Err)
			}
			if failed != nil {
				return nil
			}
			if r := estimator.Reporter(nil); estimator.As(lone, &r) && !r.Report().Converged {
				return nil
			}
			if w.task == "clusters" && !w.steady {
				return nil
			}
			if w.stochastic && strings.Contains(w.pipe.String(), "rfm") {
				return nil // early stopping amplifies the rounding error of a shared rfm
			}
			want := answers(t, lone, rowblock.Select(w.train.X, folds[fold].Test))
			if at, ok := w.agree(numbers(outcome.Prediction), want, len(folds[fold].Test),
				w.tolerance()); !ok {
				return fmt.Errorf("setting %d on fold %d: prediction %d is %.12g, alone %.12g: %v", setting, fold, at,
					numbers(outcome.Prediction)[at], want[at], settings[setting])
			}
			return nil
		}})
	if err != nil {
		t.Error(err)
	} else if len(seen) != len(settings)*len(folds) {
		t.Errorf("%d results of %d settings on %d folds", len(seen), len(settings), len(folds))
	}
	return nil
}

// product is every combination of the axes' values.
func product(t *testing.T, p pipeline.Pipeline, axes []gridsearch.Axis) []estimator.Estimator {
	out := []estimator.Estimator{p}
	for _, axis := range axes {
		var next []estimator.Estimator
		for _, e := range out {
			for _, v := range axis.Values {
				with, err := param.With(e, param.Setting{Path: axis.Path, Value: v})
				if err != nil {
					t.Fatal(err)
				}
				next = append(next, with.(estimator.Estimator))
			}
		}
		out = next
	}
	return out
}
