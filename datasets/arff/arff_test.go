package arff_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

func read(text string, o arff.Options) (datasets.Set, error) {
	o.FS = fstest.MapFS{"f.arff": {Data: []byte(text)}}
	return o.ReadFile(context.Background(), "f.arff")
}

func target(name string) datasets.Roles { return datasets.Roles{Target: []string{name}} }

const flowers = `% a comment
@RELATION 'two words'

@Attribute 'petal length' NUMERIC % in cm
@attribute "it's" real
@attribute colour {red, 'light blue', "a \"b\"", '\'' }
@attribute note string
@attribute class {no,yes}
@DATA
`

func TestRead(t *testing.T) {
	text := flowers + "1.5,2,red,'a, b',yes\r\n\n% between\n ? , ?\t,'light blue' , ?, no % " +
		"behind\n-1e3,.5,'\\'',x,no\n7,8,\"a \\\"b\\\"\",'?',yes\n"
	roles := datasets.Roles{Target: []string{"class"}, Kinds: map[string]datasets.Kind{"note": datasets.Categorical}}
	set, err := read(text, arff.Options{Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	sourcetest.Equal(t, set, datasets.Set{
		X: mat.NewDense(4, 4, []float64{1.5, 2, 0, 1, nan, nan, 1, nan, -1000, .5, 3, 2, 7, 8, 2, 0}),
		Y: []float64{1, 0, 0, 1},
	})
	if got := fmt.Sprintf("%q", set.Schema.Columns[2].Categories); got != `["red" "light blue" "a \"b\"" "'"]` {
		t.Errorf("levels %s", got)
	}
	if got := fmt.Sprintf("%q", set.Schema.Columns[3].Categories); got != `["?" "a, b" "x"]` {
		t.Errorf("levels of the string attribute %s", got)
	}
	if got := set.Schema.Name(0) + "|" + set.Schema.Name(1); got != "petal length|it's" {
		t.Errorf("names %s", got)
	}
}

const sparseHeader = "@relation r\n@attribute a numeric\n@attribute b {u,v,w}\n@attribute c numeric\n@attribute y " +
	"{no,yes}\n@data\n"

func TestSparse(t *testing.T) {
	set, err := read(sparseHeader+"{0 1.5, 1 w, 3 yes}, {2.5}\n{ }\n{1 ?,2 0,3 no} , { 0.5 }\n",
		arff.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, set, datasets.Set{
		X:       mat.NewDense(3, 3, []float64{1.5, 2, 0, 0, 0, 0, 0, math.NaN(), 0}),
		Y:       []float64{1, 0, 0},
		Weights: []float64{2.5, 1, .5},
	})
	if X, ok := set.X.(*matrices.CSR); !ok || X.NNZ() != 3 {
		t.Errorf("%T, want a sparse matrix of 3 entries", set.X)
	}
	// The same rows by the schema of a file whose levels are in another order.
	other, err := read(strings.Replace(sparseHeader, "{no,yes}", "{yes,no}", 1)+"{0 1}\n{3 no}\n",
		arff.Options{Roles: datasets.Roles{Schema: &set.Schema}})
	if err != nil || other.Y[0] != 1 || other.Y[1] != 0 {
		t.Errorf("targets %v, %v; a level left out is the first of its own file", other.Y, err)
	}
	_, err = read(strings.Replace(sparseHeader, "{u,v,w}", "{v,u,w}", 1)+"{0 1}\n",
		arff.Options{Roles: datasets.Roles{Schema: &set.Schema}})
	if want := `f.arff: column b: sparse rows omit category "v", the first in the file, which is not the first in the schema`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestSparseErrors checks that the entries of rows before an error are dropped with their rows.
func TestSparseErrors(t *testing.T) {
	rows := sparseHeader + "{0 1, 2 5, 3 yes}\n"
	known, err := read(rows, arff.Options{Roles: target("y")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = read(rows+"{0 1, 3 ?}\n", arff.Options{Roles: datasets.Roles{Target: []string{"y"}, Schema: &known.Schema}})
	if want := "f.arff:8: column y: the target is missing"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestSparseRoles: a weight or a group that a sparse row leaves out is 0.
func TestSparseRoles(t *testing.T) {
	_, err := read("@attribute w real\n@attribute g real\n@attribute a real\n@data\n{0 2, 1 7, 2 5}\n{2 6}\n{0 3, 1 "+
		"7}, {4}\n", arff.Options{Roles: datasets.Roles{Weight: "w", Group: "g"}})
	if err == nil || err.Error() != "f.arff:7: a weight here and none in the first row" {
		t.Errorf("error %v", err)
	}
	set, err := read("@attribute w real\n@attribute g real\n@attribute a real\n@data\n{0 2, 1 7, 2 5}, {2}\n{2 6}\n{0 "+
		"3, 1 7}, {4}\n", arff.Options{Roles: datasets.Roles{Weight: "w", Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, set, datasets.Set{X: mat.NewDense(3, 1, []float64{5, 6, 0}), Weights: []float64{4, 0, 12},
		Groups: []int{1, 0, 1}})
}

func TestWeights(t *testing.T) {
	set, err := read("@attribute a real\n@data\n1,{3}\n2\n3 {0}\n", arff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, set, datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Weights: []float64{3, 1, 0}})
}

// TestBadInput compares the messages a user sees.
func TestBadInput(t *testing.T) {
	const head = "@attribute a real\n@attribute b {u,v}\n@data\n"
	for _, c := range []struct {
		text string
		o    arff.Options
		want string
	}{
		{"", arff.Options{}, "f.arff: empty file"},
		{"@relation r\n@attribute a real\n", arff.Options{}, "f.arff: no @data"},
		{"@relation r\n@data\n", arff.Options{}, "f.arff:2: @data before any @attribute"},
		{"a,b\n1,2\n", arff.Options{}, `f.arff:1: must be @relation, @attribute or @data, got "a"`},
		{"@attribute\n", arff.Options{}, "f.arff:1: @attribute without a name"},
		{"@attribute a\n", arff.Options{},
			`f.arff:1: attribute "a": type must be numeric, real, integer, string or levels in braces, got ""`},
		{"@attribute a date 'yyyy'\n", arff.Options{},
			`f.arff:1: attribute "a": type must be numeric, real, integer, string or levels in braces, got "date"`},
		{"@attribute 'a real\n", arff.Options{}, "f.arff:1: ' is never closed"},
		{"@attribute a {u,v\n", arff.Options{},
			`f.arff:1: attribute "a": levels in braces end without }, or there is an empty one`},
		{"@attribute a {u,,v}\n", arff.Options{},
			`f.arff:1: attribute "a": levels in braces end without }, or there is an empty one`},
		{"@attribute a {}\n", arff.Options{}, `f.arff:1: attribute "a": no levels in braces`},
		{"@attribute a {u,v,u}\n@data\n", arff.Options{}, `f.arff:1: attribute "a" lists level "u" twice`},
		{"@attribute a real\n@attribute a real\n@data\n1,2\n", arff.Options{},
			`f.arff:2: columns 1 and 2 are both called "a"`},
		{"@attribute a string\n@data\nx\n", arff.Options{},
			`f.arff:1: attribute "a" is a string; drop it, or write kinds: {a: categorical}`},
		{"@attribute a string\n@attribute b real\n@data\n{1 2}\n",
			arff.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Categorical}}},
			`f.arff:1: attribute "a" is a string, which sparse rows do not go with; drop it`},
		{head, arff.Options{}, "f.arff: no rows"},
		{head + "1,u\n1\n", arff.Options{}, "f.arff:5: number of values must be 2, got 1"},
		{head + "1,u,3\n", arff.Options{}, "f.arff:4: number of values must be 2, got 3"},
		{head + "1,w\n", arff.Options{}, `f.arff:4: column b: "w" is not a declared level`},
		{head + "x,u\n", arff.Options{}, `f.arff:4: column a: "x" is not a number`},
		{head + "1,,u\n", arff.Options{}, "f.arff:4: an empty value; a missing one is written ?"},
		{head + "1,u,\n", arff.Options{}, "f.arff:4: a comma behind the last value"},
		{head + "1,'u\n", arff.Options{}, "f.arff:4: ' is never closed"},
		{head + "1,u {2}\n3,u} \n", arff.Options{}, "f.arff:5: an empty value; a missing one is written ?"},
		{head + "1,u\n1,u,{2}\n", arff.Options{}, "f.arff:5: a weight here and none in the first row"},
		{head + "1,u,{-2}\n", arff.Options{}, `f.arff:4: weight must be a number ≥ 0 in braces, got "-2"`},
		{head + "1,u,{2} 3\n", arff.Options{}, `f.arff:4: "3" behind the values`},
		{head + "1,u\n{0 1}\n", arff.Options{}, "f.arff:5: sparse and dense rows in one file"},
		{head + "{0 1\n", arff.Options{}, "f.arff:4: a sparse row ends without }"},
		{head + "{0 1, 0 2}\n", arff.Options{}, "f.arff:4: attribute indices must ascend, got 0 after 0"},
		{head + "{2 1}\n", arff.Options{}, "f.arff:4: attribute number 2 of 2, which count from 0"},
		{head + "{x 1}\n", arff.Options{}, `f.arff:4: "x" is not an attribute number`},
		{"@attribute a real\n@attribute b {u,\u00e9\xe9}\n@data\n1,u\n", arff.Options{},
			"f.arff:2:18: this is not utf-8, in which ARFF files are read"},
		{head + "1,u\x00\n", arff.Options{}, "f.arff:4: NUL byte; is this a text file?"},
		{head + "1,?\n", arff.Options{Roles: target("b")},
			"f.arff:4: column b: the target is missing; set missing_target: drop to skip such rows"},
		{head + "1,u\n", arff.Options{Roles: target("c")}, `f.arff: target: no column "c"; there are a, b`},
		{head + "1," + strings.Repeat(" ", 99) + "u\n", arff.Options{MaxRecord: 50},
			"f.arff:4: line too long: more than 50 bytes"},
	} {
		if _, err := read(c.text, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%.80q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestSources(t *testing.T) {
	var dense, some strings.Builder
	dense.WriteString("@attribute a real\n@attribute b {u,v,w}\n@attribute y {0,1}\n@data\n")
	some.WriteString("@attribute a real\n@attribute b {u,v,w}\n@attribute y {0,1}\n@data\n")
	for i := range 5000 {
		fmt.Fprintf(&dense, "%d.5,%c,%d,{%d}\n", i, 'u'+i%3, i%2, 1+i%4)
		fmt.Fprintf(&some, "{0 %d.5,1 %c}\n", i, 'u'+i%3)
	}
	for _, text := range []string{dense.String(), some.String()} {
		o := arff.Options{Roles: target("y"), FS: fstest.MapFS{"f.arff": {Data: []byte(text)}}}
		src, err := o.Open(context.Background(), "f.arff")
		if err != nil {
			t.Fatal(err)
		}
		sourcetest.Run(t, src)
	}
}

// TestRealFiles reads files that others have written.
func TestRealFiles(t *testing.T) {
	for _, c := range []struct {
		path, target string
		rows, cols   int
		classes      int
	}{
		{"small/optdigits.arff.gz", "class", 5620, 64, 10},
		{"small/mushroom.arff.gz", "class", 8124, 22, 2},
		{"small/waveform5000.arff.gz", "class", 5000, 40, 3},
		{"cpu_act/cpu_act.arff.gz", "-1", 8192, 21, 0},
		{"torgo_regression/abalone.arff.gz", "Class_Rings", 4177, 8, 0},
		{"torgo_regression/housing.arff.gz", "-1", 506, 13, 0},
		{"torgo_regression/kin8nm.arff.gz", "-1", 8192, 8, 0},
	} {
		t.Run(c.path, func(t *testing.T) {
			path := golden.Path(t, "data", c.path)
			set, err := arff.Options{Roles: target(c.target)}.ReadFile(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := set.Check(); err != nil {
				t.Error(err)
			}
			if n, d, k := set.Rows(), set.Cols(), len(set.Schema.Classes()); n != c.rows || d != c.cols || k != c.classes {
				t.Errorf("%d rows, %d columns, %d classes; want %d, %d, %d", n, d, k, c.rows, c.cols, c.classes)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(flowers + "1.5,2,red,'a, b',yes\n?,?,?,?,no\n")
	f.Add(sparseHeader + "{0 1.5, 1 w, 3 yes}, {2.5}\n{}\n")
	f.Add("@attribute a real\n@data\n1,{3}\n2\n")
	f.Add("@attribute a string\n@attribute b {'\\'','\\n'}\n@data\n'x\\ty','\\''\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"", "-1"} {
			o := arff.Options{MaxRecord: 1 << 16}
			if name != "" {
				o.Target = []string{name}
			}
			set, err := read(text, o)
			if err != nil {
				continue
			}
			if err := set.Check(); err != nil && err.Error() != "datasets: weights must not all be 0" {
				t.Fatalf("read, but %v", err)
			}
			o.Schema, o.Target = &set.Schema, nil
			again, err := read(text, o)
			if err != nil {
				t.Fatalf("by its own schema: %v", err)
			}
			sourcetest.Equal(t, again, set)
		}
	})
}

func ExampleOptions_Read() {
	files := fstest.MapFS{"play.arff": {Data: []byte(`@relation play
@attribute outlook {sunny, rainy}
@attribute temperature numeric
@attribute play {yes, no}
@data
sunny, 85, no
rainy, ?, yes
`)}}
	set, err := arff.Options{Roles: datasets.Roles{Target: []string{"play"}}, FS: files}.ReadFile(context.Background(), "play.arff")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mat.Formatted(set.X))
	fmt.Println(set.Schema.Classes(), set.Y)
	// Output:
	// ⎡  0   85⎤
	// ⎣  1  NaN⎦
	// [yes no] [1 0]
}
