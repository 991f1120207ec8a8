package csv_test

import (
	"bytes"
	"compress/gzip"
	"context"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/internal/testing/settest"
)

func read(text string, o csv.Options) (datasets.Set, error) {
	o.FS = fstest.MapFS{"f.csv": {Data: []byte(text)}}
	return o.ReadFile(context.Background(), "f.csv")
}

func target(names ...string) datasets.Roles { return datasets.Roles{Target: names} }

func TestRead(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, text string
		o          csv.Options
		columns    string // name:kind or name:level|level
		X          []float64
		Y          []float64
	}{
		{"plain", "a,b\n1,2\n3,4\n", csv.Options{}, "a b", []float64{1, 2, 3, 4}, nil},
		{"no end of line", "a,b\n1,2\n3,4", csv.Options{}, "a b", []float64{1, 2, 3, 4}, nil},
		{"CRLF and BOM", "\ufeffa,b\r\n1,2\r\n", csv.Options{}, "a b", []float64{1, 2}, nil},
		{"blanks", " a , b \n 1 ,\t2\n", csv.Options{}, "a b", []float64{1, 2}, nil},
		{"quotes", "\"a,1\",\"b\"\"2\"\n\"1\", \"2\" \n", csv.Options{}, "a,1 b\"2", []float64{1, 2}, nil},
		{"ordinary quotes", "a,b\n\"x\" y,\" 1\nz\",2\n", csv.Options{Quote: "none"},
			"a:\"x\" y|z\" b:\" 1|2", []float64{0, 0, 1, 1}, nil},
		{"newline in quotes", "a\n\"x\r\ny\"\n\"x\ny\"\n", csv.Options{}, "a:x\ny", []float64{0, 0}, nil},
		{"levels", "a,b\nx,10\ny,9\nx,10\n",
			csv.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"b": datasets.Categorical}}}, "a:x|y b:9|10",
			[]float64{0, 1, 1, 0, 0, 1}, nil},
		{"text after numbers", "a\n1\n2\nx\n", csv.Options{}, "a:1|2|x", []float64{0, 1, 2}, nil},
		{"missing", "a,b\n,NaN\n1,x\nnan,\n", csv.Options{}, "a b:x", []float64{nan, nan, 1, 0, nan, nan}, nil},
		{"own markers", "a,b\n?,NA\n1,NaN\n", csv.Options{Missing: []string{"?", "NA"}}, "a b:NaN", []float64{nan, nan, 1, 0},
			nil},
		{"comments and blank lines", "# c\na,b\n\n#x\n1,2\n  \n3,4#\n",
			csv.Options{Comment: "#", Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"b": datasets.Categorical}}},
			"a b:2|4#", []float64{1, 0, 3, 1}, nil},
		{"long comment prefix", "//\n/a\n/1\n", csv.Options{Comment: "//"}, "/a:/1", []float64{0}, nil},
		{"skip", "garbage \"\n\na\n1\n", csv.Options{Skip: 2}, "a", []float64{1}, nil},
		{"no header", "1,2\n3,4\n", csv.Options{NoHeader: true}, "x0 x1", []float64{1, 2, 3, 4}, nil},
		{"columns named", "1,2\n3,4\n", csv.Options{NoHeader: true, Columns: []string{"p", "q"}}, "p q",
			[]float64{1, 2, 3, 4}, nil},
		{"header renamed", "a,b\n3,4\n", csv.Options{Columns: []string{"p", "q"}}, "p q", []float64{3, 4}, nil},
		{"nameless column", ",b\n3,4\n", csv.Options{}, "x0 b", []float64{3, 4}, nil},
		{"semicolons", "a;b\n1;2,5\n", csv.Options{Delimiter: ";"}, "a b:2,5", []float64{1, 0}, nil},
		{"tabs", "a\tb\n1\t \n", csv.Options{Delimiter: "tab"}, "a b", []float64{1, nan}, nil},
		{"runs of blanks", " a  b\t\n1 \t2  \r\n\n 3 4\n", csv.Options{Delimiter: "space"}, "a b", []float64{1, 2, 3, 4},
			nil},
		{"blanks kept", "a\n x\nx\n", csv.Options{KeepSpace: true}, "a: x|x", []float64{0, 1}, nil},
		{"numbers", "a\n+1\n-.5\n2.\n1e3\n1E-2\n00012\n123456789012345678901234567890\n5e-324\n-0\n", csv.Options{}, "a",
			[]float64{1, -.5, 2, 1000, .01, 12, 123456789012345678901234567890, 5e-324, math.Copysign(0, -1)}, nil},
		{"target", "a,y\n1,no\n2,yes\n", csv.Options{Roles: target("y")}, "a", []float64{1, 2}, []float64{0, 1}},
		{"target by number", "1,7\n2,5\n", csv.Options{NoHeader: true, Roles: target("-1")}, "x0", []float64{1, 2},
			[]float64{7, 5}},
		{"classes of numbers", "y,a\n10,1\n9,2\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"},
			Task: datasets.Classification}}, "a", []float64{1, 2}, []float64{1, 0}},
		{"one against the rest", "y,a\nu,1\nv,2\nw,3\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"},
			Positive: []string{"w", "u"}}}, "a", []float64{1, 2, 3}, []float64{1, 0, 1}},
		{"suffix", "y,a\nu.,1\nv,2\nu,3\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Suffix: "."}}, "a",
			[]float64{1, 2, 3}, []float64{0, 1, 0}},
		{"dropped", "a,b,c\n1,x,2\n", csv.Options{Roles: datasets.Roles{Drop: []string{"b"}}}, "a c", []float64{1, 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := read(c.text, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(set.Schema.Columns); got != c.columns {
				t.Errorf("columns %q, want %q", got, c.columns)
			}
			want := datasets.Set{X: mat.NewDense(set.Rows(), len(c.X)/set.Rows(), c.X), Y: c.Y}
			settest.Equal(t, set, want)
		})
	}
}

