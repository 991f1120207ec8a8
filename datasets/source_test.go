package datasets_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/settest"
	"github.com/bochner-ml/bochner/matrices"
)

// chunks is a source of blocks of one and the same arrays, as a file is.
type chunks struct {
	set  datasets.Set
	step int
	rows int // as returned by Dims
}

func (c chunks) Schema() datasets.Schema { return c.set.Schema }
func (c chunks) Dims() (rows, cols int)  { return c.rows, c.set.Cols() }

func (c chunks) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < c.set.Rows(); lo += c.step {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+c.step, c.set.Rows())
		rows := make([]int, hi-lo)
		for i := range rows {
			rows[i] = lo + i
		}
		block := c.set.Select(rows)
		if err := yield(block); err != nil {
			return err
		}
		for _, list := range [][]float64{block.Y, block.Weights} {
			for i := range list {
				list[i] = math.NaN()
			}
		}
		if X, ok := block.X.(*mat.Dense); ok {
			X.Apply(func(int, int, float64) float64 { return math.NaN() }, X)
		}
	}
	return nil
}

func randomSet(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(5, 6))
	set := datasets.Set{X: mat.NewDense(n, 3, nil), Targets: mat.NewDense(n, 2, nil)}
	for i := range n {
		for j := range 3 {
			if rng.IntN(2) == 0 {
				set.X.(*mat.Dense).Set(i, j, rng.NormFloat64())
			}
		}
		set.Y = append(set.Y, rng.Float64())
		set.Weights = append(set.Weights, rng.Float64())
		set.Groups = append(set.Groups, rng.IntN(5))
		set.Targets.SetRow(i, []float64{rng.Float64(), rng.Float64()})
	}
	return set
}

func sets(n int) map[string]datasets.Set {
	dense := randomSet(n)
	some := dense
	some.X = matrices.CSRFromDense(dense.X)
	shared := datasets.Set{Y: dense.Y}
	ones := mat.NewDense(n, 3, nil)
	ones.Apply(func(i, j int, _ float64) float64 { return float64((i*j + i) % 2) }, ones)
	X := matrices.CSRFromDense(ones)
	indptr, indices, _ := X.Raw()
	shared.X, _ = matrices.NewSharedCSR(n, 3, indptr, indices, 1)
	wide := mat.NewDense(n, 5, nil)
	wide.Slice(0, n, 1, 4).(*mat.Dense).Copy(dense.X)
	view := datasets.Set{X: wide.Slice(0, n, 1, 4), Y: dense.Y}
	narrow := datasets.Set{X: matrices.CopyDense32(dense.X), Y: dense.Y}
	odd := datasets.Set{X: mat.DenseCopyOf(dense.X).T().T(), Weights: dense.Weights}
	return map[string]datasets.Set{"dense": dense, "sparse": some, "shared": shared, "view": view, "single": narrow,
		"other": odd}
}

func TestSources(t *testing.T) {
	for name, set := range sets(5000) {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, set.Source())
			sourcetest.Run(t, chunks{set, 700, -1})
			sourcetest.Run(t, rowsource.Prefetch(chunks{set, 700, set.Rows()}))
			sub, err := rowsource.Subset(chunks{set, 700, -1}, []int{0, 2, 3, 699, 700, 4999})
			if err != nil {
				t.Fatal(err)
			}
			sourcetest.Run(t, sub)
		})
	}
}

