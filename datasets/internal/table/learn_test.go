package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// parts splits records into consecutive parts, learns each independently, and merges them in a
// random tree.
type parts struct {
	random *rand.Rand
	begin  func() *SchemaLearner // of no records
	rows   [][]string
	lines  []int
}

// learn returns the state learned from a part.
func (p *parts) learn(t *testing.T, lo, hi int) *SchemaLearner {
	t.Helper()
	if hi-lo > 1 && p.random.IntN(4) > 0 {
		mid := lo + p.random.IntN(hi-lo+1)
		a := p.learn(t, lo, mid)
		if err := a.Merge(p.learn(t, mid, hi)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	out := p.begin().newPart()
	before := 0
	if lo > 0 {
		before = p.lines[lo-1]
	}
	for i := lo; i < hi; i++ {
		out.add(record(p.rows[i], p.lines[i]-before), nil)
		out.lines = p.lines[i] - before
	}
	return out
}

func record(fields []string, line int) *Record {
	rec := &Record{Line: line}
	for _, field := range fields {
		if field == "" {
			rec.Fields = append(rec.Fields, nil)
		} else {
			rec.Fields = append(rec.Fields, []byte(field))
		}
	}
	return rec
}

// columnsOf lists generators of the fields of a test column.
var columnsOf = []func(r *rand.Rand, i int) string{
	func(r *rand.Rand, i int) string { return fmt.Sprint(r.IntN(9)) },
	func(r *rand.Rand, i int) string { return string(rune('a' + r.IntN(5))) },
	func(r *rand.Rand, i int) string { return [...]string{"1", "2", "u", "v", "1.0"}[r.IntN(5)] },
	func(r *rand.Rand, i int) string { return [...]string{"", "", "7", "x"}[r.IntN(4)] },
	func(r *rand.Rand, i int) string { return [...]string{"", "1"}[r.IntN(2)] },
	func(r *rand.Rand, i int) string {
		if r.IntN(20) == 0 {
			return "?"
		}
		return fmt.Sprint(i)
	},
	func(r *rand.Rand, i int) string {
		if i < 20 {
			return fmt.Sprint(i)
		}
		return "late"
	},
}

// Parts of the records, merged in any tree, learn the same as one pass: the schema, the positions
// of missing values, and each error with its line.
func TestMergedParts(t *testing.T) {
	schemas, faulty, late := 0, 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		form := Form{Name: "f", Columns: columns("a", "b", "c", "d", "e")}
		roles := datasets.Roles{}
		if r.IntN(2) == 0 {
			roles.Target = []string{"e"}
			roles.Task = datasets.Task([]string{"", "regression", "classification"}[r.IntN(3)])
		}
		if r.IntN(4) == 0 {
			roles.Weight = "d"
		}
		if r.IntN(4) == 0 {
			roles.Kinds = map[string]datasets.Kind{"c": datasets.Kind(r.IntN(2))}
		}
		p := parts{random: r}
		n, line := r.IntN(60), 1
		of := r.Perm(len(columnsOf))
		for i := range n {
			var row []string
			for j := range form.Columns {
				row = append(row, columnsOf[of[j]](r, i))
			}
			line += 1 + r.IntN(3)
			p.rows, p.lines = append(p.rows, row), append(p.lines, line)
		}
		at, err := arrange(form, roles)
		if err != nil {
			t.Fatal(err)
		}
		one := &SchemaLearner{roles: roles}
		one.setForm(form, at)
		p.begin = func() *SchemaLearner { return one }
		read := func(l *SchemaLearner) *SchemaLearner {
			l.files = []fileRows{{file: "f"}}
			for i := range n {
				l.add(record(p.rows[i], p.lines[i]), nil)
			}
			return l
		}
		read(one)
		many := p.learn(t, 0, n)
		schema, err := finish(one, read)
		got, gotErr := finish(many, func(l *SchemaLearner) *SchemaLearner {
			p.begin = func() *SchemaLearner { return l }
			return p.learn(t, 0, n)
		})
		if fmt.Sprint(err) != fmt.Sprint(gotErr) || !reflect.DeepEqual(schema, got) {
			t.Fatalf("seed %d: one pass: %v, %v\nparts: %v, %v", seed, schema, err, got, gotErr)
		}
		if !reflect.DeepEqual(one.content(), many.content()) || many.Rows() != n {
			t.Fatalf("seed %d: one pass: %v of %d rows\nparts: %v of %d", seed, one.content(), n, many.content(), many.Rows())
		}
		switch {
		case err != nil:
			faulty++
		default:
			schemas++
		}
		if len(one.Deferred()) > 0 {
			late++
		}
	}
	if min(schemas, faulty, late) < 100 {
		t.Errorf("%d schemas, %d with faults, %d read again: too few of a kind", schemas, faulty, late)
	}
}

// finish returns the schema, after another pass if one is needed.
func finish(l *SchemaLearner, read func(l *SchemaLearner) *SchemaLearner) (datasets.Schema, error) {
	if l.err(nil) == nil && len(l.Deferred()) > 0 {
		l = read(l.SecondPass())
	}
	return l.Schema()
}

// The first category above a limit is found in its row, wherever the parts are cut.
func TestMergedLevels(t *testing.T) {
	defer func(n, bytes int) { maxCategories, maxCategoryBytes = n, bytes }(maxCategories, maxCategoryBytes)
	for want, limits := range map[string][2]int{
		"must have at most 6 categories; drop the column":                       {6, 1 << 20},
		"names of categories must have at most 6 bytes in all; drop the column": {1 << 20, 6},
	} {
		maxCategories, maxCategoryBytes = limits[0], limits[1]
		testMergedLevels(t, want)
	}
}

func testMergedLevels(t *testing.T, message string) {
	over, named := 0, false
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		form := Form{Name: "f", Columns: []Column{{Name: "y", Declared: true, Kind: datasets.Categorical}, {Name: "x"}}}
		roles := datasets.Roles{Target: []string{"y"}}
		at, err := arrange(form, roles)
		if err != nil {
			t.Fatal(err)
		}
		one := &SchemaLearner{roles: roles, files: []fileRows{{file: "f"}}}
		one.setForm(form, at)
		p := parts{random: r, begin: func() *SchemaLearner { return one }}
		for i := range r.IntN(40) {
			row := []string{fmt.Sprint(r.IntN(8)), "1"}
			if r.IntN(10) == 0 {
				row[0] = ""
			}
			p.rows, p.lines = append(p.rows, row), append(p.lines, 2*i+2)
			one.add(record(row, 2*i+2), nil)
		}
		if one.columns[0].excess != nil {
			over++
		}
		named = named || strings.Contains(fmt.Sprint(one.err(nil)), message)
		if want, got := fmt.Sprint(one.err(nil)), fmt.Sprint(p.learn(t, 0, len(p.rows)).err(nil)); got != want {
			t.Fatalf("seed %d: one pass: %s\nparts: %s", seed, want, got)
		}
	}
	if over < 100 || !named {
		t.Errorf("above a limit %d times only; error %q: %t", over, message, named)
	}
}

