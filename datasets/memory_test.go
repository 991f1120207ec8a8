package datasets_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

type address struct {
	District string
	Zip      int `bochner:"zip,categorical"`
}

type flat struct {
	address
	Address address `bochner:"-"`
	Size    float64
	Floor   *int
	Note    sql.NullString
	Built   time.Time
	Sold    bool
	Times   uint8  `bochner:",weight"`
	House   string `bochner:",group"`
	Rent    float32

	hidden int
}

func TestFromStructs(t *testing.T) {
	floor := 3
	built := time.Date(1999, 5, 3, 7, 0, 0, 0, time.UTC)
	rows := []*flat{
		{Size: 50, Floor: &floor, Note: sql.NullString{String: "quiet", Valid: true}, Built: built, Sold: true, Times: 2,
			House: "b", Rent: 700},
		{Size: math.NaN(), Times: 1, House: "a", Rent: 650, hidden: 1},
		{Size: 40, Note: sql.NullString{String: "bright", Valid: true}, Times: 1, House: "b", Rent: 600},
	}
	rows[0].address = address{"west", 10115}
	rows[1].address = address{"", 999}
	rows[2].address = address{"east", 10115}
	set, err := datasets.FromStructs(rows, "Rent")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range set.Schema.Columns {
		names = append(names, fmt.Sprint(c.Name, c.Categories))
	}
	want := []string{"District[east west]", "zip[999 10115]", "Size[]", "Floor[]", "Note[bright quiet]", "Built_year[]",
		"Built_month[]", "Built_day[]", "Built_weekday[]", "Built_hour[]", "Sold[]"}
	if !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	if c := set.Schema.Columns[6]; c.EncodedFrom != "Built" || c.EncodedKind != datasets.Numeric {
		t.Errorf("part of a date: %+v", c)
	}
	nan := math.NaN()
	X := mat.NewDense(3, 11, []float64{
		1, 1, 50, 3, 1, 1999, 5, 3, 1, 7, 1,
		nan, 0, nan, nan, nan, nan, nan, nan, nan, nan, 0,
		0, 1, 40, nan, 0, nan, nan, nan, nan, nan, 0})
	if !slices.EqualFunc(set.X.(*mat.Dense).RawMatrix().Data, X.RawMatrix().Data, func(a, b float64) bool {
		return a == b || a != a && b != b
	}) {
		t.Errorf("inputs %v", mat.Formatted(set.X))
	}
	if !slices.Equal(set.Y, []float64{700, 650, 600}) || set.Schema.Targets[0].Name != "Rent" ||
		set.Schema.Classes() != nil || !slices.Equal(set.Weights, []float64{2, 1, 1}) ||
		!slices.Equal(set.Groups, []int{1, 0, 1}) {
		t.Errorf("%v, %+v, weights %v, groups %v", set.Y, set.Schema.Targets, set.Weights, set.Groups)
	}
}

// The type of a target decides between classes and numbers.
func TestMemoryTargets(t *testing.T) {
	for _, c := range []struct {
		target  any
		classes []string
		y       []float64
	}{
		{[]string{"b", "a", "b"}, []string{"a", "b"}, []float64{1, 0, 1}},
		{[]bool{true, false, true}, []string{"false", "true"}, []float64{1, 0, 1}},
		{[]string{"10", "9", "10"}, []string{"9", "10"}, []float64{1, 0, 1}}, // no class 0 without rows
		{[]int{10, 9, 10}, nil, []float64{10, 9, 10}},
		{[]float64{1, 2, 1}, nil, []float64{1, 2, 1}},
	} {
		set, err := datasets.FromSlices(map[string]any{"y": c.target, "x": make([]float64, len(c.y))}, "y")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Schema.Classes(), c.classes) || !slices.Equal(set.Y, c.y) {
			t.Errorf("%v: classes %v, %v", c.target, set.Schema.Classes(), set.Y)
		}
	}
}

