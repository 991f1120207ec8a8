package table

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// records is a Reader of fields in memory.
type records struct {
	form Form
	rows [][]string // "" is a missing value
}

func (r records) Form() Form { return r.form }

func (r records) Records(_ context.Context, yield func(*Record) error) error {
	for i, row := range r.rows {
		rec := Record{Line: i + 1}
		for _, field := range row {
			if field == "" {
				rec.Fields = append(rec.Fields, nil)
			} else {
				rec.Fields = append(rec.Fields, []byte(field))
			}
		}
		if err := yield(&rec); err != nil {
			return err
		}
	}
	return nil
}

func columns(names ...string) []Column {
	out := make([]Column, len(names))
	for j, name := range names {
		out[j].Name = name
	}
	return out
}

// TestLevels checks that categories are sorted as strings, or numerically if all are numbers.
func TestLevels(t *testing.T) {
	r := records{Form{Name: "f", Columns: columns("a", "b", "c")},
		[][]string{{"10", "b", "1"}, {"9", "10", "1.0"}, {"-1", "9", "-0"}, {"", "", "0"}}}
	all := datasets.Categorical
	src, err := open(context.Background(), r, datasets.Roles{Kinds: map[string]datasets.Kind{"a": all, "b": all,
		"c": all}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range src.Schema().Columns {
		got = append(got, strings.Join(c.Categories, "|"))
	}
	if want := "-1|9|10 10|9|b -0|0|1|1.0"; strings.Join(got, " ") != want {
		t.Errorf("levels %q, want %q", got, want)
	}
}

// TestMostlyNumbers: with fewer than nine tenths of numbers a column is categorical, otherwise a
// string is an error.
func TestMostlyNumbers(t *testing.T) {
	for strs := 1; strs <= 4; strs++ {
		r := records{form: Form{Name: "f", Columns: columns("a")}}
		for i := range 20 - strs {
			r.rows = append(r.rows, []string{fmt.Sprint(i)})
		}
		for range strs {
			r.rows = append(r.rows, []string{"x"})
		}
		src, err := open(context.Background(), r, datasets.Roles{})
		if strs <= 2 {
			if err == nil || !strings.HasPrefix(err.Error(),
				fmt.Sprintf(`f:%d: column a: "x" is not a number, though %d %% of the values are`, 21-strs, 100-5*strs)) {
				t.Errorf("%d strings: error %v", strs, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := src.Schema().Columns[0]; c.Kind != datasets.Categorical || len(c.Categories) != 21-strs {
			t.Errorf("%d strings: a %v column of %d categories", strs, c.Kind, len(c.Categories))
		}
	}
}

// TestTooManyLevels checks that the number of categories of a column and the bytes of their names are
// bounded.
func TestTooManyLevels(t *testing.T) {
	defer func(n, bytes int) { maxCategories, maxCategoryBytes = n, bytes }(maxCategories, maxCategoryBytes)
	r := records{Form{Name: "f", Columns: []Column{{Name: "id", Declared: true, Kind: datasets.Categorical}}},
		[][]string{{"a"}, {"b"}, {"a"}, {"one more"}, {"and another"}}}
	for _, test := range []struct {
		categories, bytes int
		want              string
	}{
		{4, 100, ""},
		{2, 100, "f:4: column id: must have at most 2 categories; drop the column"},
		{4, 9, "f:4: column id: names of categories must have at most 9 bytes in all; drop the column"},
	} {
		maxCategories, maxCategoryBytes = test.categories, test.bytes
		_, err := open(context.Background(), r, datasets.Roles{})
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%d categories of %d bytes: %v, want %s", test.categories, test.bytes, err, test.want)
		}
	}
}

// TestNames checks that a name takes precedence over a number, and that the target of a schema is
// found by name only.
func TestNames(t *testing.T) {
	rows := [][]string{{"1", "2", "3"}, {"4", "5", "6"}}
	src, err := open(context.Background(), records{Form{Name: "f", Columns: columns("2", "a", "b")}, rows},
		datasets.Roles{Target: []string{"2"}, Drop: []string{"-1"}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := datasets.ReadAll(context.Background(), src)
	if err != nil || set.Y[0] != 1 || set.Cols() != 1 || set.X.At(0, 0) != 2 {
		t.Errorf("target %v, inputs %v, %v", set.Y, set.X, err)
	}
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}},
		Targets: []datasets.Column{{Name: "1"}}}
	src, err = open(context.Background(), records{Form{Name: "f", Columns: columns("b", "a")}, [][]string{{"1", "2"}}},
		datasets.Roles{Schema: &schema})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = datasets.ReadAll(context.Background(), src); err != nil || set.Y != nil || set.X.At(0, 0) != 2 {
		t.Errorf("target %v, inputs %v, %v", set.Y, set.X, err)
	}
	schema.Columns[1].Name = "a"
	if _, err := open(context.Background(), records{Form{Name: "f", Columns: columns("a")}, rows},
		datasets.Roles{Schema: &schema}); err == nil || err.Error() != `f: the schema has two columns called "a"` {
		t.Error(err)
	}
}

// TestManyNames: a list of columns in an error does not grow without bound.
func TestManyNames(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("c", i))
	}
	_, err := open(context.Background(), records{Form{Name: "f", Columns: columns(names...)}, nil},
		datasets.Roles{Target: []string{"y"}})
	if want := `f: target: no column "y"; there are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 88 more`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Rows to predict may lack their target or have one that means nothing; rows to score may not, and
// the error lists them all, a dozen of them by line.
func TestRowsWithoutATarget(t *testing.T) {
	schema := &datasets.Schema{Columns: []datasets.Column{{Name: "a"}},
		Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}
	rows := [][]string{{"1", "yes"}, {"2", ""}, {"3", "no"}, {"4", "perhaps"}}
	r := records{Form{Name: "f", Columns: columns("a", "y")}, rows}
	src, err := open(context.Background(), r, datasets.Roles{Schema: schema, Unlabeled: true})
	if err != nil {
		t.Fatal(err)
	}
	set, err := datasets.ReadAll(context.Background(), src)
	if err != nil || fmt.Sprint(set.Y) != "[1 NaN 0 NaN]" {
		t.Errorf("%v, %v", set.Y, err)
	}
	for _, test := range []struct {
		lacking int
		want    string
	}{
		{1, "f:2: column y: the target is missing; set missing_target: drop to skip such rows"},
		{3, "f:2: column y: the target is missing; set missing_target: drop to skip such rows; also in line 3, 4"},
		{40, "f:2: column y: the target is missing; set missing_target: drop to skip such rows; also in line 3, 4, 5, 6, " +
			"7, 8, 9, 10, 11, 12, 13 and 28 more"},
	} {
		r.rows = rows[:1]
		for range test.lacking {
			r.rows = append(r.rows, []string{"2", ""})
		}
		src, err := open(context.Background(), r, datasets.Roles{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		err = src.Blocks(context.Background(), func(block datasets.Set) error {
			t.Error("rows without a target are handed out")
			return nil
		})
		if err == nil || err.Error() != test.want {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}

// TestTargetsThatAreNotRead checks that the target of a schema may be dropped, and that none is
// read if some of several are missing.
func TestTargetsThatAreNotRead(t *testing.T) {
	schema := &datasets.Schema{Columns: []datasets.Column{{Name: "a"}},
		Targets: []datasets.Column{{Name: "y"}, {Name: "z"}}}
	for _, roles := range []datasets.Roles{{}, {Drop: []string{"y"}}, {Drop: []string{"y", "z"}}} {
		columns := columns("a", "y", "z")
		row := []string{"1", "2", "3"}
		if roles.Drop == nil {
			columns, row = columns[:2], row[:2]
		}
		roles.Schema = schema
		src, err := open(context.Background(), records{Form{Name: "f", Columns: columns}, [][]string{row}}, roles)
		if err != nil {
			t.Error(err)
			continue
		}
		set, err := datasets.ReadAll(context.Background(), src)
		if err != nil || set.Targets != nil || set.Cols() != 1 {
			t.Errorf("%d columns, targets %v, %v", set.Cols(), set.Targets, err)
		}
	}
}

// A passthrough column is available as strings in addition to its role, in any part of the rows.
func TestKeptColumns(t *testing.T) {
	schema := &datasets.Schema{Columns: []datasets.Column{{Name: "a"}}}
	r := records{form: Form{Name: "f", Columns: columns("id", "a")}}
	for i := range 5000 {
		r.rows = append(r.rows, []string{fmt.Sprint("n", i), fmt.Sprint(i)})
	}
	r.rows[7][0] = ""
	src, err := open(context.Background(), r, datasets.Roles{Schema: schema, Passthrough: []string{"id", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	part, err := rowsource.Subset(rowsource.Prefetch(src), []int{7, 8, 4999})
	if err != nil {
		t.Fatal(err)
	}
	set, err := datasets.ReadAll(context.Background(), part)
	if err != nil || fmt.Sprint(set.Passthrough) != "[[ 7] [n8 8] [n4999 4999]]" || set.Cols() != 1 {
		t.Errorf("%v, %d columns, %v", set.Passthrough, set.Cols(), err)
	}
	if got := set.Slice(1, 3).Select([]int{1}).Passthrough; fmt.Sprint(got) != "[[n4999 4999]]" {
		t.Errorf("%v", got)
	}
	set.Passthrough = set.Passthrough[:2]
	if err := set.Check(); err == nil {
		t.Error("Check accepts passthrough strings of too few rows")
	}
	if _, err := open(context.Background(), r, datasets.Roles{Passthrough: []string{"di"}}); err == nil ||
		err.Error() != `f: keep: no column "di"; there are id, a` {
		t.Error(err)
	}
	sparse := records{Form{Name: "f", Sparse: true, Columns: []Column{{Name: "a"},
		{Name: "b", Declared: true, Kind: datasets.Categorical, Categories: []string{"u", "v"}}}}, [][]string{}}
	src, err = open(context.Background(), sparseRecord{sparse}, datasets.Roles{Passthrough: []string{"b", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = datasets.ReadAll(context.Background(), src); err != nil || fmt.Sprint(set.Passthrough) != "[[u 5]]" {
		t.Errorf("%v, %v", set.Passthrough, err)
	}
}

// sparseRecord is one sparse record with a 5 in the first column.
type sparseRecord struct{ records }

func (r sparseRecord) Records(_ context.Context, yield func(*Record) error) error {
	return yield(&Record{Line: 1, Columns: []int{0}, Fields: [][]byte{[]byte("5")}})
}

// TestTargetsThatScore checks that a target for scores only is categorical, even if its labels are
// numbers, and that anomaly detection allows rows without it.
func TestTargetsThatScore(t *testing.T) {
	ctx := context.Background()
	r := records{Form{Name: "f", Columns: columns("a", "b")}, [][]string{{"1", "7"}, {"2", "3.5"}}}
	for _, task := range []datasets.Task{datasets.Clustering, datasets.Anomaly} {
		src, err := open(ctx, r, datasets.Roles{Target: []string{"b"}, Task: task})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(src.Schema().Classes(), " "); got != "3.5 7" {
			t.Errorf("%s: classes %q", task, got)
		}
		if src, err = open(ctx, r, datasets.Roles{Task: task}); err != nil {
			t.Fatal(err)
		}
		if s := src.Schema(); len(s.Targets) != 0 || len(s.Columns) != 2 {
			t.Errorf("%s: without a target: %v", task, s)
		}
	}
	src, err := open(ctx, r, datasets.Roles{Target: []string{"b"}, Positive: []string{"9"}, Task: datasets.Anomaly})
	if err != nil || strings.Join(src.Schema().Classes(), " ") != "rest 9" {
		t.Errorf("anomalies that do not occur: %v", err)
	}
	if _, err = open(ctx, r, datasets.Roles{Target: []string{"b"}, Positive: []string{"9"},
		Task: datasets.Clustering}); err == nil {
		t.Error("a positive class that does not occur was taken")
	}
}
