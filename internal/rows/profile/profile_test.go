package profile

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/matrices"
)

var ctx = context.Background()

// blocks is a source with a fixed block size.
type blocks struct {
	datasets.Set
	size int
}

func (b blocks) Schema() datasets.Schema { return b.Set.Schema }
func (b blocks) Dims() (rows, cols int)  { return -1, b.Cols() }
func (b blocks) Blocks(_ context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < b.Rows(); lo += b.size {
		if err := yield(b.Slice(lo, min(lo+b.size, b.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

// mixed returns n rows with two numeric columns, one of them often 0, a categorical column and a
// class, with missing values.
func mixed(n int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, y := mat.NewDense(n, 4, nil), make([]float64, n)
	for i := range n {
		often := 0.0
		if rng.Float64() < 0.3 {
			often = rng.NormFloat64()
		}
		X.SetRow(i, []float64{rng.NormFloat64(), 1e3 * rng.ExpFloat64(), often, float64(min(rng.IntN(6), 3))})
		if rng.Float64() < 0.1 {
			X.Set(i, rng.IntN(4), math.NaN())
		}
		y[i] = float64(rng.IntN(5) / 4)
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "often"},
			{Name: "colour", Kind: datasets.Categorical, Categories: []string{"red", "green", "blue", "grey", "pink"}}},
		Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}},
	}}
}

// References: quantiles, means and PSI by NumPy.
func TestNumPy(t *testing.T) {
	text, err := os.ReadFile("testdata/numpy.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Columns []struct {
			Values, Quantiles []float64
			Mean, Min, Max    float64
		}
		PSI struct {
			Before, Now []int
			PSI         float64
		}
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-13*max(1, math.Abs(want)) }
	for j, c := range want.Columns {
		p, err := Of(ctx, datasets.Set{X: mat.NewDense(len(c.Values), 1, c.Values)}.Source())
		if err != nil {
			t.Fatal(err)
		}
		got := p.Columns[0]
		if !slices.EqualFunc(got.Quantiles, c.Quantiles, near) || !near(got.Mean, c.Mean) || got.Min != c.Min ||
			got.Max != c.Max {
			t.Errorf("column %d: %+v, want %+v", j, got, c)
		}
	}
	if psi, bins := psi(want.PSI.Before, want.PSI.Now); !near(psi, want.PSI.PSI) || bins != 4 {
		t.Errorf("PSI %v of %d bins, want %v", psi, bins, want.PSI.PSI)
	}
}

