package golearn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/filters"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// random returns rows of mixed columns with a target: classes, a number, or several numbers.
func random(rng *rand.Rand, rows, cols int) datasets.Set {
	X := mat.NewDense(rows, cols, nil)
	out := datasets.Set{X: X}
	for j := range cols {
		c := datasets.Column{Name: fmt.Sprintf("c%d", j)}
		if rng.IntN(3) == 0 {
			c.Kind = datasets.Categorical
			for k := range 1 + rng.IntN(5) {
				c.Categories = append(c.Categories, fmt.Sprintf("level %d", k))
			}
		}
		out.Schema.Columns = append(out.Schema.Columns, c)
		for i := range rows {
			if X.Set(i, j, rng.NormFloat64()); c.Kind == datasets.Categorical {
				X.Set(i, j, float64(rng.IntN(len(c.Categories))))
			}
		}
	}
	switch rng.IntN(5) {
	case 0:
		out.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical,
			Categories: []string{"a", "b", "c"}}}
		out.Y = make([]float64, rows)
		for i := range out.Y {
			out.Y[i] = float64(rng.IntN(3))
		}
	case 1:
		out.Schema.Targets = []datasets.Column{{Name: "price"}}
		out.Y = make([]float64, rows)
		for i := range out.Y {
			out.Y[i] = rng.NormFloat64()
		}
	case 2:
		out.Schema.Targets = []datasets.Column{{Name: "north"}, {Name: "east"}}
		out.Targets = mat.NewDense(rows, 2, nil)
		for i := range rows {
			out.Targets.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
		}
	case 3:
		out.Schema.Targets = []datasets.Column{
			{Name: "kind", Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}, {Name: "price"},
			{Name: "sold", Kind: datasets.Categorical, Categories: []string{"no", "yes"}},
		}
		out.Targets = mat.NewDense(rows, 3, nil)
		for i := range rows {
			out.Targets.SetRow(i, []float64{float64(rng.IntN(3)), rng.NormFloat64(), float64(rng.IntN(2))})
		}
	}
	return out
}

// same reports where got, whose columns and levels may be in another order, differs from want in
// the given rows.
func same(t *testing.T, want, got datasets.Set, rows []int) {
	t.Helper()
	if got.Rows() != len(rows) || got.Cols() != want.Cols() {
		t.Fatalf("%d×%d, want %d×%d", got.Rows(), got.Cols(), len(rows), want.Cols())
	}
	for j, c := range want.Schema.Columns {
		k := got.Schema.Index(c.Name)
		if k < 0 || got.Schema.Columns[k].Kind != c.Kind {
			t.Fatalf("column %s is gone or of another kind: %v", c.Name, got.Schema.Columns)
		}
		for i, row := range rows {
			if a, b := cellValue(c, want.X.At(row, j)), cellValue(got.Schema.Columns[k], got.X.At(i, k)); a != b {
				t.Fatalf("row %d, column %s: %v, want %v", i, c.Name, b, a)
			}
		}
	}
	if len(got.Schema.Targets) != len(want.Schema.Targets) {
		t.Fatalf("targets %v, want %v", got.Schema.Targets, want.Schema.Targets)
	}
	for j, c := range want.Schema.Targets {
		k := slices.IndexFunc(got.Schema.Targets, func(o datasets.Column) bool { return o.Name == c.Name })
		if k < 0 {
			t.Fatalf("target %s is gone: %v", c.Name, got.Schema.Targets)
		}
		for i, row := range rows {
			if a, b := cellValue(c, target(want, row, j)), cellValue(got.Schema.Targets[k], target(got, i, k)); a != b {
				t.Fatalf("row %d, target %s: %v, want %v", i, c.Name, b, a)
			}
		}
	}
}

func cellValue(c datasets.Column, v float64) any {
	if c.Kind == datasets.Categorical {
		return c.Categories[int(v)]
	}
	return v
}

func target(s datasets.Set, i, j int) float64 {
	if s.Targets != nil {
		return s.Targets.At(i, j)
	}
	return s.Y[i]
}

// Property: Set → instances → Set keeps every value, name, kind and level, and the order of columns.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		want := random(rng, 1+rng.IntN(30), 1+rng.IntN(12))
		instances, err := ToInstances(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := FromGrid(instances)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, got, all(want.Rows()))
		for j, c := range got.Schema.Columns {
			if c.Name != want.Schema.Columns[j].Name {
				t.Fatalf("column %d is %s, was %s", j, c.Name, want.Schema.Columns[j].Name)
			}
		}
	}
}

