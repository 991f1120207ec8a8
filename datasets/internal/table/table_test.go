package table

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
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

// TestLevels: levels are in order of letters, and in order of size where all are numbers.
func TestLevels(t *testing.T) {
	r := records{Form{Name: "f", Columns: columns("a", "b", "c")}, [][]string{{"10", "b", "1"}, {"9", "10", "1.0"}, {"-1", "9", "-0"}, {"", "", "0"}}}
	all := datasets.Categorical
	src, err := Open(context.Background(), r, datasets.Roles{Kinds: map[string]datasets.Kind{"a": all, "b": all, "c": all}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range src.Schema().Columns {
		got = append(got, strings.Join(c.Levels, "|"))
	}
	if want := "-1|9|10 10|9|b -0|0|1|1.0"; strings.Join(got, " ") != want {
		t.Errorf("levels %q, wanted %q", got, want)
	}
}

// TestMostlyNumbers: below nine tenths of numbers a column is text, from there on a text is a fault.
func TestMostlyNumbers(t *testing.T) {
	for texts := 1; texts <= 4; texts++ {
		r := records{form: Form{Name: "f", Columns: columns("a")}}
		for i := range 20 - texts {
			r.rows = append(r.rows, []string{fmt.Sprint(i)})
		}
		for range texts {
			r.rows = append(r.rows, []string{"x"})
		}
		src, err := Open(context.Background(), r, datasets.Roles{})
		if texts <= 2 {
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(`f:%d: column a: "x" is not a number, though %d %% of the values are`, 21-texts, 100-5*texts)) {
				t.Errorf("%d texts: error %v", texts, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := src.Schema().Columns[0]; c.Kind != datasets.Categorical || len(c.Levels) != 21-texts {
			t.Errorf("%d texts: a %v column of %d levels", texts, c.Kind, len(c.Levels))
		}
	}
}

// TestTooManyLevels: the levels of a column are bounded, and so is the memory.
func TestTooManyLevels(t *testing.T) {
	l := &layout{file: "f", columns: columns("id")}
	c := learned{levels: make(map[string]struct{}, maxLevels)}
	for i := range maxLevels {
		c.levels[fmt.Sprint(i)] = struct{}{}
	}
	if err := c.add(l, 7, 0, []byte("5")); err != nil {
		t.Error(err)
	}
	if err := c.add(l, 7, 0, []byte("one more")); err == nil || err.Error() != "f:7: column id: more than 1048576 levels; drop the column" {
		t.Error(err)
	}
}

// TestNames: a name goes before a number, and a schema's target is found by its name alone.
func TestNames(t *testing.T) {
	rows := [][]string{{"1", "2", "3"}, {"4", "5", "6"}}
	src, err := Open(context.Background(), records{Form{Name: "f", Columns: columns("2", "a", "b")}, rows}, datasets.Roles{Target: []string{"2"}, Drop: []string{"-1"}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := datasets.Gather(context.Background(), src)
	if err != nil || set.Y[0] != 1 || set.Cols() != 1 || set.X.At(0, 0) != 2 {
		t.Errorf("target %v, inputs %v, %v", set.Y, set.X, err)
	}
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}}, Targets: []datasets.Column{{Name: "1"}}}
	src, err = Open(context.Background(), records{Form{Name: "f", Columns: columns("b", "a")}, [][]string{{"1", "2"}}}, datasets.Roles{Schema: &schema})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = datasets.Gather(context.Background(), src); err != nil || set.Y != nil || set.X.At(0, 0) != 2 {
		t.Errorf("target %v, inputs %v, %v", set.Y, set.X, err)
	}
	schema.Columns[1].Name = "a"
	if _, err := Open(context.Background(), records{Form{Name: "f", Columns: columns("a")}, rows}, datasets.Roles{Schema: &schema}); err == nil || err.Error() != `f: the schema has two columns called "a"` {
		t.Error(err)
	}
}

// TestManyNames: a list of columns in an error does not grow without bound.
func TestManyNames(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("c", i))
	}
	_, err := Open(context.Background(), records{Form{Name: "f", Columns: columns(names...)}, nil}, datasets.Roles{Target: []string{"y"}})
	if want := `f: target: no column "y"; there are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 88 more`; err == nil || err.Error() != want {
		t.Errorf("error %v, wanted %s", err, want)
	}
}