func TestStack(t *testing.T) {
	for name, set := range sets(300) {
		stacked, err := datasets.Set{}.Append(set.Slice(0, 100), datasets.Set{}, set.Slice(100, 101), set.Slice(101, 300))
		if err != nil {
			t.Fatal(err)
		}
		settest.Equal(t, stacked, set)
		if X, ok := set.X.(*matrices.CSR); ok {
			_, was := X.Shared()
			if _, is := stacked.X.(*matrices.CSR).Shared(); is != was {
				t.Errorf("%s: entries share one value: %v, want %v", name, is, was)
			}
		}
	}
	all := sets(10)
	mixed, err := datasets.Set{}.Append(datasets.Set{X: all["shared"].X}, datasets.Set{X: all["sparse"].X})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for j := range 3 {
			want := all["shared"].X
			if i >= 10 {
				want = all["sparse"].X
			}
			if mixed.X.At(i, j) != want.At(i%10, j) {
				t.Fatalf("entry %d, %d is %v", i, j, mixed.X.At(i, j))
			}
		}
	}
	for _, c := range []struct {
		a, b datasets.Set
		want string
	}{
		{datasets.Set{}, datasets.Set{}, "datasets: nothing to learn from"},
		{all["dense"], datasets.Set{X: mat.NewDense(1, 2, nil)}, "datasets: all blocks must have 3 columns, got 2"},
		{all["dense"], all["view"], "datasets: all blocks must have the same of targets, weights, groups and passthrough " +
			"columns"},
		{datasets.Set{X: all["dense"].X}, datasets.Set{X: all["sparse"].X},
			"datasets: all blocks must be sparse or all dense"},
	} {
		if _, err := c.a.Append(c.b); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestSliceSelect: a slice is the selection of the same rows.
func TestSliceSelect(t *testing.T) {
	rows := make([]int, 40)
	for i := range rows {
		rows[i] = 30 + i
	}
	for _, set := range sets(100) {
		settest.Equal(t, set.Slice(30, 70), set.Select(rows))
	}
}

// TestPrefetchReadsAhead: the second block is read while the first is being worked on.
func TestPrefetchReadsAhead(t *testing.T) {
	second := make(chan struct{})
	src := watched{chunks{randomSet(30), 10, -1}, second}
	blocks := 0
	err := rowsource.Prefetch(src).Blocks(context.Background(), func(datasets.Set) error {
		if blocks++; blocks == 1 {
			select {
			case <-second:
			case <-time.After(time.Minute):
				t.Error("the second block waits for the first")
			}
		}
		return nil
	})
	if err != nil || blocks != 3 {
		t.Errorf("%d blocks, %v", blocks, err)
	}
}

// watched signals when its second block is read.
type watched struct {
	chunks
	second chan struct{}
}

func (w watched) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	n := 0
	return w.chunks.Blocks(ctx, func(b datasets.Set) error {
		if n++; n == 2 {
			close(w.second)
		}
		return yield(b)
	})
}

// TestPrefetchFailure checks that the error of the source is returned after the blocks before it.
func TestPrefetchFailure(t *testing.T) {
	sub, err := rowsource.Subset(chunks{randomSet(10), 4, -1}, []int{2, 10})
	if err != nil {
		t.Fatal(err)
	}
	_, err = datasets.ReadAll(context.Background(), rowsource.Prefetch(sub))
	if err == nil || err.Error() != "datasets: row number must be from 0 to 9, got 10" {
		t.Error(err)
	}
}