func describe(columns []datasets.Column) string {
	var out []string
	for _, c := range columns {
		s := c.Name
		if c.Kind == datasets.Categorical {
			s += ":" + strings.Join(c.Categories, "|")
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestRoles(t *testing.T) {
	set, err := read("g,w,a,u,v\nx,1,5,7,8\ny,0.5,6,9,10\nx,2,7,11,12\n",
		csv.Options{Roles: datasets.Roles{Target: []string{"v", "u"}, Weight: "w", Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	settest.Equal(t, set, datasets.Set{X: mat.NewDense(3, 1, []float64{5, 6, 7}),
		Targets: mat.NewDense(3, 2, []float64{8, 7, 10, 9, 12, 11}), Weights: []float64{1, .5, 2}, Groups: []int{0, 1, 0}})
}

// TestSchema: new rows are coded as the training rows were.
func TestSchema(t *testing.T) {
	train, err := read("a,b,y\n1,u,no\n2,v,yes\n", csv.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	roles := datasets.Roles{Schema: &train.Schema}
	for _, c := range []struct {
		text string
		X, Y []float64
	}{
		{"y,b,a\nyes,v,3\n", []float64{3, 1}, []float64{1}},
		{"b,a\nw,3\n,4\n", []float64{3, datasets.Unknown, 4, math.NaN()}, nil},
	} {
		set, err := read(c.text, csv.Options{Roles: roles})
		if err != nil {
			t.Fatal(err)
		}
		settest.Equal(t, set, datasets.Set{X: mat.NewDense(len(c.X)/2, 2, c.X), Y: c.Y})
	}
	for _, c := range []struct{ text, want string }{
		{"a,y\n1,no\n", `f.csv: missing column "b"`},
		{"a,b,c\n1,u,2\n", `f.csv: column "c" is not in the schema; drop it`},
		{"a,c\n1,u\n", `f.csv: missing column "b"; column "c" is not in the schema`},
		{"a,b\nx,u\n", `f.csv:2: column a: "x" is not a number`},
		{"a,b,y\n1,u,maybe\n", `f.csv:2: column y: class must be one of the schema (no, yes), got "maybe"`},
		{"a,b,y\n1,u,\n", `f.csv:2: column y: the target is missing; set missing_target: drop to skip such rows`},
		{"a,b\n", `f.csv: no rows`},
	} {
		if _, err := read(c.text, csv.Options{Roles: roles}); err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func dated(d datasets.Date) datasets.Roles {
	return datasets.Roles{Dates: map[string]datasets.Date{"d": d}}
}

// A file in another encoding and notation is the file in UTF-8 with decimal points.
func TestEncodingsAndNotations(t *testing.T) {
	plain := "name;size;y\nM\u00fcller;1234.5;ja\nK\u00f6hler;-0.25;nein\n;7;ja\n"
	want, err := read(plain, csv.Options{Roles: target("y"), Delimiter: ";"})
	if err != nil {
		t.Fatal(err)
	}
	german := strings.NewReplacer("1234.5", "1.234,5", "0.25", "0,25").Replace(plain)
	latin := strings.NewReplacer("\u00fc", "\xfc", "\u00f6", "\xf6").Replace(german)
	var little, big strings.Builder
	for _, c := range "\ufeff" + german {
		little.WriteString(string([]byte{byte(c), byte(c >> 8)}))
		big.WriteString(string([]byte{byte(c >> 8), byte(c)}))
	}
	for encoding, text := range map[string]string{"": german, "utf-8": "\ufeff" + german, "latin-1": latin,
		"windows-1252": latin, "utf-16": little.String()} {
		o := csv.Options{Roles: target("y"), Delimiter: ";", Encoding: encoding, Decimal: ",", Thousands: "."}
		got, err := read(text, o)
		if err != nil {
			t.Fatalf("%s: %v", encoding, err)
		}
		settest.Equal(t, got, want)
		if encoding == "utf-16" {
			if got, err = read(big.String(), o); err != nil {
				t.Fatal(err)
			}
			settest.Equal(t, got, want)
		}
	}
}

// Rows without a target are left out by every pass, and known by their numbers.
func TestDropMissingTarget(t *testing.T) {
	text := "a,b,y\n1,u,\n2,v,no\n3,w,NaN\n4,x,yes\n5,u,\n6,v,no\n"
	want, err := read("a,b,y\n2,v,no\n4,x,yes\n6,v,no\n", csv.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	o := csv.Options{Roles: target("y"), FS: fstest.MapFS{"f.csv": {Data: []byte(text)}}}
	o.DropMissingTarget = true
	for range 2 { // by learning, and by the schema that was learned
		source, err := o.Open(context.Background(), "f.csv")
		if err != nil {
			t.Fatal(err)
		}
		sourcetest.Run(t, source)
		got, err := datasets.ReadAll(context.Background(), source)
		if err != nil {
			t.Fatal(err)
		}
		settest.Equal(t, got, want)
		left := source.(rowsource.FilteredSource).SkippedRows()
		if !slices.Equal(left, []int{0, 2, 4}) {
			t.Errorf("left out are %v", left)
		}
		o.Schema = &want.Schema
	}
}

// The parts of a date are columns of numbers, missing where the date is.
func TestDates(t *testing.T) {
	text := "a,d,y\n1,2024-03-01 14:30,0.5\n2,,1.5\n3,31.12.1999,2.5\n"
	o := csv.Options{Roles: dated(datasets.Date{Parts: []string{"hour", "year", "weekday"}})}
	o.Target = []string{"y"}
	set, err := read(text, o)
	if err != nil {
		t.Fatal(err)
	}
	none := math.NaN()
	settest.Equal(t, set, datasets.Set{
		X: mat.NewDense(3, 4, []float64{1, 14, 2024, 5, 2, none, none, none, 3, 0, 1999, 5}),
		Y: []float64{0.5, 1.5, 2.5},
	})
	var names []string
	for _, c := range set.Schema.Columns {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"a", "d_hour", "d_year", "d_weekday"}) {
		t.Errorf("the columns are %v", names)
	}
	o.Schema, o.Target = &set.Schema, nil
	again, err := read("d,a\n2024-03-01T14:30:00Z,1\n", o)
	if err != nil {
		t.Fatal(err)
	}
	settest.Equal(t, again, datasets.Set{X: mat.NewDense(1, 4, []float64{1, 14, 2024, 5})})
}

// TestBadInput compares the messages a user sees.
func TestBadInput(t *testing.T) {
	mostly := "a\n" + strings.Repeat("1\n", 18) + "n/a\nnone\n"
	for _, c := range []struct {
		text string
		o    csv.Options
		want string
	}{
		{"", csv.Options{}, "f.csv: empty file"},
		{"\n \n", csv.Options{}, "f.csv: empty file"},
		{"a,b\n", csv.Options{}, "f.csv: no rows"},
		{"a,b\n1,2\n3\n", csv.Options{}, "f.csv:3: number of fields must be 2, got 1"},
		{"a,b\n1,2\n\n3,4,5\n", csv.Options{}, "f.csv:4: number of fields must be 2, got 3"},
		{"a,b\n\"1\n\n\",2\n3\n", csv.Options{}, "f.csv:5: number of fields must be 2, got 1"},
		{"a,a\n1,2\n", csv.Options{}, `f.csv:1: columns 1 and 2 are both called "a"`},
		{"a,b\n1,2\n", csv.Options{Columns: []string{"p", "p"}}, `f.csv: columns 1 and 2 are both called "p"`},
		{"1,2\n", csv.Options{NoHeader: true, Columns: []string{"p"}},
			`f.csv:1: must have 1 fields as Options.Columns, got 2`},
		{"a\n\"x\n", csv.Options{}, `f.csv:2: quoted field is never closed`},
		{"a\n1\n", csv.Options{Quote: "'"}, `f.csv: quote must be " or none, got "'"`},
		{"a\nb\"x\n", csv.Options{}, `f.csv:2: " inside of a field that does not begin with one; csv.quote: ` +
			"none (Options.Quote) reads quotes as ordinary characters"},
		{"a\n\"b\"x\n", csv.Options{}, `f.csv:2: text behind the closing " of a field; csv.quote: none (Options.Quote) ` +
			"reads quotes as ordinary characters"},
		{"a\n1\n2\x003\n", csv.Options{},
			"f.csv:3: NUL byte; is this a text file? csv.encoding: utf-16 reads one of two bytes a letter"},
		{"a\n1\n\"2\x00\"\n", csv.Options{},
			"f.csv:3: NUL byte; is this a text file? csv.encoding: utf-16 reads one of two bytes a letter"},
		{"a\n" + strings.Repeat("1", 2000) + "\n", csv.Options{MaxRecord: 1000},
			"f.csv:2: line too long: more than 1000 bytes"},
		{"a\n\"" + strings.Repeat("1\n", 1<<20), csv.Options{MaxRecord: 1 << 20},
			"f.csv:2: line too long: more than 1048576 bytes; is a quote left open?"},
		{mostly, csv.Options{}, `f.csv:20: column a: "n/a" is not a number, though 90 % of the values are; if it denotes a missing value, add it to missing; if the column is text, set kinds: {a: categorical}`},
		{"a\n1\nx\n", csv.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Numeric}}},
			`f.csv:3: column a: "x" is not a number`},
		{"a\n1\n1e999\n" + strings.Repeat("1\n", 10),
			csv.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Numeric}}},
			`f.csv:3: column a: "1e999" is not a number`},
		{"a,y\n1,\n", csv.Options{Roles: target("y")},
			"f.csv:2: column y: the target is missing; set missing_target: drop to skip such rows"},
		{"a,y\n1,NaN\n", csv.Options{Roles: target("y")},
			"f.csv:2: column y: the target is missing; set missing_target: drop to skip such rows"},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Task: datasets.Regression}},
			`f.csv:2: column y: "x" is not a number, and the task is regression`},
		{"a,y\n1,x\n", csv.Options{Roles: target("z")}, `f.csv: target: no column "z"; there are a, y`},
		{"a,y\n1,x\n", csv.Options{Roles: target("2")}, `f.csv: target: no column "2"; there are a, y`},
		{"a,y\n1,x\n", csv.Options{Roles: target("y", "y")}, `f.csv: target: column "y" is already the target`},
		{"a,y,b\n1,x,2\n", csv.Options{Roles: target("a", "y")},
			`f.csv: target "y" is categorical; several targets must be numeric, or labels of the task multilabel`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Positive: []string{"z"}}},
			`f.csv: positive: target "y" has no category "z"; it has x`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Positive: []string{"z"}}}, `f.csv: positive: there is no target`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Positive: []string{"x"},
			Task: datasets.Regression}}, `f.csv: positive: makes classes of the target, and the task is regression`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Drop: []string{"b"}}}, `f.csv: drop: no column "b"; there are a, y`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Drop: []string{"a"}, Target: []string{"a"}}},
			`f.csv: target: column "a" is already the dropped one`},
		{"a,y\n1,x\n", csv.Options{Roles: datasets.Roles{Drop: []string{"a", "y"}}},
			`f.csv: no column is left to learn from`},
		{"a,w\n1,-1\n", csv.Options{Roles: datasets.Roles{Weight: "w"}},
			`f.csv:2: column w: weight must be a number ≥ 0, got -1`},
		{"a,w\n1,x\n", csv.Options{Roles: datasets.Roles{Weight: "w"}},
			`f.csv:2: column w: weight must be a number ≥ 0, got "x"`},
		{"a,w\n1,\n", csv.Options{Roles: datasets.Roles{Weight: "w"}}, `f.csv:2: column w: the weight is missing`},
		{"a,g\n1,\n", csv.Options{Roles: datasets.Roles{Group: "g"}}, `f.csv:2: column g: the group is missing`},
		{"a\n1\n", csv.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"b": 0}}},
			`f.csv: kinds: no column "b"; there are a`},
		{"a\n1\n", csv.Options{Delimiter: "ab"}, `f.csv: delimiter must be one character, "tab" or "space", got "ab"`},
		{"a\n1\n", csv.Options{Comment: "#\n"}, `f.csv: comment must not contain a line break, got "#\n"`},
		{"a\n1\n", csv.Options{Skip: -1}, `f.csv: skip and max_record must be ≥ 0`},
		{"a\n1\n", csv.Options{Skip: 5}, `f.csv: empty file`},
		{"\x1f\x8bgarbage", csv.Options{}, `f.csv: unexpected EOF`},
		{"a,b\n1,caf\u00e9 caf\xe9\n", csv.Options{},
			`f.csv:2:11: column b: must be utf-8; set csv.encoding to one of latin-1, windows-1252, utf-16`},
		{"a,caf\xe9\n1,2\n", csv.Options{},
			`f.csv:1:6: must be utf-8; set csv.encoding to one of latin-1, windows-1252, utf-16`},
		{"a,b\r\n1,\"x\r\n\u00e9\xe9\"\n", csv.Options{},
			`f.csv:3:2: column b: must be utf-8; set csv.encoding to one of latin-1, windows-1252, utf-16`},
		{"a,y\r1,2\r3,4\r", csv.Options{},
			`f.csv:1: lines must end with \n or \r\n, got \r alone; convert the file, as by tr '\r' '\n'`},
		{"a\x00\n\x001\x00", csv.Options{},
			`f.csv:1: NUL byte; is this a text file? csv.encoding: utf-16 reads one of two bytes a letter`},
		{"a\nx\ny\x81\n", csv.Options{Encoding: "windows-1252"},
			`f.csv:3:2: column a: must be windows-1252; set csv.encoding to one of utf-8, latin-1, utf-16`},
		{"\xff\xfea\x00\n\x001\x00\n\x00\x00\xdc\n\x00", csv.Options{Encoding: "utf-16"},
			`f.csv:3:1: column a: must be utf-16; set csv.encoding to one of utf-8, latin-1, windows-1252`},
		{"\xff\xfea\x00\n\x001\x00\n\x00\x00\xdc\n\x00", csv.Options{Encoding: "latin-1"},
			`f.csv:3:1: column a: must be utf-16, by the byte order mark of the file`},
		{"\xef\xbb\xbfa\n\xe9\n", csv.Options{Encoding: "latin-1"},
			`f.csv:2:1: column a: must be utf-8, by the byte order mark of the file`},
		{"a\n1\n", csv.Options{Encoding: "ebcdic"},
			`f.csv: encoding must be utf-8, latin-1, windows-1252, utf-16, got "ebcdic"`},
		{"a\n1\n", csv.Options{Decimal: ";"}, `f.csv: decimal must be a point or a comma, got ";"`},
		{"a\n1\n", csv.Options{Thousands: "_"}, `f.csv: thousands must be , . ' or "space", got "_"`},
		{"a\n1\n", csv.Options{Decimal: ",", Thousands: ","}, `f.csv: decimal and thousands must differ, got ','`},
		{"a,y\n1,\n2,\n", csv.Options{Roles: datasets.Roles{Target: []string{"y"}, DropMissingTarget: true}},
			`f.csv: column y: the target is missing in all 2 rows`},
		{"a,d\n1,2024-03-32\n", csv.Options{Roles: dated(datasets.Date{})},
			`f.csv:2: column d: must be a date such as 2024-03-31 or 31.3.2024 (for 31/3/2024 set order: dmy, for 3/31/2024 order: mdy), got "2024-03-32"`},
		{"a,d\n1,13/3/2024\n", csv.Options{Roles: dated(datasets.Date{Order: "mdy"})},
			`f.csv:2: column d: must be a date such as 2024-03-31 or 3/31/2024, got "13/3/2024"`},
		{"a,d\n1,3/13/2024\n", csv.Options{Roles: dated(datasets.Date{Order: "dmy"})},
			`f.csv:2: column d: must be a date such as 2024-03-31 or 31/3/2024, got "3/13/2024"`},
		{"a,b\n1,2\n", csv.Options{Roles: dated(datasets.Date{})}, `f.csv: dates: no column "d"; there are a, b`},
		{"a,d\n1,2\n", csv.Options{Roles: dated(datasets.Date{Order: "ymd"})},
			`f.csv: dates: column d: order must be dmy or mdy, got "ymd"`},
	} {
		if _, err := read(c.text, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := (csv.Options{}).ReadFile(context.Background(), "no/such.csv"); err == nil ||
		err.Error() != "open no/such.csv: no such file or directory" {
		t.Errorf("error %v for a file that is not there", err)
	}
	if _, err := (csv.Options{}).ReadFile(context.Background(), "."); err == nil ||
		err.Error() != ".: must be a file, got a folder" {
		t.Errorf("error %v for a directory", err)
	}
}

func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, "\ufeffa\n1\n2\n")
	w.Close()
	set, err := read(packed.String(), csv.Options{})
	if err != nil || set.Rows() != 2 || set.Schema.Name(0) != "a" {
		t.Fatal(set, err)
	}
	cut := packed.String()[:packed.Len()-6]
	if _, err := read(cut, csv.Options{}); err == nil || err.Error() != "f.csv:4: unexpected EOF" {
		t.Errorf("error %v for a truncated file", err)
	}
	flipped := bytes.Clone(packed.Bytes())
	flipped[len(flipped)-8] ^= 1
	if _, err := read(string(flipped), csv.Options{}); err == nil || err.Error() != "f.csv:4: gzip: invalid checksum" {
		t.Errorf("error %v for a flipped bit", err)
	}
}

