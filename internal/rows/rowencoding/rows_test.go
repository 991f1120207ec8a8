package rowencoding_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
)

// flats contains training rows: two numbers, two categories, a date and the target.
const flats = "size,code,name,sold,price\n50,1,old,2024-02-29,low\n60.5,2,new,1999-12-31,high\n?,1,,,low\n"

func flatOptions() csv.Options {
	return csv.Options{
		FS: fstest.MapFS{"flats.csv": {Data: []byte(flats)}}, Missing: []string{"?"},
		Roles: datasets.Roles{Target: []string{"price"}, Kinds: map[string]datasets.Kind{"code": datasets.Categorical},
			Dates: map[string]datasets.Date{"sold": {Parts: []string{"year", "weekday"}}}},
	}
}

func readFlats(t *testing.T) datasets.Set {
	t.Helper()
	set, err := flatOptions().ReadFile(context.Background(), "flats.csv")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func encode(s datasets.Schema, rows []map[string]any) (datasets.Set, error) {
	return rowencoding.New(s, len(s.Columns), nil, nil).Encode(rows)
}

// same compares matrices, a missing value being equal to another.
func same(a, b mat.Matrix) bool {
	n, d := a.Dims()
	if m, e := b.Dims(); m != n || e != d {
		return false
	}
	for i := range n {
		for j := range d {
			if x, y := a.At(i, j), b.At(i, j); x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
				return false
			}
		}
	}
	return true
}