// Statistics of every kind of column.
func TestColumns(t *testing.T) {
	nan := math.NaN()
	X := mat.NewDense(10, 4, []float64{
		1, 0, 5, nan,
		2, 0, 5, nan,
		3, 1, 5, nan,
		4, 0, 5, nan,
		5, 2, 5, nan,
		6, 0, 5, nan,
		7, -1, 5, nan,
		8, nan, 5, nan,
		math.Inf(1), 0, 5, nan,
		nan, 1, 5, nan,
	})
	set := datasets.Set{X: X, Y: []float64{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "n"}, {Name: "c", Kind: datasets.Categorical,
			Categories: []string{"u", "v", "w", "never"}}, {Name: "five"}, {Name: "gone"}},
		Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}},
	}}
	got, err := Of(ctx, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	want := Profile{Rows: 10, Columns: []Column{
		{Name: "n", Kind: "numeric", Missing: 0.2, Min: 1, Max: 8, Mean: 4.5, Quantiles: got.Columns[0].Quantiles,
			Cuts: []float64{1, 2, 3, 4, 5, 6, 7}, Counts: []int{1, 1, 1, 1, 1, 1, 1, 1}},
		{Name: "c", Kind: "categorical", Missing: 0.1, Unknown: 0.1,
			Categories: []Category{{"u", 5. / 9}, {"v", 2. / 9}, {"w", 1. / 9}}, OtherCategories: 1,
			OnceCategories: 1, TwiceCategories: 1},
		{Name: "five", Kind: "numeric", Min: 5, Max: 5, Mean: 5, Quantiles: slices.Repeat([]float64{5}, 11),
			Cuts: []float64{}, Counts: []int{10}},
		{Name: "gone", Kind: "numeric", Missing: 1},
	}, Targets: []Column{{Name: "y", Kind: "categorical", Categories: []Category{{"no", 0.7}, {"yes", 0.3}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if _, err := Of(ctx, datasets.Set{X: &mat.Dense{}}.Source()); !errors.Is(err, datasets.ErrEmpty) {
		t.Errorf("no rows: %v", err)
	}
}

// Profiles have the same bits for any block size, and for dense and sparse rows.
func TestAnyBlocks(t *testing.T) {
	for _, n := range []int{1, 9, 5000, 60_000} {
		set := mixed(n, 3)
		want, err := Of(ctx, set.Source())
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, 1000, 4096, n} {
			if got, err := Of(ctx, blocks{set, size}); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%d rows in blocks of %d are other ones (%v)", n, size, err)
			}
		}
		thin := set
		thin.X = matrices.CSRFromDense(set.X)
		if got, err := Of(ctx, thin.Source()); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d sparse rows are other ones (%v):\n%+v\n%+v", n, err, got, want)
		}
		short := set
		short.X = matrices.CopyDense32(set.X)
		wide := set
		wide.X = mat.DenseCopyOf(short.X)
		a, err := Of(ctx, short.Source())
		b, other := Of(ctx, wide.Source())
		if err != nil || other != nil || !reflect.DeepEqual(a, b) {
			t.Fatal("rows in single precision are other ones", err, other)
		}
	}
}

// For many distinct values, quantiles are approximate and counts are exact.
func TestManyNumbers(t *testing.T) {
	const n = 200_000
	rng := rand.New(rand.NewPCG(5, 6))
	list := make([]float64, n)
	for i := range list {
		if list[i] = 1e5 + rng.NormFloat64(); i%4 == 0 {
			list[i] = 1e5 + 0.25
		}
	}
	p, err := Of(ctx, datasets.Set{X: mat.NewDense(n, 1, list)}.Source())
	if err != nil {
		t.Fatal(err)
	}
	c := p.Columns[0]
	sorted := slices.Sorted(slices.Values(list))
	for k, q := range c.Quantiles {
		if want := sorted[min(k*n/10, n-1)]; math.Abs(q-want) > 2e-3 {
			t.Errorf("quantile %d is %v, want %v", k, q, want)
		}
	}
	if c.Min != sorted[0] || c.Max != sorted[n-1] {
		t.Errorf("from %v to %v, want %v to %v", c.Min, c.Max, sorted[0], sorted[n-1])
	}
	at := 0
	for k, cut := range append(slices.Clone(c.Cuts), math.Inf(1)) {
		to, _ := slices.BinarySearchFunc(sorted, cut, func(v, cut float64) int {
			if v <= cut {
				return -1
			}
			return 1
		})
		if c.Counts[k] != to-at {
			t.Errorf("bin %d up to %v has %d, want %d", k, cut, c.Counts[k], to-at)
		}
		at = to
	}
	if !slices.ContainsFunc(c.Counts, func(n int) bool { return n >= n/4 && n < 51_000 }) {
		t.Errorf("the number of a quarter of the rows has no bin of its own: %v", c.Counts)
	}
}

// Extreme values do not overflow.
func TestExtremes(t *testing.T) {
	p, err := Of(ctx, datasets.Set{X: mat.NewDense(4, 1, []float64{-math.MaxFloat64, math.MaxFloat64, math.MaxFloat64,
		5e-324})}.Source())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Encode(1 << 20); err != nil {
		t.Errorf("%+v: %v", p, err)
	}
	if got, want := p.Columns[0].Mean, math.MaxFloat64/4; math.Abs(got/want-1) > 1e-15 {
		t.Errorf("the mean is %v, want %v", got, want)
	}
}

// Profiles pass the conformance tests of passes.
func TestPassConformance(t *testing.T) {
	type fitted = Profile
	l := passtest.Learner[fitted]{
		Start: func(_ context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
			return Start(schema, cols), nil
		},
		Finish: Finish,
		Says: func(p Profile) ([]float64, error) {
			var out []float64
			for _, c := range append(slices.Clone(p.Columns), p.Targets...) {
				out = append(append(out, c.Missing, c.Unknown, c.Min, c.Max, c.Mean, c.Other), c.Quantiles...)
				for _, n := range c.Counts {
					out = append(out, float64(n))
				}
				for _, l := range c.Categories {
					out = append(out, l.Fraction)
				}
			}
			return out, nil
		},
	}
	data := mixed(300, 8)
	p, err := Of(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := l.Says(p)
	if err := l.Parts(data, whole, 1e-14); err != nil {
		t.Error(err)
	}
	if err := l.Stops(data); err != nil {
		t.Error(err)
	}
}

// Merged parts with many distinct values give the profile of all rows, in any order.
func TestMerge(t *testing.T) {
	set := mixed(70_000, 4)
	want, err := Of(ctx, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	part := func(lo, hi int) datasets.Pass {
		p := Start(set.Schema, set.Cols())
		if err := p.Add(ctx, set.Slice(lo, hi)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := part(69_000, 70_000)
	for _, other := range []datasets.Pass{part(0, 30_000), part(30_003, 69_000), part(30_000, 30_003)} {
		if err := all.Merge(ctx, other); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Finish(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for j := range got.Columns {
		if math.Abs(got.Columns[j].Mean-want.Columns[j].Mean) > 1e-11 {
			t.Errorf("the mean of column %d is %v, want %v", j, got.Columns[j].Mean, want.Columns[j].Mean)
		}
		got.Columns[j].Mean = want.Columns[j].Mean
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

// Omitted columns and categories are counted.
func TestMany(t *testing.T) {
	set := datasets.Set{X: mat.NewDense(120, maxColumns+5, nil)}
	levels := make([]string, 70)
	for i := range levels {
		levels[i] = strings.Repeat("x", i+1)
	}
	set.Schema.Columns = make([]datasets.Column, maxColumns+5)
	set.Schema.Columns[0] = datasets.Column{Name: "c", Kind: datasets.Categorical, Categories: levels}
	for i := range 120 {
		set.X.(*mat.Dense).Set(i, 0, float64(i%60))
	}
	p, err := Of(ctx, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	c := p.Columns[0]
	if p.Omitted != 5 || len(p.Columns) != maxColumns || len(c.Categories) != 50 || c.OtherCategories != 20 ||
		math.Abs(c.Other-1./6) > 1e-15 {
		t.Errorf("%d columns, %d left out; %d levels, %d others with %v", len(p.Columns), p.Omitted, len(c.Categories),
			c.OtherCategories, c.Other)
	}
	text, err := p.Encode(20_000)
	if err != nil || len(text) > 20_000 {
		t.Fatal(len(text), err)
	}
	less, err := Decode(text, set.Schema, set.Cols())
	if err != nil || less.Omitted+len(less.Columns) != set.Cols() || len(less.Columns) == 0 {
		t.Errorf("%d of %d columns: %v", len(less.Columns), set.Cols(), err)
	}
}

// Decode inverts Encode, and rejects inconsistent profiles.
func FuzzDecode(f *testing.F) {
	set := mixed(200, 5)
	p, err := Of(ctx, set.Source())
	if err != nil {
		f.Fatal(err)
	}
	text, err := p.Encode(1 << 20)
	if err != nil {
		f.Fatal(err)
	}
	if back, err := Decode(text, set.Schema, set.Cols()); err != nil || !reflect.DeepEqual(back, p) {
		f.Fatalf("%+v (%v)\nwanted\n%+v", back, err, p)
	}
	for _, harm := range [][2]string{{`"rows":200`, `"rows":0`}, {`"rows":200`, `"rows":20`},
		{`"missing":0`, `"missing":7`}, {`"name":"b"`, `"name":"c"`},
		{`"counts":[`, `"counts":[1,`}, {`"counts":[`, `"counts":[-1,`},
		{`"levels":[`, `"levels":[{"name":"mauve","share":0.1},`}, {`"columns":[`, `"columns":[{},`}, {`"targets"`, `"aims"`},
		{`"other_levels":1`, `"other_levels":-1`}, {`"cuts":[`, `"cuts":[1e9,`}} {
		wrong := strings.Replace(text, harm[0], harm[1], 1)
		if wrong == text {
			f.Errorf("there is no %s", harm[0])
		}
		if _, err := Decode(wrong, set.Schema, set.Cols()); err == nil {
			f.Errorf("%s was taken", harm[1])
		}
		f.Add(wrong)
	}
	f.Add(text)
	f.Add(text + "{}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Decode(text, set.Schema, set.Cols())
		if err != nil {
			return
		}
		d, err := Compare(ctx, p, set.Source())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
		again, err := p.Encode(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again, set.Schema, set.Cols()); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	X := mat.NewDense(50_000, 20, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 50_000 {
		for j := range 20 {
			X.Set(i, j, rng.NormFloat64())
		}
	}
	set := datasets.Set{X: X}
	for b.Loop() {
		if _, err := Of(ctx, set.Source()); err != nil {
			b.Fatal(err)
		}
	}
}