// TestSources runs the conformance test of sources on a file of several blocks, and on one that
// spans windows.
func TestSources(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	b.WriteString("a,b,y,w,g\n")
	for range 5000 {
		fmt.Fprintf(&b, "%v,%q,%d,%v,%c\n", rng.NormFloat64(), "level "+string(rune('a'+rng.IntN(5))), rng.IntN(3),
			rng.Float64(), 'p'+rune(rng.IntN(3)))
	}
	o := csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Weight: "w", Group: "g", Task: datasets.Classification}}
	o.FS = fstest.MapFS{"f.csv": {Data: []byte(b.String())}}
	src, err := o.Open(context.Background(), "f.csv")
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.Open(ctx, "f.csv"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled opening returns %v", err)
	}
	schema := src.Schema()
	o.Schema = &schema
	if src, err = o.Open(context.Background(), "f.csv"); err != nil {
		t.Fatal(err)
	}
	if rows, _ := src.Dims(); rows != -1 {
		t.Errorf("%d rows before any pass", rows)
	}
	sourcetest.Run(t, src)
}

// TestFileChanged checks that rows added or removed after the schema was inferred are detected.
func TestFileChanged(t *testing.T) {
	files := fstest.MapFS{"f.csv": {Data: []byte("a\n1\n2\n")}}
	src, err := csv.Options{FS: files}.Open(context.Background(), "f.csv")
	if err != nil {
		t.Fatal(err)
	}
	files["f.csv"] = &fstest.MapFile{Data: []byte("a\n1\n \n")} // as large as before
	if _, err := datasets.ReadAll(context.Background(), src); err == nil ||
		err.Error() != "f.csv: the file has changed: it had 2 rows in the first pass, now 1" {
		t.Error(err)
	}
}

