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
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/sparse"
)

// copied returns a deep copy of a set.
func copied(data datasets.Set) datasets.Set {
	all := make([]int, data.Rows())
	for i := range all {
		all[i] = i
	}
	return data.Select(all)
}

// weighted returns the data with weights 0, 1, 2, 0, 1, 2, …
func (s *suite) weighted() datasets.Set {
	data := copied(s.data)
	data.Weights = make([]float64, data.Rows())
	for i := range data.Weights {
		data.Weights[i] = float64(i % 3)
	}
	return data
}

// nothingChanges: a spec is a value that may be shared, and data belong to the caller.
func (s *suite) nothingChanges(t testing.TB) {
	data := s.weighted()
	before := copied(data)
	spec := s.spec
	s.fit(t, data)
	if !reflect.DeepEqual(s.spec, spec) {
		t.Errorf("the spec was %+v and is %+v", spec, s.spec)
	}
	if !reflect.DeepEqual(data, before) {
		t.Error("the data have changed")
	}
}

// repeats: equal specs and data give equal models, bit for bit, independent of scheduling.
func (s *suite) repeats(t testing.TB) {
	agree(t, "second fit", answers(t, s.fit(t, s.data), s.probe), answers(t, s.fit(t, s.data), s.probe), 0)
}

// exceptFolds skips invariants that do not hold for specs with folds or minibatches.
func (s *suite) exceptFolds(t testing.TB) {
	if s.Minibatches {
		t.Skip("the fit depends on the order of the rows")
	}
	if s.Folds {
		t.Skip("the fit divides the rows into folds")
	}
}

// weightIsCount: a weight is the number of copies of a row.
func (s *suite) weightIsCount(t testing.TB) {
	s.exceptFolds(t)
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
	agree(t, "weights", answers(t, s.fit(t, data), s.probe), answers(t, s.fit(t, twice), s.probe), s.Tolerance)
}

// weightZero: a row of weight 0 has no effect.
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
	agree(t, "weight 0", answers(t, s.fit(t, data), s.probe), answers(t, s.fit(t, data.Select(rows)), s.probe),
		s.Tolerance)
}

// rowOrder: rows are a set; their order is an accident.
func (s *suite) rowOrder(t testing.TB) {
	s.exceptFolds(t)
	shuffled := s.data.Select(rand.New(rand.NewPCG(3, 3)).Perm(s.data.Rows()))
	agree(t, "shuffled rows", answers(t, s.fit(t, shuffled), s.probe), answers(t, s.fit(t, s.data), s.probe), s.Tolerance)
}

// classOrder: codes of classes are names, not quantities.
func (s *suite) classOrder(t testing.TB) {
	if s.Classes == 0 {
		t.Skip("a regression has no classes")
	}
	data := copied(s.data)
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
		estimator.Request{Outputs: estimator.Scores})
	if err != nil || out.Scores == nil {
		t.Fatalf("scores of a classification: %v, %v", out.Scores, err)
	}
	return out.Scores
}

// absentClass: the schema may list a class that a fold of the data does not have.
func (s *suite) absentClass(t testing.TB) {
	if s.Classes == 0 {
		t.Skip("a regression has no classes")
	}
	data := copied(s.data)
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

// translation: an intercept that is not penalized takes up any shift of the origin, of the inputs
// and of targets that need not be positive.
func (s *suite) translation(t testing.TB) {
	if s.Origin || s.Minibatches {
		t.Skip("a model without intercept depends on the origin, and so do steps")
	}
	want := answers(t, s.fit(t, s.data), s.probe)
	move := func(m mat.Matrix) *mat.Dense {
		out := mat.DenseCopyOf(m)
		n, _ := out.Dims()
		for i := range n {
			out.Set(i, 0, out.At(i, 0)+8)
			out.Set(i, 2, out.At(i, 2)+3)
		}
		return out
	}
	moved := copied(s.data)
	moved.X = move(moved.X)
	agree(t, "inputs moved", answers(t, s.fit(t, moved), move(s.probe)), want, s.Tolerance)
	if s.Classes > 0 || s.task != "" || s.Amounts {
		return
	}
	moved = copied(s.data)
	for i := range moved.Y {
		moved.Y[i] += 50
	}
	got := answers(t, s.fit(t, moved), s.probe)
	for i := range got {
		got[i] -= 50
	}
	agree(t, "targets moved", got, want, 20*s.Tolerance)
}

// sparseIsDense: a zero that is not stored is a zero, in fit and in prediction.
func (s *suite) sparseIsDense(t testing.TB) {
	data := copied(s.data)
	data.X = sparse.FromDense(s.data.X)
	dense, thin := s.fit(t, s.data), s.fit(t, data)
	agree(t, "sparse fit", answers(t, thin, s.probe), answers(t, dense, s.probe), s.Tolerance)
	agree(t, "sparse prediction", answers(t, dense, sparse.FromDense(s.probe)), answers(t, dense, s.probe), s.Rounding)

	shared, err := sparse.NewShared(4, 5, []int{0, 1, 3, 4, 5}, []uint32{0, 1, 4, 2, 3}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, "shared values", answers(t, dense, shared), answers(t, dense, shared.Dense()), s.Rounding)
}

// anyMatrix: implementations of mat.Matrix without a fast path give the same result.
func (s *suite) anyMatrix(t testing.TB) {
	data := s.data
	data.X = mat.DenseCopyOf(s.data.X.T()).T()
	p := s.fit(t, s.data)
	agree(t, "transposed fit", answers(t, s.fit(t, data), s.probe), answers(t, p, s.probe), s.Tolerance)
	agree(t, "transposed prediction", answers(t, p, mat.DenseCopyOf(s.probe.T()).T()), answers(t, p, s.probe), s.Rounding)

	wide := mat.NewDense(s.probe.RawMatrix().Rows, 9, nil)
	wide.Slice(0, wide.RawMatrix().Rows, 2, 7).(*mat.Dense).Copy(s.probe)
	agree(t, "part of a wider matrix", answers(t, p, wide.Slice(0, wide.RawMatrix().Rows, 2, 7)), answers(t, p, s.probe),
		s.Rounding)
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
		block := copied(s.set.Slice(lo, hi))
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

// blocks: the result does not depend on how the rows are divided into blocks.
func (s *suite) blocks(t testing.TB) {
	e, ok := s.spec.(estimator.BlockEstimator)
	if !ok {
		t.Skip("not a BlockEstimator")
	}
	want := answers(t, s.fit(t, s.weighted()), s.probe)
	thin := s.weighted()
	thin.X = sparse.FromDense(thin.X)
	for name, src := range map[string]datasets.Source{"stream": stream{s.weighted()}, "set": s.weighted().Source(),
		"sparse stream": stream{thin}} {
		p, err := e.FitSource(context.Background(), src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		agree(t, name, answers(t, p, s.probe), want, s.Tolerance)
	}
}