func TestSubsetErrors(t *testing.T) {
	set := randomSet(10)
	for _, c := range []struct {
		rows []int
		want string
	}{
		{[]int{3, 3}, "datasets: row numbers must be ascending, got 3 after 3"},
		{[]int{-1}, "datasets: row number must be from 0 to 9, got -1"},
		{[]int{10}, "datasets: row number must be from 0 to 9, got 10"},
	} {
		if _, err := rowsource.Subset(set.Source(), c.rows); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	sub, err := rowsource.Subset(chunks{set, 4, -1}, []int{2, 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datasets.ReadAll(context.Background(), sub); err == nil ||
		err.Error() != "datasets: row number must be from 0 to 9, got 10" {
		t.Errorf("error %v for a row behind the end", err)
	}
}

func TestCheck(t *testing.T) {
	classes := datasets.Schema{Targets: []datasets.Column{{Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}
	inf := mat.NewDense(2, 1, []float64{math.NaN(), math.Inf(-1)})
	fine := mat.NewDense(2, 1, []float64{1, math.NaN()})
	for _, c := range []struct {
		set  datasets.Set
		want string
	}{
		{datasets.Set{X: fine, Y: []float64{0, 1}, Schema: classes}, ""},
		{datasets.Set{}, "datasets: nothing to learn from: 0 rows, 0 columns"},
		{datasets.Set{X: fine, Y: []float64{}}, "datasets: Y must have 2 rows as X, got 0"},
		{datasets.Set{X: fine, Weights: []float64{1}}, "datasets: Weights must have 2 rows as X, got 1"},
		{datasets.Set{X: fine, Groups: []int{1}}, "datasets: Groups must have 2 rows as X, got 1"},
		{datasets.Set{X: fine, Targets: mat.NewDense(3, 1, nil)}, "datasets: Targets must have 2 rows as X, got 3"},
		{datasets.Set{X: fine, Targets: mat.NewDense(2, 1, []float64{0, math.NaN()})},
			"datasets: row 1: target 0 must be finite, got NaN"},
		{datasets.Set{X: fine, Y: []float64{0, math.Inf(1)}}, "datasets: row 1: target must be finite, got +Inf"},
		{datasets.Set{X: fine, Y: []float64{0, 2}, Schema: classes},
			"datasets: row 1: target must be a class code from 0 to 1, got 2"},
		{datasets.Set{X: fine, Y: []float64{0.5, 0}, Schema: classes},
			"datasets: row 0: target must be a class code from 0 to 1, got 0.5"},
		{datasets.Set{X: fine, Weights: []float64{1, -1}}, "datasets: row 1: weight must be ≥ 0, got -1"},
		{datasets.Set{X: fine, Weights: []float64{0, 0}}, "datasets: weights must not all be 0"},
		{datasets.Set{X: inf}, "datasets: row 1, column x0: infinite value"},
		{datasets.Set{X: matrices.CSRFromDense(inf)}, "datasets: row 1, column x0: infinite value"},
		{datasets.Set{X: fine, Schema: datasets.Schema{Columns: make([]datasets.Column, 2)}},
			"datasets: X must have 2 columns as the schema, got 1"},
	} {
		if err := c.set.Check(); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	err := datasets.Set{X: fine}.CheckFinite()
	if !errors.Is(err, datasets.ErrMissing) || !strings.Contains(err.Error(), "row 1, column x0") {
		t.Errorf("CheckFinite reports %v", err)
	}
	if err := (datasets.Set{X: mat.NewDense(1, 2, nil)}).CheckFinite(); err != nil {
		t.Error(err)
	}
}

// TestGatherMemory: a source that knows its rows is gathered into arrays of exactly that size.
func TestGatherMemory(t *testing.T) {
	set := randomSet(3000)
	got, err := datasets.ReadAll(context.Background(), chunks{set, 512, 3000})
	if err != nil {
		t.Fatal(err)
	}
	if c := cap(got.X.(*mat.Dense).RawMatrix().Data); c != 9000 {
		t.Errorf("capacity for %d numbers, want 9000", c)
	}
	if !slices.Equal(got.Y, set.Y) {
		t.Error("targets differ")
	}
}

func TestTaskCheck(t *testing.T) {
	for _, k := range []datasets.Task{datasets.AnyTask, datasets.Regression, datasets.Classification, datasets.Clustering,
		datasets.Anomaly, datasets.MultiLabel} {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
	}
	want := `datasets: task must be classification, regression, clustering, anomaly or multilabel, got "ranking"`
	if err := datasets.Task("ranking").Check(); err == nil || err.Error() != want {
		t.Error(err)
	}
}

func ExampleSubset() {
	X := mat.NewDense(4, 1, []float64{10, 11, 12, 13})
	some, err := rowsource.Subset(datasets.Set{X: X}.Source(), []int{1, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := datasets.ReadAll(context.Background(), some)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mat.Formatted(set.X))
	// Output:
	// ⎡11⎤
	// ⎣13⎦
}

func ExamplePrefetch() {
	set := datasets.Set{X: mat.NewDense(5000, 1, nil)}
	rows := 0
	err := rowsource.Prefetch(set.Source()).Blocks(context.Background(), func(block datasets.Set) error {
		rows += block.Rows() // while the next block is being read
		return nil
	})
	fmt.Println(rows, err)
	// Output: 5000 <nil>
}

// TestCheckBlock checks that a block may have zero total weight, unlike a set, and that errors
// contain row numbers in the whole data.
func TestCheckBlock(t *testing.T) {
	block := datasets.Set{X: mat.NewDense(3, 1, nil), Y: make([]float64, 3), Weights: make([]float64, 3)}
	if err := block.CheckBlock(10); err != nil {
		t.Error(err)
	}
	if err := block.Check(); err == nil || !strings.Contains(err.Error(), "weights must not all be 0") {
		t.Errorf("of a set: %v", err)
	}
	block.Y[2] = math.NaN()
	if err := block.CheckBlock(10); err == nil || !strings.Contains(err.Error(), "row 12") {
		t.Errorf("a bad target: %v", err)
	}
}

// TestWithoutTargets checks that only the targets are dropped, in memory and in blocks, and that
// the original is not modified.
func TestWithoutTargets(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "x"}},
		Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}
	set := datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Y: []float64{0, 1, 0}, Weights: []float64{1, 2, 3},
		Schema: schema}
	rows := []int{0, 2}
	some, err := rowsource.Subset(set.Source(), rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		source datasets.Source
		want   datasets.Set
	}{{"in memory", set.Source(), set}, {"by blocks", some, set.Select(rows)}} {
		bare := rowsource.DropTargets(c.source)
		got, err := datasets.ReadAll(context.Background(), bare)
		if err != nil {
			t.Fatal(err)
		}
		if got.Y != nil || got.Schema.Targets != nil || bare.Schema().Targets != nil {
			t.Errorf("%s: there are targets: %v %v", c.name, got.Y, got.Schema.Targets)
		}
		if !mat.Equal(got.X, c.want.X) || !slices.Equal(got.Weights, c.want.Weights) || got.Schema.Columns[0].Name != "x" {
			t.Errorf("%s: more than the targets is gone", c.name)
		}
	}
	if set.Y == nil || set.Schema.Targets == nil {
		t.Error("the set itself has changed")
	}
}