// TestWindow checks that records of all lengths, also longer than the first window, are read
// correctly.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	b.WriteString("a,b\n")
	var want []string
	for b.Len() < 6<<20 {
		size := rng.IntN(1 << (2 * rng.IntN(11)))
		value := strings.Repeat("x\"\n", size/3) + fmt.Sprint("v", rng.IntN(3))
		want = append(want, value)
		fmt.Fprintf(&b, "%d,\"%s\"\n", len(want)-1, strings.ReplaceAll(value, `"`, `""`))
	}
	roles := datasets.Roles{Kinds: map[string]datasets.Kind{"b": datasets.Categorical}}
	set, err := read(b.String(), csv.Options{Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	levels := set.Schema.Columns[1].Categories
	for i := range want {
		if set.X.At(i, 0) != float64(i) || levels[int(set.X.At(i, 1))] != want[i] {
			t.Fatalf("row %d reads differently", i)
		}
	}
}

// TestAdult reads the official files with their oddities.
func TestAdult(t *testing.T) {
	o := csv.Options{NoHeader: true, Comment: "|", Missing: []string{"?"},
		Roles: datasets.Roles{Target: []string{"-1"}, Suffix: "."}}
	train, err := o.ReadFile(context.Background(), golden.Path(t, "data/adult/adult.data.gz"))
	if err != nil {
		t.Fatal(err)
	}
	o.Schema = &train.Schema
	test, err := o.ReadFile(context.Background(), golden.Path(t, "data/adult/adult.test.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set                     datasets.Set
		rows, missing, positive int
	}{{train, 32561, 4262, 7841}, {test, 16281, 2203, 3846}} {
		missing, positive := 0, 0
		for i := range c.set.Rows() {
			positive += int(c.set.Y[i])
			for j := range c.set.Cols() {
				if math.IsNaN(c.set.X.At(i, j)) {
					missing++
				}
			}
		}
		if err := c.set.Check(); err != nil || c.set.Rows() != c.rows || c.set.Cols() != 14 || missing != c.missing ||
			positive != c.positive {
			t.Errorf("%d rows, %d columns, %d missing, %d positive, %v", c.set.Rows(), c.set.Cols(), missing, positive, err)
		}
	}
}

// TestWrite checks that written rows are read back unchanged.
func TestWrite(t *testing.T) {
	set, err := read("a,b,y\n1,u,no\n,\"v,\"\"\n\",yes\n5e-324,,no\n", csv.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	set.Weights, set.Groups = []float64{1, 0.1, 3}, []int{0, 1, 0}
	var b bytes.Buffer
	if err := csv.Write(&b, set); err != nil {
		t.Fatal(err)
	}
	again, err := read(b.String(), csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Weight: "weight",
		Group: "group"}})
	if err != nil {
		t.Fatal(err)
	}
	settest.Equal(t, again, set)
	b.Reset()
	several := datasets.Set{X: mat.NewDense(1, 1, []float64{1}), Targets: mat.NewDense(1, 2, []float64{2, 3})}
	if err := csv.Write(&b, several); err != nil || b.String() != "x0,target0,target1\n1,2,3\n" {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
}

// standard reads text with encoding/csv, all columns as text.
func standard(text string, comment rune) ([][]string, error) {
	r := stdcsv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	r.Comment = comment
	return r.ReadAll()
}

// asText reads text with this package, all columns as text.
func asText(text, comment string) ([][]string, error) {
	o := csv.Options{NoHeader: true, KeepSpace: true, Comment: comment, Missing: []string{}}
	o.FS = fstest.MapFS{"f.csv": {Data: []byte(text)}}
	first, err := o.Open(context.Background(), "f.csv")
	if err != nil {
		return nil, err
	}
	o.Kinds = map[string]datasets.Kind{}
	for _, c := range first.Schema().Columns {
		o.Kinds[c.Name] = datasets.Categorical
	}
	set, err := o.ReadFile(context.Background(), "f.csv")
	if err != nil {
		return nil, err
	}
	out := make([][]string, set.Rows())
	for i := range out {
		for j, c := range set.Schema.Columns {
			value := ""
			if v := set.X.At(i, j); !math.IsNaN(v) {
				value = c.Categories[int(v)]
			}
			out[i] = append(out[i], value)
		}
	}
	return out, nil
}

// compare compares this package with encoding/csv on a text.
func compare(t *testing.T, text, comment string) {
	t.Helper()
	var c rune
	if comment != "" {
		c = rune(comment[0])
	}
	want, wantErr := standard(text, c)
	got, err := asText(text, comment)
	switch {
	case err != nil && strings.Contains(err.Error(), "though"): // a string among numbers
	case err != nil && strings.Contains(err.Error(), `got \r alone`):
		if wantErr != nil || len(want) != 1 || !strings.Contains(strings.Join(want[0], ""), "\r") {
			t.Fatalf("%q: error %v, encoding/csv reads %q and reports %v", text, err, want, wantErr)
		}
	case wantErr == nil && len(want) == 0:
		if err == nil || err.Error() != "f.csv: empty file" {
			t.Fatalf("%q: %v, want an empty file", text, err)
		}
	case (err != nil) != (wantErr != nil):
		t.Fatalf("%q: error %v, encoding/csv reports %v", text, err, wantErr)
	case err == nil:
		if !slices.EqualFunc(got, want, func(a, b []string) bool { return slices.Equal(a, b) }) {
			t.Fatalf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// TestStandard compares random text over the relevant bytes with encoding/csv.
func TestStandard(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("large files")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	pieces := []string{"a", "a", ",", ",", "\n", "\n", "\r\n", "\r", `"`, `"`, `""`, "#", " ", "1", "é"}
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(14) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		compare(t, b.String(), "")
		compare(t, b.String(), "#")
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffa\r\n\"x\"\"\r\n\"\r\n", "# c\n\n1,NaN\n", "\"a\nb", "a\"b\n",
		"1 2  3\n4 5 6\n", "a\n1\n1\n1\n1\n1\n1\n1\n1\n1\nx\n", "\x1f\x8b\x08\x00"} {
		f.Add(text, uint16(0), "y")
		f.Add(text, uint16(3), "-1")
		f.Add(text, uint16(13), "0")
	}
	f.Add("a;b\n1.234,5;2\nx;\n", uint16(1<<4|1<<6), "")
	f.Add("\xff\xfea\x00\n\x001\x00\n\x00", uint16(3<<8), "")
	f.Add("a,d\n1,2024-03-01 10:00\n2,1/2/99\n", uint16(1<<7|1<<10), "d_day")
	f.Add("a,y\n1,\n2,caf\xe9\n", uint16(1<<10|1<<8), "y")
	f.Fuzz(func(t *testing.T, text string, options uint16, name string) {
		if !utf8.ValidString(text) { // encoding/csv accepts invalid UTF-8
		} else if !strings.ContainsRune(text, 0) && !strings.HasPrefix(text, "\x1f\x8b") &&
			strings.Count(text, "\ufeff") == 0 {
			compare(t, text, "")
			compare(t, text, "#")
		}
		o := csv.Options{NoHeader: options&1 != 0, KeepSpace: options&2 != 0, MaxRecord: 1 << 16}
		if options&4 != 0 {
			o.Delimiter = "space"
		}
		if options&8 != 0 {
			o.Task = datasets.Classification
		}
		if options&16 != 0 {
			o.Decimal = ","
		}
		if options&32 != 0 {
			o.Thousands = "space"
		} else if options&64 != 0 {
			o.Thousands = "."
		}
		if options&128 != 0 {
			o.Dates = map[string]datasets.Date{"d": {Order: "dmy"}}
		}
		o.Encoding = []string{"", "latin-1", "windows-1252", "utf-16"}[options>>8&3]
		o.DropMissingTarget = options&1024 != 0
		if name != "" {
			o.Target = []string{name}
		}
		set, err := read(text, o)
		if err != nil {
			return
		}
		if err := set.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		for _, c := range append(set.Schema.Columns, set.Schema.Targets...) {
			if bad := slices.IndexFunc(append(c.Categories, c.Name),
				func(word string) bool { return !utf8.ValidString(word) }); bad >= 0 {
				t.Fatalf("column %q has words that are not UTF-8: %q", c.Name, c.Categories)
			}
		}
		o.Schema, o.Target, o.Task = &set.Schema, nil, datasets.AnyTask
		again, err := read(text, o)
		if err != nil {
			t.Fatalf("by its own schema: %v", err)
		}
		settest.Equal(t, again, set)
	})
}

func ExampleOptions_Read() {
	files := fstest.MapFS{"people.csv": {Data: []byte("age,work,income\n39,state,low\n50,self,high\n?,state,low\n")}}
	set, err := csv.Options{
		Roles:   datasets.Roles{Target: []string{"income"}},
		Missing: []string{"?"},
		FS:      files,
	}.ReadFile(context.Background(), "people.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mat.Formatted(set.X))
	fmt.Println(set.Schema.Columns[1].Categories, set.Schema.Classes(), set.Y)
	// Output:
	// ⎡ 39    1⎤
	// ⎢ 50    0⎥
	// ⎣NaN    1⎦
	// [self state] [high low] [1 0 1]
}

// TestMissingMarkersTravelWithTheSchema checks that the schema contains the missing-value markers,
// which apply to other rows.
func TestMissingMarkersTravelWithTheSchema(t *testing.T) {
	files := fstest.MapFS{"train.csv": {Data: []byte("a,b\n1,2\n?,3\n")}, "new.csv": {Data: []byte("a,b\n?,-\n")}}
	train, err := csv.Options{Missing: []string{"?", "-"}, FS: files}.ReadFile(context.Background(), "train.csv")
	if err != nil || !slices.Equal(train.Schema.Missing, []string{"?", "-"}) {
		t.Fatal(train.Schema.Missing, err)
	}
	rows, err := csv.Options{Roles: datasets.Roles{Schema: &train.Schema},
		FS: files}.ReadFile(context.Background(), "new.csv")
	if err != nil || !math.IsNaN(rows.X.At(0, 0)) || !math.IsNaN(rows.X.At(0, 1)) {
		t.Errorf("%v, %v", rows.X, err)
	}
	_, err = csv.Options{Roles: datasets.Roles{Schema: &train.Schema},
		Missing: []string{"?"}, FS: files}.ReadFile(context.Background(), "new.csv")
	if err == nil || err.Error() != `new.csv:2: column b: "-" is not a number; if it denotes a missing value, add it to missing` {
		t.Errorf("options in addition to the schema: %v", err)
	}
}

// Columns that a schema lacks are an error, or ignored by option; a missing one is always an error.
func TestIgnoreExtra(t *testing.T) {
	train, err := read("a,b,y\n1,u,2\n3,v,4\n", csv.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	const more = "note,b,id,a\n?!,v,7,5\n,w,8,\n"
	roles := datasets.Roles{Schema: &train.Schema}
	if _, err := read(more, csv.Options{Roles: roles}); err == nil ||
		err.Error() != `f.csv: column "note", "id" is not in the schema; drop it` {
		t.Errorf("without IgnoreExtra: %v", err)
	}
	roles.IgnoreExtra = true
	got, err := read(more, csv.Options{Roles: roles})
	if err != nil || fmt.Sprint(mat.DenseCopyOf(got.X).RawMatrix().Data) != "[5 1 NaN -1]" {
		t.Errorf("with IgnoreExtra: %v, %v", got.X, err)
	}
	if _, err := read("note,b\n1,v\n", csv.Options{Roles: roles}); err == nil ||
		err.Error() != `f.csv: missing column "a"` {
		t.Errorf("a missing column: %v", err)
	}
}

// Groups are numbered in the order of their values, as scikit-learn numbers them: numbers by size,
// strings by their bytes, in memory and streamed.
func TestGroupNumbers(t *testing.T) {
	for text, want := range map[string][]int{
		"a,g\n1,b\n2,a\n3,c\n4,B\n5,a\n":    {2, 1, 3, 0, 1},
		"a,g\n1,10\n2,9\n3,2\n4,10\n5,-1\n": {3, 2, 1, 3, 0},
		"a,g\n1,2\n2,x\n3,10\n":             {1, 2, 0},
	} {
		o := csv.Options{Roles: datasets.Roles{Group: "g"}}
		held, err := o.Read(context.Background(), strings.NewReader(text))
		if err != nil || !slices.Equal(held.Groups, want) {
			t.Errorf("%q in memory: %v, want %v: %v", text, held.Groups, want, err)
		}
		path := filepath.Join(t.TempDir(), "rows.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := o.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := datasets.ReadAll(context.Background(), src)
		if err != nil || !slices.Equal(streamed.Groups, want) {
			t.Errorf("%q streamed: %v, want %v: %v", text, streamed.Groups, want, err)
		}
	}
}

// A scan of long records ends soon after its context.
func TestScanIsCanceledWithinRecords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "wide.csv")
	if err := os.WriteFile(path, []byte(strings.Repeat(strings.Repeat("1,", 5000)+"1\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	records := 0
	err := csv.Options{}.Scan(ctx, path, func(int, [][]byte) error { records++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || records > 5 {
		t.Errorf("error %v after %d records", err, records)
	}
}