func TestNewWithTargets(t *testing.T) {
	X := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	set := datasets.New(X, "a", "b").WithClasses("kind", []string{"yes", "no", "yes"})
	if err := set.Check(); err != nil || !slices.Equal(set.Y, []float64{1, 0, 1}) || set.Schema.Name(1) != "b" ||
		!slices.Equal(set.Schema.Classes(), []string{"no", "yes"}) {
		t.Errorf("%v, %+v, %v", set.Y, set.Schema, err)
	}
	if set = set.WithTarget("size", []float64{1, 2, 3}); set.Check() != nil || set.Schema.Classes() != nil {
		t.Errorf("%+v", set)
	}
	for name, bad := range map[string]datasets.Set{
		"class code":            datasets.New(X).WithClasses("kind", []string{"a", "", "b"}),
		"Y must have 3 rows":    datasets.New(X).WithClasses("kind", []string{"a", "b"}),
		"must have 1 columns":   datasets.New(X, "a"),
		`distinct, got "a"`:     datasets.New(X, "a", "a").WithTarget("y", []float64{1, 2, 3}),
		"target must be finite": datasets.New(X).WithTarget("y", []float64{1, math.NaN(), 3}),
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closed is a struct without exported fields.
type closed struct{ size int }

func TestFromMaps(t *testing.T) {
	maps, err := datasets.FromMaps([]map[string]any{{"x": 1, "city": "Bonn", "y": 2.5}, {"y": 3.5, "city": nil},
		{"x": int8(4), "city": "Kiel", "y": float32(1)}}, "y")
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]datasets.Set{"maps": maps} {
		x, city := set.Schema.Index("x"), set.Schema.Index("city")
		if set.Rows() != 3 || set.X.At(2, x) != 4 || !math.IsNaN(set.X.At(1, x)) || set.X.At(2, city) != 1 ||
			!math.IsNaN(set.X.At(1, city)) || !slices.Equal(set.Y, []float64{2.5, 3.5, 1}) {
			t.Errorf("%s: %v, %v", name, mat.Formatted(set.X), set.Y)
		}
	}
}

func TestMemoryErrors(t *testing.T) {
	type nested struct {
		X int
		Y struct{ A int }
	}
	type wrong struct {
		A int `bochner:"a,category"`
		B int `bochner:"a"`
	}
	type weighted struct {
		X int
		Y string `bochner:",numeric"`
	}
	for want, run := range map[string]func() (datasets.Set, error){
		"rows must be a slice of structs, got int": func() (datasets.Set, error) { return datasets.FromStructs(3, "") },
		"row 1 must not be a nil pointer":          func() (datasets.Set, error) { return datasets.FromStructs([]*nested{{}, nil}, "") },
		"tag option must be categorical, numeric, text, target, class, weight, group, got \"category\"|column name \"a\" is " +
			"taken": func() (datasets.Set, error) {
			return datasets.FromStructs([]wrong{{}}, "")
		},
		"row 0, column Y: must be a number, a string, a bool or a time.Time": func() (datasets.Set, error) {
			return datasets.FromStructs([]nested{{}}, "")
		},
		`row 1, column Y: must be a number, got "b"`: func() (datasets.Set, error) {
			return datasets.FromStructs([]weighted{{1, "2"}, {1, "b"}}, "")
		},
		`target must be a column, got "Z"`: func() (datasets.Set, error) {
			return datasets.FromStructs([]weighted{{1, "2"}}, "Z")
		},
		"row 1, column x: must be a float64 as in the rows before, got a string": func() (datasets.Set, error) {
			return datasets.FromMaps([]map[string]any{{"x": 1}, {"x": "one"}}, "")
		},
		"row 1, column y: target must not be missing": func() (datasets.Set, error) {
			return datasets.FromMaps([]map[string]any{{"x": 1, "y": "a"}, {"x": 2}}, "y")
		},
		"column b must have 2 values as a, got 1": func() (datasets.Set, error) {
			return datasets.FromSlices(map[string]any{"a": []int{1, 2}, "b": []int{1}}, "")
		},
		"column b must be a slice, got int": func() (datasets.Set, error) {
			return datasets.FromSlices(map[string]any{"a": []int{1, 2}, "b": 1}, "")
		},
		"rows must be structs with exported fields, and datasets_test.closed has none": func() (datasets.Set, error) {
			return datasets.FromStructs([]closed{{1}}, "")
		},
		"nothing to learn from: 0 rows": func() (datasets.Set, error) { return datasets.FromMaps(nil, "") },
	} {
		_, err := run()
		for part := range strings.SplitSeq(want, "|") {
			if err == nil || !strings.HasPrefix(err.Error(), "datasets: ") || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v", part, err)
			}
		}
	}
}

// Integers beyond 2^53 stay distinct as categories, classes and groups, whatever holds them.
func TestExactIntegers(t *testing.T) {
	type visit struct {
		User  int64  `bochner:"user,categorical"`
		Class uint64 `bochner:"class,class"`
		Shop  int64  `bochner:"shop,group"`
		X     float64
	}
	const base = 1 << 60
	var structs []visit
	var maps []map[string]any
	for i := range int64(6) {
		structs = append(structs, visit{base + i%3, math.MaxUint64 - uint64(i%2), -base - i%3, 1})
		maps = append(maps, map[string]any{"user": json.Number(fmt.Sprint(base + i%3)), "shop": base + i, "x": 1.5,
			"class": json.Number(fmt.Sprintf("1%024d", i%2))})
	}
	set, err := datasets.FromStructs(structs, "class")
	if err != nil {
		t.Fatal(err)
	}
	users := []string{"1152921504606846976", "1152921504606846977", "1152921504606846978"}
	if !slices.Equal(set.Schema.Columns[0].Categories, users) || set.X.At(5, 0) != 2 {
		t.Errorf("categories %q, last code %v", set.Schema.Columns[0].Categories, set.X.At(5, 0))
	}
	if !slices.Equal(set.Schema.Classes(), []string{"18446744073709551614", "18446744073709551615"}) ||
		!slices.Equal(set.Y, []float64{1, 0, 1, 0, 1, 0}) {
		t.Errorf("classes %q, codes %v", set.Schema.Classes(), set.Y)
	}
	if !slices.Equal(set.Groups, []int{2, 1, 0, 2, 1, 0}) {
		t.Errorf("groups %v", set.Groups)
	}
	if set, err = datasets.FromStructs(structs, ""); err != nil || len(set.Schema.Classes()) != 2 {
		t.Errorf("the option is no target: classes %q, %v", set.Schema.Classes(), err)
	}
	if set, err = datasets.FromStructs(structs, "X"); err != nil || len(set.Schema.Columns[1].Categories) != 2 {
		t.Errorf("another target: columns %+v, %v", set.Schema.Columns, err)
	}
	set, err = datasets.FromMaps(maps, "shop")
	if err != nil || set.Schema.Classes() != nil || set.Y[0] != base {
		t.Errorf("maps: classes %q, %v, %v", set.Schema.Classes(), set.Y, err)
	}
}

