package estimatortest

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// cloneSet returns a deep copy of a set.
func cloneSet(data datasets.Set) datasets.Set {
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	return data.Select(all)
}

// weighted returns the data with weights 0, 1, 2, 0, 1, 2, …
func (s *suite) weighted() datasets.Set {
	data := cloneSet(s.data)
	data.Weights = make([]float64, data.Rows())
	for i := range data.Weights {
		data.Weights[i] = float64(i % 3)
	}
	return data
}

// nothingChanges checks that fitting modifies neither the spec, which may be shared, nor the data,
// which belong to the caller.
func (s *suite) nothingChanges(t testing.TB) {
	data := s.weighted()
	before := cloneSet(data)
	spec := s.spec
	s.fit(t, data)
	if !reflect.DeepEqual(s.spec, spec) {
		t.Errorf("the spec was %+v and is %+v", spec, s.spec)
	}
	if !reflect.DeepEqual(data, before) {
		t.Error("the data have changed")
	}
}

// repeats checks that equal specs and data give bit-identical models, independent of scheduling.
func (s *suite) repeats(t testing.TB) {
	agree(t, "second fit", predictions(t, s.fit(t, s.data), s.probe), predictions(t, s.fit(t, s.data), s.probe), 0)
}

// skipFolds skips invariants that do not hold for specs with folds or minibatches.
func (s *suite) skipFolds(t testing.TB) {
	if s.Minibatches {
		t.Skip("the fit depends on the order of the rows")
	}
	if s.Folds {
		t.Skip("the fit divides the rows into folds")
	}
}

// weightIsCount checks that a row of weight k is equivalent to k copies of the row.
func (s *suite) weightIsCount(t testing.TB) {
	s.skipFolds(t)
	data := s.weighted()
	var rows []int
	for i, w := range data.Weights {
		if w == 0 {
			data.Weights[i] = 1
		}
		for range int(data.Weights[i]) {
			rows = append(rows, i)
		}
	}
	twice := data.Select(rows)
	twice.Weights = nil
	agree(t, "weights", predictions(t, s.fit(t, data), s.probe), predictions(t, s.fit(t, twice), s.probe), s.Tolerance)
}

// weightZero checks that a row of weight 0 has no effect.
func (s *suite) weightZero(t testing.TB) {
	data := s.weighted()
	var rows []int
	for i, w := range data.Weights {
		if w > 0 {
			rows = append(rows, i)
		} else {
			data.X.(*mat.Dense).Set(i, 1, 1000) // arbitrary content
		}
	}
	agree(t, "weight 0", predictions(t, s.fit(t, data), s.probe), predictions(t, s.fit(t, data.Select(rows)), s.probe),
		s.Tolerance)
}

// rowOrder checks that the order of rows does not affect the fit.
func (s *suite) rowOrder(t testing.TB) {
	s.skipFolds(t)
	shuffled := s.data.Select(rand.New(rand.NewPCG(3, 3)).Perm(s.data.Rows()))
	agree(t, "shuffled rows", predictions(t, s.fit(t, shuffled), s.probe), predictions(t, s.fit(t, s.data), s.probe),
		s.Tolerance)
}

// classOrder checks that permuting the class codes only permutes the predictions: codes are labels,
// not quantities.
func (s *suite) classOrder(t testing.TB) {
	if s.Classes == 0 {
		t.Skip("a regression has no classes")
	}
	data := cloneSet(s.data)
	k := s.Classes
	levels := make([]string, k)
	for c, name := range s.data.Schema.Classes() {
		levels[k-1-c] = name
	}
	data.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical, Categories: levels}}
	for i, y := range data.Y {
		data.Y[i] = float64(k-1) - y
	}
	got, want := s.decision(t, data), s.decision(t, s.data)
	n, columns := want.Dims()
	turned := mat.NewDense(n, columns, nil)
	for i := range n {
		for j := range columns {
			if columns == 1 {
				turned.Set(i, 0, -got.At(i, 0))
			} else {
				turned.Set(i, j, got.At(i, columns-1-j))
			}
		}
	}
	agree(t, "classes in reverse", turned.RawMatrix().Data, want.RawMatrix().Data, s.Tolerance)
}

func (s *suite) decision(t testing.TB, data datasets.Set) *mat.Dense {
	t.Helper()
	out, err := estimator.Predict(context.Background(), s.fit(t, data), s.probe,
		estimator.Request{Outputs: estimator.OutputScores})
	if err != nil || out.Scores == nil {
		t.Fatalf("scores of a classification: %v, %v", out.Scores, err)
	}
	return out.Scores
}

// absentClass checks that a class of the schema that is absent from the rows, as in a fold, is
// never predicted.
func (s *suite) absentClass(t testing.TB) {
	if s.Classes == 0 {
		t.Skip("a regression has no classes")
	}
	data := cloneSet(s.data)
	levels := append([]string{"never seen"}, s.data.Schema.Classes()...)
	data.Schema.Targets = []datasets.Column{{Name: "kind", Kind: datasets.Categorical, Categories: levels}}
	for i := range data.Y {
		data.Y[i]++
	}
	values, err := s.fit(t, data).Predict(context.Background(), s.probe)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if v == 0 {
			t.Fatalf("row %d is predicted to be of the class that no row has", i)
		}
	}
}