// Property: the same rows are read from instances with shuffled attributes and levels in other
// orders, and from views of them.
func TestOtherOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		want := random(rng, 1+rng.IntN(30), 1+rng.IntN(12))
		grid := shuffledCells(t, rng, want)
		got, err := FromGrid(grid)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, got, all(want.Rows()))

		rows := rng.Perm(want.Rows())[:1+rng.IntN(want.Rows())]
		attributes := grid.AllAttributes()
		rng.Shuffle(len(attributes), func(i, j int) { attributes[i], attributes[j] = attributes[j], attributes[i] })
		if got, err = FromGrid(base.NewInstancesViewFromVisible(grid, rows, attributes)); err != nil {
			t.Fatal(err)
		}
		same(t, want, got, rows)

		order := rng.Perm(want.Rows())
		moved := map[int]int{}
		for i, row := range order {
			moved[i] = row
		}
		if got, err = FromGrid(base.NewInstancesViewFromRows(grid, moved)); err != nil {
			t.Fatal(err)
		}
		same(t, want, got, order)
	}
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// shuffledCells returns the set as golearn would make it itself, cell by cell, with the attributes and
// their values in random orders.
func shuffledCells(t *testing.T, rng *rand.Rand, data datasets.Set) *base.DenseInstances {
	t.Helper()
	out := base.NewDenseInstances()
	columns := append(slices.Clone(data.Schema.Columns), data.Schema.Targets...)
	specs := make([]base.AttributeSpec, len(columns))
	for _, j := range rng.Perm(len(columns)) {
		c := columns[j]
		c.Categories = slices.Clone(c.Categories)
		rng.Shuffle(len(c.Categories), func(i, k int) { c.Categories[i], c.Categories[k] = c.Categories[k], c.Categories[i] })
		a := newAttribute(c)
		specs[j] = out.AddAttribute(a)
		if j >= data.Cols() {
			if err := out.AddClassAttribute(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Extend(data.Rows()); err != nil {
		t.Fatal(err)
	}
	for j, c := range columns {
		for i := range data.Rows() {
			v := float64(0)
			if j < data.Cols() {
				v = data.X.At(i, j)
			} else {
				v = target(data, i, j-data.Cols())
			}
			bytes := base.PackFloatToBytes(v)
			if c.Kind == datasets.Categorical {
				bytes = specs[j].GetAttribute().GetSysValFromString(c.Categories[int(v)])
			}
			out.Set(specs[j], i, bytes)
		}
	}
	return out
}

// Binary attributes, several to a byte, are 0 and 1; filtered instances are read through the filter.
func TestBinaryAndFiltered(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	in := base.NewDenseInstances()
	var specs []base.AttributeSpec
	for j := range 11 {
		specs = append(specs, in.AddAttribute(base.NewBinaryAttribute(fmt.Sprint("bit", j))))
	}
	class := base.NewBinaryAttribute("class")
	specs = append(specs, in.AddAttribute(class))
	if err := errors.Join(in.AddClassAttribute(class), in.Extend(40)); err != nil {
		t.Fatal(err)
	}
	want := mat.NewDense(40, 12, nil)
	for i := range 40 {
		for j := range 12 {
			v := rng.IntN(2)
			want.Set(i, j, float64(v))
			in.Set(specs[j], i, []byte{byte(v)})
		}
	}
	filter := filters.NewFloatConvertFilter()
	for _, a := range in.AllAttributes() {
		if err := filter.AddAttribute(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := filter.Train(); err != nil {
		t.Fatal(err)
	}
	for name, grid := range map[string]base.FixedDataGrid{"stored": in,
		"filtered": base.NewLazilyFilteredInstances(in, filter)} {
		got, err := FromGrid(grid)
		if err != nil {
			t.Fatal(name, err)
		}
		if !mat.Equal(got.X, want.Slice(0, 40, 0, 11)) || !slices.Equal(got.Y, mat.Col(nil, 11, want)) {
			t.Errorf("%s: other values", name)
		}
		if classes := got.Schema.Classes(); (name == "stored") != (len(classes) == 2) {
			t.Errorf("%s: classes %v", name, classes)
		}
	}
}

// TestRefusals checks that data that golearn cannot represent, and invalid grids, are errors that
// name the cause.
func TestRefusals(t *testing.T) {
	ok := datasets.Set{X: mat.NewDense(2, 2, []float64{1, 0, 2, 1}), Y: []float64{0, 1}, Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "age"}, {Name: "work", Kind: datasets.Categorical,
			Categories: []string{"yes", "no"}}},
	}}
	with := func(change func(*datasets.Set)) datasets.Set {
		s := ok
		s.X, s.Schema.Columns = mat.DenseCopyOf(ok.X), slices.Clone(ok.Schema.Columns)
		change(&s)
		return s
	}
	nan := ok.Y[0] / ok.Y[0]
	for want, set := range map[string]datasets.Set{
		"row 1, column age: missing value": with(func(s *datasets.Set) { s.X.(*mat.Dense).Set(1, 0, nan) }),
		"row 0, column work: a level that the schema does": with(func(s *datasets.Set) {
			s.X.(*mat.Dense).Set(0, 1, datasets.Unknown)
		}),
		"code 2 of a categorical column with 2 levels": with(func(s *datasets.Set) { s.X.(*mat.Dense).Set(0, 1, 2) }),
		"no weights and no groups":                     with(func(s *datasets.Set) { s.Weights = []float64{1, 2} }),
		`two columns are called "work"`:                with(func(s *datasets.Set) { s.Schema.Columns[0].Name = "work" }),
	} {
		if _, err := ToInstances(set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	twins := base.NewDenseInstances()
	twins.AddAttribute(base.NewFloatAttribute("a"))
	twins.AddAttribute(base.NewFloatAttribute("a"))
	twins.Extend(1)
	empty := base.NewDenseInstances()
	void := base.NewDenseInstances()
	void.AddAttribute(base.NewCategoricalAttribute())
	void.Extend(3)
	two := base.NewDenseInstances()
	two.AddAttribute(base.NewFloatAttribute("x"))
	word := newAttribute(datasets.Column{Name: "word", Kind: datasets.Categorical, Categories: []string{"a"}})
	number := base.NewFloatAttribute("number")
	two.AddAttribute(word)
	two.AddAttribute(number)
	if err := errors.Join(two.AddClassAttribute(word), two.AddClassAttribute(number), two.Extend(1)); err != nil {
		t.Fatal(err)
	}
	beyond := base.NewInstancesViewFromVisible(two, []int{7}, two.AllAttributes())
	beyond.RemoveClassAttribute(word)
	for want, grid := range map[string]base.FixedDataGrid{
		`two attributes are called "a"`: twins,
		"0 rows":                        empty,
		"value number 0 of a categorical attribute with": void,
		"golearn panicked": beyond,
		"no grid":          nil,
	} {
		if _, err := FromGrid(grid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