// Named rows are encoded as a file with the same strings, including categories and targets that
// training did not have.
func TestEncodeTextsAsRead(t *testing.T) {
	learned := readFlats(t)
	const more = "size,code,name,sold,price\n 7.25 ,2,old,2024-03-01,high\n1e3,9,ancient,,none\n?,,?,1.3.2024,\n"
	o := flatOptions()
	o.FS = fstest.MapFS{"more.csv": {Data: []byte(more)}}
	o.Kinds, o.Target, o.Schema, o.Unlabeled = nil, nil, &learned.Schema, true
	want, err := o.ReadFile(context.Background(), "more.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(more), "\n")
	var rows []map[string]any
	for _, line := range lines[1:] {
		row := map[string]any{}
		for j, field := range strings.Split(line, ",") {
			row[strings.Split(lines[0], ",")[j]] = field
		}
		rows = append(rows, row)
	}
	got, err := encode(learned.Schema, rows)
	if err != nil {
		t.Fatal(err)
	}
	if !same(got.X, want.X) || !same(mat.NewVecDense(3, got.Y), mat.NewVecDense(3, want.Y)) {
		t.Errorf("encoded\n%v %v\nread\n%v %v", mat.Formatted(got.X), got.Y, mat.Formatted(want.X), want.Y)
	}
	if got.X.At(1, 1) != datasets.Unknown || got.X.At(1, 2) != datasets.Unknown {
		t.Error("unknown categories are not Unknown")
	}
}

type size int

// TestEncodeTypes checks that equivalent values of different types give the same row.
func TestEncodeTypes(t *testing.T) {
	s := readFlats(t).Schema
	day := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	want := mat.NewDense(1, 5, []float64{50, 0, 1, 2024, 4})
	for _, row := range []map[string]any{
		{"size": 50.0, "code": "1", "name": "old", "sold": day},
		{"size": 50, "code": 1, "name": " old", "sold": "2024-02-29"},
		{"size": float32(50), "code": 1.0, "name": "old", "sold_year": 2024, "sold_weekday": uint8(4)},
		{"size": json.Number("50"), "code": json.Number("1"), "name": "old", "sold": day},
		{"size": size(50), "code": json.Number("1.0"), "name": "old", "sold": day},
		{"size": "5e1", "code": "1", "name": "old", "sold": "29.2.2024"},
	} {
		got, err := encode(s, []map[string]any{row})
		if err != nil {
			t.Errorf("%v: %v", row, err)
		} else if !same(got.X, want) || got.Y != nil {
			t.Errorf("%v became %v, %v", row, mat.Formatted(got.X), got.Y)
		}
	}
	none := math.NaN()
	want = mat.NewDense(1, 5, []float64{none, none, none, none, none})
	for _, v := range []any{nil, "", "?", none} {
		row := map[string]any{"size": v, "code": v, "name": v, "sold": v}
		if _, is := v.(float64); is {
			row["sold"] = nil
		}
		if got, err := encode(s, []map[string]any{row}); err != nil || !same(got.X, want) {
			t.Errorf("%v as a missing value: %v, %v", v, got.X, err)
		}
	}
	s.Missing = nil // the reader's own
	if got, err := encode(s, []map[string]any{{"size": "NaN", "code": "nan", "name": "NaN", "sold": "nan"}}); err != nil ||
		!same(got.X, want) {
		t.Errorf("NaN as a missing value: %v, %v", got.X, err)
	}
	flags := datasets.Schema{Columns: []datasets.Column{{Name: "number"},
		{Name: "level", Kind: datasets.Categorical, Categories: []string{"False", "True"}}}}
	got, err := encode(flags, []map[string]any{{"number": true, "level": true}, {"number": false, "level": false}})
	if err != nil || !same(got.X, mat.NewDense(2, 2, []float64{1, 1, 0, 0})) {
		t.Errorf("bools became %v, %v", got.X, err)
	}
}

// TestEncodeExactIntegers checks that integers beyond 2^53 are categories by their digits, and that a
// zone of a time does not change its parts.
func TestEncodeExactIntegers(t *testing.T) {
	s := datasets.Schema{Columns: []datasets.Column{{Name: "id", Kind: datasets.Categorical,
		Categories: []string{"7", "9007199254740993", "18446744073709551615"}}}}
	for _, c := range []struct {
		v    any
		code float64
	}{
		{int64(9007199254740993), 1}, {int64(9007199254740992), datasets.Unknown}, {uint64(math.MaxUint64), 2},
		{json.Number("9007199254740993"), 1}, {json.Number("9007199254740992"), datasets.Unknown}, {uint8(7), 0},
		{json.Number("7.0"), 0}, {"9007199254740993", 1},
	} {
		for _, rows := range []int{1, 40} {
			got, err := encode(s, slices.Repeat([]map[string]any{{"id": c.v}}, rows))
			if err != nil || got.X.At(rows-1, 0) != c.code {
				t.Errorf("%T %v in %d rows: %v, %v; want %v", c.v, c.v, rows, got.X, err, c.code)
			}
		}
	}
	day := time.Date(2024, 2, 29, 23, 0, 0, 0, time.FixedZone("", -3*60*60))
	got, err := encode(readFlats(t).Schema, []map[string]any{{"size": 1, "code": 1, "name": "old", "sold": day}})
	if err != nil || got.X.At(0, 4) != 5 {
		t.Errorf("weekday %v, %v; want Friday in UTC", got.X, err)
	}
}

// TestEncodeWithoutDate checks that a date without a value is one error.
func TestEncodeWithoutDate(t *testing.T) {
	s := readFlats(t).Schema
	for want, row := range map[string]map[string]any{
		"row 0, column sold: no value; a missing one is nil":         {"size": 1, "code": 1, "name": "old"},
		"row 0, column sold_weekday: no value; a missing one is nil": {"size": 1, "code": 1, "name": "old", "sold_year": 1},
	} {
		if _, err := encode(s, []map[string]any{row}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestEncodeErrors checks that all errors are reported at once, with row and column, and that an
// error of several rows is listed once.
func TestEncodeErrors(t *testing.T) {
	s := readFlats(t).Schema
	set, err := encode(s, []map[string]any{
		{"size": "large", "code": []int{1}, "name": "old", "sold": "31/3/2024"},
		{"size": math.Inf(1), "code": 1, "nmae": "old", "sold": nil, "sold_year": 3},
		{"size": "0x1p4", "code": 1, "nmae": "old", "sold": nil},
		{"size": "inf", "code": 1, "name": "old", "sold": nil},
	})
	const want = `row 0, column code: must be a category, got a []int
row 0, column size: must be a number, got "large"
row 0, column sold: must be a date such as 2024-03-31, got "31/3/2024"
row 1, column nmae: the model has no such column; it has size, code, name, sold_year, sold_weekday (and in 1 more row)
row 1, column size: must be a number, got +Inf
row 1, column sold_year: given twice: the date sold has it too
row 1, column name: no value; a missing one is nil (and in 1 more row)
row 2, column size: must be a number, got "0x1p4"
row 3, column size: must be a number, got "inf"`
	if err == nil || err.Error() != want {
		t.Errorf("errors:\n%v\nwant:\n%s", err, want)
	}
	if set.X != nil {
		t.Error("there are rows in spite of errors")
	}
	var at *datasets.RowError
	if !errors.As(err, &at) || at.Row != 0 || at.Column != "code" {
		t.Errorf("as a RowError: %v", at)
	}
	var many []map[string]any
	for i := range 60 {
		many = append(many, map[string]any{"size": strings.Repeat("x", i+1), "code": nil, "name": nil, "sold": nil})
	}
	if _, err = encode(s, many); err == nil || strings.Count(err.Error(), "\n") != 20 ||
		!strings.HasSuffix(err.Error(), "\nand 40 more errors") {
		t.Errorf("of 60 errors: %v", err)
	}
}

// TestEncodeNames checks that a column with the name of a date is a column, and that the target may
// be missing.
func TestEncodeNames(t *testing.T) {
	s := datasets.Schema{Columns: []datasets.Column{{Name: "sold"}, {Name: "sold_year"}},
		Targets: []datasets.Column{{Name: "y"}}}
	got, err := encode(s, []map[string]any{{"sold": 3, "sold_year": 2024}})
	if err != nil || !same(got.X, mat.NewDense(1, 2, []float64{3, 2024})) || got.Y != nil {
		t.Errorf("%v, %v, %v", got.X, got.Y, err)
	}
	got, err = encode(s, []map[string]any{{"sold": 3, "sold_year": 2024}, {"sold": 3, "sold_year": 2024, "y": 7}})
	if err != nil || len(got.Y) != 2 || got.Y[0] == got.Y[0] || got.Y[1] != 7 {
		t.Errorf("targets %v, %v", got.Y, err)
	}
}

// No rows are a set without rows.
func TestEncodeNothing(t *testing.T) {
	s := readFlats(t).Schema
	if got, err := encode(s, nil); err != nil || got.Rows() != 0 {
		t.Errorf("%d rows, %v", got.Rows(), err)
	}
}

// TestEncodeManyRows checks that many rows, encoded by a lookup table, get the same codes as single
// rows.
func TestEncodeManyRows(t *testing.T) {
	s := readFlats(t).Schema
	var rows []map[string]any
	for i := range 60 {
		rows = append(rows, map[string]any{"size": i, "code": 1 + i%3, "name": []string{"old", "new", "odd", " old "}[i%4],
			"sold": nil})
	}
	all, err := encode(s, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		one, err := encode(s, []map[string]any{row})
		if err != nil || !same(one.X, rowblock.Slice(all.X, i, i+1)) {
			t.Fatalf("row %d: %v alone, %v with others, %v", i, one.X, rowblock.Slice(all.X, i, i+1), err)
		}
	}
}

// TestEncodeUnits checks that numbers of a column with a unit are plain numbers, or strings with the unit.
func TestEncodeUnits(t *testing.T) {
	s := datasets.Schema{Columns: []datasets.Column{{Name: "ram", Format: datasets.Format{Unit: "GB"}}}}
	for _, v := range []any{8, 8.0, json.Number("8"), "8 GB", "8GB"} {
		if got, err := encode(s, []map[string]any{{"ram": v}}); err != nil || got.X.At(0, 0) != 8 {
			t.Errorf("%v became %v, %v", v, got.X, err)
		}
	}
	for _, v := range []any{true, "8 MB", math.Inf(1), []int{8}} {
		_, err := encode(s, []map[string]any{{"ram": v}})
		if err == nil || !strings.Contains(err.Error(), `must be a number of GB, or a string such as "8 GB"`) {
			t.Errorf("%v: %v", v, err)
		}
	}
}