// RowError is found as a value and as a pointer.
func TestRowErrorAs(t *testing.T) {
	err := datasets.New(mat.NewDense(2, 1, []float64{1, math.Inf(1)})).Check()
	var pointer *datasets.RowError
	var value datasets.RowError
	if !errors.As(err, &pointer) || pointer.Row != 1 || !errors.As(err, &value) || value.Row != 1 {
		t.Errorf("%v: %v, %v", err, pointer, value)
	}
	if err := error(datasets.RowError{Row: 3}); !errors.As(err, &pointer) || pointer.Row != 3 {
		t.Errorf("a value as a pointer: %v", pointer)
	}
}

// The parts of a time are those in UTC.
func TestTimesAreUTC(t *testing.T) {
	berlin := time.FixedZone("", 2*60*60)
	set, err := datasets.FromSlices(map[string]any{"at": []time.Time{time.Date(2024, 4, 1, 0, 30, 0, 0, berlin)}}, "")
	if err != nil || !slices.Equal(mat.Row(nil, 0, set.X), []float64{2024, 3, 31, 7, 22}) {
		t.Errorf("%v, %v", set.X, err)
	}
}

// The kind of a target follows from its tag or type, whether 3 or 12 values occur.
func TestTargetKind(t *testing.T) {
	type rated struct {
		X     float64
		Stars int `bochner:",class"`
	}
	type counted struct {
		X     float64
		Stars int `bochner:",numeric"`
	}
	type real struct{ X, Stars float64 }
	type named struct {
		X     float64
		Stars string
	}
	type plain struct {
		X     float64
		Stars int
	}
	for _, different := range []int{3, 12} {
		var a []rated
		var b []counted
		var c []real
		var d []named
		var e []plain
		for i := range 24 {
			x, stars := float64(i), i%different
			a, b, c = append(a, rated{x, stars}), append(b, counted{x, stars}), append(c, real{x, float64(stars)})
			d, e = append(d, named{x, strconv.Itoa(stars)}), append(e, plain{x, stars})
		}
		for _, rows := range []struct {
			list    any
			classes bool
		}{{a, true}, {b, false}, {c, false}, {d, true}, {e, false}} {
			set, err := datasets.FromStructs(rows.list, "Stars")
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if rows.classes {
				want = different
			}
			if got := len(set.Schema.Classes()); got != want {
				t.Errorf("%T with %d values: %d classes", rows.list, different, got)
			}
		}
	}
}

// FromSeq reads the rows of an iterator until its first error.
func TestFromSeq(t *testing.T) {
	type flat struct{ Size, Rent float64 }
	rows := []flat{{50, 500}, {70, 710}, {90, 880}}
	broken := errors.New("connection lost")
	seq := func(end error) iter.Seq2[flat, error] {
		return func(yield func(flat, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if end != nil && yield(flat{}, end) {
				t.Error("FromSeq continues after an error")
			}
		}
	}
	got, err := datasets.FromSeq(seq(nil), "Rent")
	if err != nil {
		t.Fatal(err)
	}
	want, err := datasets.FromStructs(rows, "Rent")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	if _, err := datasets.FromSeq(seq(broken), "Rent"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "row 3") {
		t.Error(err)
	}
}

// CheckInput returns the errors of inputs that a fitted step cannot use.
func TestCheckInput(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	bad := mat.NewDense(2, 3, []float64{1, 2, 3, 4, math.NaN(), 6})
	text, err := datasets.New(mat.NewDense(2, 2, nil)).WithText("words", []string{"a b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ctx  context.Context
		X    mat.Matrix
		want string
		is   error
	}{
		{context.Background(), mat.NewDense(2, 3, nil), "", nil},
		{ended, mat.NewDense(2, 3, nil), "canceled", context.Canceled},
		{context.Background(), nil, "no rows", datasets.ErrEmpty},
		{context.Background(), &mat.Dense{}, "no rows", datasets.ErrEmpty},
		{context.Background(), mat.NewDense(2, 4, nil), "3 columns at fit, 4 now", nil},
		{context.Background(), text.X, "column 2 must be numeric, got text", nil},
		{context.Background(), bad, "row 1", datasets.ErrMissing},
		{context.Background(), matrices.CSRFromDense(bad), "row 1", datasets.ErrMissing},
	} {
		err := datasets.CheckInput(c.ctx, c.X, 3)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
			c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}