// Files are learned in sequence: row numbers continue, line numbers restart, and errors name the
// file.
func TestMergedFiles(t *testing.T) {
	ctx := context.Background()
	roles := datasets.Roles{Target: []string{"b"}, Task: datasets.Regression}
	file := func(name string, rows ...[]string) *SchemaLearner {
		l, err := learn(ctx, records{Form{Name: name, Columns: columns("a", "b")}, rows}, Begin(roles))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := file("f", []string{"1", "2"}, []string{"2", "3"})
	middle := func() *SchemaLearner {
		return file("g", []string{"", "4"}, []string{"u", "5"}, []string{"v", "many"})
	}
	second := middle()
	third := file("h", []string{"v", "more"})
	for _, right := range []bool{false, true} {
		all := Begin(roles)
		list := []*SchemaLearner{file("f", []string{"1", "2"}, []string{"2", "3"}), second, third}
		if right {
			joined := middle()
			if err := joined.Merge(third); err != nil {
				t.Fatal(err)
			}
			list = []*SchemaLearner{first, Begin(roles), joined}
		}
		for _, l := range list {
			if err := all.Merge(l); err != nil {
				t.Fatal(err)
			}
		}
		if got := all.content()[0].Missing; got == nil || *got != (datasets.Position{Row: 2, File: "g", Line: 1}) {
			t.Errorf("missing in %v", got)
		}
		if all.Rows() != 6 || strings.Join(all.Deferred(), " ") != "a" {
			t.Errorf("%d rows, late: %s", all.Rows(), all.Deferred())
		}
		if _, err := all.Schema(); err == nil ||
			err.Error() != `g:3: column b: "many" is not a number, and the task is regression (and 1 more in this column)` {
			t.Error(err)
		}
	}
	if err := first.Merge(file("g", []string{"1", "2"})); err != nil || first.Rows() != 3 {
		t.Error(err)
	}
	for _, names := range [][]string{{"c", "b"}, {"b", "a"}} {
		other, err := learn(ctx, records{Form{Name: "g", Columns: columns(names...)}, [][]string{{"7", "x"}}}, Begin(roles))
		if err != nil {
			t.Fatal(err)
		}
		switch err := first.Merge(other); {
		case names[0] == "b" && (err != nil || first.columns[0].strs != 1 || first.columns[1].strs != 0):
			t.Errorf("columns in another order: %v", err)
		case names[0] == "c" && (err == nil ||
			err.Error() != `g: missing column "a", which f has; column "c", which f has not`):
			t.Error(err)
		}
	}
	if err := second.Merge(first.SecondPass()); err == nil || err.Error() != "f: another reading than that of g" {
		t.Error(err)
	}
}

// TestDeclaredLevels checks that declared categories are those of the column, whatever the values
// look like.
func TestDeclaredLevels(t *testing.T) {
	r := records{form: Form{Name: "f", Columns: []Column{{Name: "a", Declared: true, Kind: datasets.Categorical,
		Categories: []string{"1", "2", "none"}}}}}
	for range 20 {
		r.rows = append(r.rows, []string{"1"})
	}
	r.rows = append(r.rows, []string{"none"})
	src, err := Open(context.Background(), r, datasets.Roles{})
	if err != nil {
		t.Fatal(err)
	}
	if c := src.Schema().Columns[0]; c.Kind != datasets.Categorical || len(c.Categories) != 3 {
		t.Errorf("%v", c)
	}
}

// learn reads the records of r once. from is the result of [Begin] or [SchemaLearner.SecondPass],
// and is not modified.
func learn(ctx context.Context, r Reader, from *SchemaLearner) (*SchemaLearner, error) {
	r, err := withDates(r, from.roles)
	if err != nil {
		return nil, err
	}
	form := r.Form()
	l, err := arrange(form, from.roles)
	if err != nil {
		return nil, err
	}
	if from.roles.DropMissingTarget && len(l.targets) > 0 {
		r = &labeledReader{Reader: r, layout: l}
	}
	out := &SchemaLearner{roles: from.roles, previous: from.previous}
	out.setForm(form, l)
	switch err := out.read(ctx, r, nil); {
	case ctx.Err() != nil:
		return nil, ctxerr.Check(ctx)
	case err != nil:
		return nil, out.err(err)
	}
	return out, nil
}