// translation checks that an unpenalized intercept makes predictions invariant to shifts of the
// inputs and, unless they must be positive, of the targets.
func (s *suite) translation(t testing.TB) {
	if s.Origin || s.Minibatches {
		t.Skip("a model without intercept depends on the origin, and so do steps")
	}
	want := predictions(t, s.fit(t, s.data), s.probe)
	move := func(m mat.Matrix) *mat.Dense {
		out := mat.DenseCopyOf(m)
		n, _ := out.Dims()
		for i := range n {
			out.Set(i, 0, out.At(i, 0)+8)
			out.Set(i, 2, out.At(i, 2)+3)
		}
		return out
	}
	moved := cloneSet(s.data)
	moved.X = move(moved.X)
	agree(t, "inputs moved", predictions(t, s.fit(t, moved), move(s.probe)), want, s.Tolerance)
	if s.Classes > 0 || s.task != "" || s.Amounts {
		return
	}
	moved = cloneSet(s.data)
	for i := range moved.Y {
		moved.Y[i] += 50
	}
	got := predictions(t, s.fit(t, moved), s.probe)
	for i := range got {
		got[i] -= 50
	}
	agree(t, "targets moved", got, want, 20*s.Tolerance)
}

// sparseIsDense checks that sparse rows give the same fit and predictions as dense rows.
func (s *suite) sparseIsDense(t testing.TB) {
	data := cloneSet(s.data)
	data.X = matrices.CSRFromDense(s.data.X)
	dense, thin := s.fit(t, s.data), s.fit(t, data)
	agree(t, "sparse fit", predictions(t, thin, s.probe), predictions(t, dense, s.probe), s.Tolerance)
	agree(t, "sparse prediction", predictions(t, dense, matrices.CSRFromDense(s.probe)), predictions(t, dense, s.probe),
		s.Rounding)

	shared, err := matrices.NewSharedCSR(4, 5, []int{0, 1, 3, 4, 5}, []uint32{0, 1, 4, 2, 3}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, "shared values", predictions(t, dense, shared), predictions(t, dense, shared.Dense()), s.Rounding)
}

// anyMatrix checks that implementations of mat.Matrix without a fast path give the same result.
func (s *suite) anyMatrix(t testing.TB) {
	data := s.data
	data.X = mat.DenseCopyOf(s.data.X.T()).T()
	p := s.fit(t, s.data)
	agree(t, "transposed fit", predictions(t, s.fit(t, data), s.probe), predictions(t, p, s.probe), s.Tolerance)
	agree(t, "transposed prediction", predictions(t, p, mat.DenseCopyOf(s.probe.T()).T()), predictions(t, p, s.probe),
		s.Rounding)

	wide := mat.NewDense(s.probe.RawMatrix().Rows, 9, nil)
	wide.Slice(0, wide.RawMatrix().Rows, 2, 7).(*mat.Dense).Copy(s.probe)
	agree(t, "part of a wider matrix", predictions(t, p, wide.Slice(0, wide.RawMatrix().Rows, 2, 7)),
		predictions(t, p, s.probe), s.Rounding)
}

// stream yields blocks of uneven size in arrays that it overwrites afterwards, as readers of files
// do. Its number of rows is unknown.
type stream struct{ set datasets.Set }

func (s stream) Schema() datasets.Schema { return s.set.Schema }
func (s stream) Dims() (rows, cols int)  { return -1, s.set.Cols() }

func (s stream) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	for lo, size := 0, 1; lo < s.set.Rows(); size = size*2%37 + 1 {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+size, s.set.Rows())
		block := cloneSet(s.set.Slice(lo, hi))
		if err := yield(block); err != nil {
			return err
		}
		if m, ok := block.X.(*mat.Dense); ok {
			spoil(m.RawMatrix().Data)
		}
		spoil(block.Y)
		spoil(block.Weights)
		lo = hi
	}
	return nil
}

func spoil(list []float64) {
	for i := range list {
		list[i] = math.NaN()
	}
}

// blocks checks that the result does not depend on how the rows are divided into blocks.
func (s *suite) blocks(t testing.TB) {
	e, ok := s.spec.(estimator.BlockEstimator)
	if !ok {
		t.Skip("not a BlockEstimator")
	}
	want := predictions(t, s.fit(t, s.weighted()), s.probe)
	thin := s.weighted()
	thin.X = matrices.CSRFromDense(thin.X)
	for name, src := range map[string]datasets.Source{"stream": stream{s.weighted()}, "set": s.weighted().Source(),
		"sparse stream": stream{thin}} {
		p, err := e.FitSource(context.Background(), src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		agree(t, name, predictions(t, p, s.probe), want, s.Tolerance)
	}
}
