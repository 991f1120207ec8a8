package svmlight_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

func read(text string, o svmlight.Options) (datasets.Set, error) {
	o.FS = fstest.MapFS{"f.svm": {Data: []byte(text)}}
	return o.ReadFile(context.Background(), "f.svm")
}

func TestRead(t *testing.T) {
	set, err := read("# a comment\n+1 qid:7 1:.5 3:-2e1 # more\r\n\n-1 qid:7 2:0\n 3.5\tqid:9  3:1 \n", svmlight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := mat.NewDense(3, 3, []float64{.5, 0, -20, 0, 0, 0, 0, 0, 1})
	if !mat.Equal(set.X, want) || !slices.Equal(set.Y, []float64{1, -1, 3.5}) ||
		!slices.Equal(set.Groups, []int{7, 7, 9}) {
		t.Errorf("read %v %v %v", mat.Formatted(set.X), set.Y, set.Groups)
	}
	if nnz := set.X.(*matrices.CSR).NNZ(); nnz != 3 {
		t.Errorf("%d entries, want 3: a zero written out is none", nnz)
	}
}

func TestClasses(t *testing.T) {
	const text = "10 1:1\n-1 1:1\n2 2:1\n10.0 1:1\n"
	train, err := read(text, svmlight.Options{Task: datasets.Classification})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(train.Schema.Classes(), []string{"-1", "2", "10"}) || !slices.Equal(train.Y, []float64{2, 0, 1, 2}) {
		t.Errorf("classes %q, codes %v", train.Schema.Classes(), train.Y)
	}
	test, err := read("2 1:1\n", svmlight.Options{Schema: &train.Schema, Width: 2})
	if err != nil || test.Y[0] != 1 || test.Cols() != 2 {
		t.Errorf("test rows %v, %d columns, %v", test.Y, test.Cols(), err)
	}
	two, err := read("-1 1:1\n1 1:2\n", svmlight.Options{Positive: []string{"-1"}})
	if err != nil || !slices.Equal(two.Schema.Classes(), []string{"1", "-1"}) || !slices.Equal(two.Y, []float64{1, 0}) {
		t.Errorf("two classes: %q %v %v", two.Schema.Classes(), two.Y, err)
	}
	one, err := read(text, svmlight.Options{Positive: []string{"10"}})
	if err != nil || !slices.Equal(one.Schema.Classes(), []string{"rest", "10"}) ||
		!slices.Equal(one.Y, []float64{1, 0, 0, 1}) {
		t.Errorf("one against the rest: %q %v %v", one.Schema.Classes(), one.Y, err)
	}
}

// TestA9A reads the original files, and checks that rows are equal after writing and reading.
func TestA9A(t *testing.T) {
	for _, c := range []struct {
		file      string
		rows, nnz int
		positive  int
	}{{"a9a.gz", 32561, 451592, 7841}, {"a9a.t.gz", 16281, 225731, 3846}} {
		set, err := svmlight.Options{Width: 123, Task: datasets.Classification}.ReadFile(context.Background(), golden.Path(t, "data/a9a", c.file))
		if err != nil {
			t.Fatal(err)
		}
		X := set.X.(*matrices.CSR)
		positive := 0
		for _, y := range set.Y {
			positive += int(y)
		}
		if _, ok := X.Shared(); !ok || set.Rows() != c.rows || set.Cols() != 123 || X.NNZ() != c.nnz ||
			positive != c.positive {
			t.Errorf("%s: %d rows, %d columns, %d entries, %d positive, one value: %v", c.file, set.Rows(), set.Cols(), X.NNZ(),
				positive, ok)
		}
		roundTrip(t, set)
	}
}

func roundTrip(t *testing.T, set datasets.Set) {
	t.Helper()
	for _, zero := range []bool{false, true} {
		var b bytes.Buffer
		if err := (svmlight.Options{ZeroBased: zero}).Write(&b, set); err != nil {
			t.Fatal(err)
		}
		o := svmlight.Options{Width: set.Cols(), ZeroBased: zero}
		if set.Schema.Classes() != nil {
			o.Task = datasets.Classification
		}
		again, err := read(b.String(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(again.X, set.X) || !slices.Equal(again.Y, set.Y) || !slices.Equal(again.Groups, set.Groups) {
			t.Error("what was written reads differently")
		}
	}
}

func TestWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	X := mat.NewDense(50, 7, nil)
	set := datasets.Set{X: X, Y: make([]float64, 50), Groups: make([]int, 50)}
	for i := range 50 {
		set.Y[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(600)-300)
		set.Groups[i] = i / 3
		for j := range 7 {
			if rng.IntN(3) == 0 {
				X.Set(i, j, math.Ldexp(rng.NormFloat64(), rng.IntN(600)-300))
			}
		}
	}
	roundTrip(t, set)
	set.X = matrices.CSRFromDense(X)
	roundTrip(t, set)
	X.Set(3, 4, math.NaN())
	set.X = X
	if err := (svmlight.Options{}).Write(&bytes.Buffer{}, set); err == nil ||
		err.Error() != "svmlight: row 3, column x4: NaN cannot be written" {
		t.Errorf("error %v for a missing value", err)
	}
	set.Weights = make([]float64, 50)
	if err := (svmlight.Options{}).Write(&bytes.Buffer{}, set); err == nil ||
		err.Error() != "svmlight: no place for weights or several targets" {
		t.Errorf("error %v for weights", err)
	}
}

// TestBadInput compares the messages a user sees.
func TestBadInput(t *testing.T) {
	schema := &datasets.Schema{Targets: []datasets.Column{{Name: "label", Kind: datasets.Categorical,
		Categories: []string{"-1", "1"}}}}
	strs := &datasets.Schema{Targets: []datasets.Column{{Name: "label", Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}}
	for _, c := range []struct {
		text string
		o    svmlight.Options
		want string
	}{
		{"", svmlight.Options{}, "f.svm: empty file"},
		{"# nothing\n\n", svmlight.Options{}, "f.svm: no rows"},
		{"1\n2\n", svmlight.Options{}, "f.svm: no columns"},
		{"1 1:2\nx 1:2\n", svmlight.Options{}, `f.svm:2: label "x" is not a number`},
		{"1,3 1:2\n", svmlight.Options{}, `f.svm:1: label "1,3": several labels for one row are not supported`},
		{"1:2 2:3\n", svmlight.Options{}, `f.svm:1: must be a label first, got "1:2"`},
		{"nan 1:2\n", svmlight.Options{}, `f.svm:1: label "nan" is not a number`},
		{"1 1:2 3\n", svmlight.Options{}, `f.svm:1: must be column:value, got "3"`},
		{"1 a:2\n", svmlight.Options{}, `f.svm:1: "a" is not a column number`},
		{"1 -1:2\n", svmlight.Options{}, `f.svm:1: "-1" is not a column number`},
		{"1 99999999999999999999:2\n", svmlight.Options{}, `f.svm:1: "99999999999999999999" is not a column number`},
		{"1 0:2\n", svmlight.Options{},
			"f.svm:1: column 0, though columns count from 1; set zero_based if they count from 0"},
		{"1 1:2 1:3\n", svmlight.Options{}, "f.svm:1: column indices must ascend, got 1 after 1"},
		{"1 2:2 1:3\n", svmlight.Options{}, "f.svm:1: column indices must ascend, got 1 after 2"},
		{"1 1:\n", svmlight.Options{}, `f.svm:1: column 1: "" is not a number`},
		{"1 1:2:3\n", svmlight.Options{}, `f.svm:1: column 1: "2:3" is not a number`},
		{"1 1:inf\n", svmlight.Options{}, `f.svm:1: column 1: "inf" is not a number`},
		{"1 1:1e999\n", svmlight.Options{}, `f.svm:1: column 1: "1e999" is not a number`},
		{"1 4:1\n", svmlight.Options{Width: 3}, "f.svm:1: column 4 of 3, which count from 1"},
		{"1 3:1\n", svmlight.Options{Width: 3, ZeroBased: true}, "f.svm:1: column 3 of 3, which count from 0"},
		{"1 qid:a 1:1\n", svmlight.Options{}, `f.svm:1: must be qid: and an integer, got "qid:a"`},
		{"1 qid:1 1:1\n1 1:1\n", svmlight.Options{}, "f.svm:2: some rows have a qid and others have none"},
		{"1 1:1\n1 qid:3 1:1\n", svmlight.Options{}, "f.svm:2: some rows have a qid and others have none"},
		{"1\x00 1:1\n", svmlight.Options{}, "f.svm:1: NUL byte; is this a text file?"},
		{"1 1:1\n2 1:1\n", svmlight.Options{Schema: schema, Width: 1},
			"f.svm:2: class 2 is not among those of the schema: -1, 1"},
		{"1 1:1\n", svmlight.Options{Schema: strs, Width: 1}, `f.svm: the schema has class "no", labels are numbers`},
		{"1 1:1\n", svmlight.Options{Schema: schema}, "f.svm: the schema names no columns; give the width"},
		{"1 1:1\n", svmlight.Options{Positive: []string{"2"}}, `f.svm: positive: no label "2"`},
		{"1 1:1\n", svmlight.Options{Positive: []string{"1"}, Task: datasets.Regression},
			"f.svm: positive: makes classes of the label, and the task is regression"},
		{"1 1:1\n", svmlight.Options{Width: -1}, "f.svm: a width and a bound on records are not negative"},
		{"1 " + strings.Repeat(" ", 1000) + "1:1\n", svmlight.Options{MaxRecord: 100},
			"f.svm:1: line too long: more than 100 bytes"},
	} {
		if _, err := read(c.text, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%.40q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := (svmlight.Options{}).ReadFile(context.Background(), "no/such/file.svm"); err == nil ||
		err.Error() != "open no/such/file.svm: no such file or directory" {
		t.Errorf("error %v for a file that is not there", err)
	}
}

func ExampleOptions_Write() {
	set := datasets.Set{
		X: mat.NewDense(2, 3, []float64{0, 1.5, 0, 2, 0, 0.25}),
		Y: []float64{1, -1},
	}
	var b strings.Builder
	if err := (svmlight.Options{}).Write(&b, set); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(b.String())
	// Output:
	// 1 2:1.5
	// -1 1:2 3:0.25
}

// FuzzRead checks that a file is either rejected or can be written and read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"1 1:2 3:4\n-1 2:1e-3\n", "# c\n+1 qid:3 1:.5 # x\r\n", "0 0:1\n1 2:3\n", "1,2 1:1\n",
		"1\n2 5:0\n", "1 1:1e400\n", "\x1f\x8b\x08"} {
		f.Add([]byte(text), true, false)
		f.Add([]byte(text), false, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, zeroBased, classify bool) {
		o := svmlight.Options{ZeroBased: zeroBased, MaxRecord: 1 << 16}
		if classify {
			o.Task = datasets.Classification
		}
		set, err := read(string(text), o)
		if err != nil {
			return
		}
		if err := set.Check(); err != nil {
			t.Fatalf("read, but %v", err)
		}
		var b bytes.Buffer
		if err := o.Write(&b, set); err != nil {
			t.Fatal(err)
		}
		o.Width = set.Cols()
		o.MaxRecord = 0
		again, err := read(b.String(), o)
		if err != nil {
			t.Fatalf("wrote %q, then %v", b.String(), err)
		}
		if !slices.Equal(again.Y, set.Y) || !slices.Equal(again.Groups, set.Groups) ||
			!sameEntries(again.X.(*matrices.CSR), set.X.(*matrices.CSR)) {
			t.Fatalf("wrote %q, which reads differently", b.String())
		}
	})
}

func sameEntries(a, b *matrices.CSR) bool {
	for i := range min(rows(a), rows(b)) {
		ca, va := a.Row(i)
		cb, vb := b.Row(i)
		if !slices.Equal(ca, cb) || !slices.Equal(va, vb) {
			return false
		}
	}
	x, okX := a.Shared()
	y, okY := b.Shared()
	return rows(a) == rows(b) && okX == okY && (!okX || x == y)
}

func rows(m *matrices.CSR) int { n, _ := m.Dims(); return n }

// TestSchemaNeedsNoLook checks that a file with a given schema is not read until its rows are
// requested. A label outside the schema's classes is an error, or NaN in rows to predict.
func TestSchemaNeedsNoLook(t *testing.T) {
	schema := datasets.Schema{Targets: []datasets.Column{{Name: "label", Kind: datasets.Categorical,
		Categories: []string{"-1", "1"}}}}
	files := fstest.MapFS{"rows.svm": {Data: []byte("1 1:2\n0 2:1\n")}, "wrong.svm": {Data: []byte("1 1:2\n1 2:x\n")},
		"none.svm": {Data: []byte("# none\n")}}
	for _, test := range []struct {
		file      string
		unlabeled bool
		want, err string
	}{
		{"rows.svm", true, "[1 NaN]", ""},
		{"rows.svm", false, "", "rows.svm:2: class 0 is not among those of the schema: -1, 1"},
		{"wrong.svm", true, "", `wrong.svm:2: column 2: "x" is not a number`},
		{"none.svm", true, "", "none.svm: no rows"},
	} {
		src, err := svmlight.Options{Width: 2, Schema: &schema, Unlabeled: test.unlabeled, FS: files}.Open(context.Background(), test.file)
		if err != nil {
			t.Errorf("%s is read already: %v", test.file, err)
			continue
		}
		set, err := datasets.ReadAll(context.Background(), src)
		if test.err == "" && (err != nil || fmt.Sprint(set.Y) != test.want) || test.err != "" &&
			(err == nil || err.Error() != test.err) {
			t.Errorf("%s: %v, %v", test.file, set.Y, err)
		}
	}
}

// TestSourceConformance runs the conformance test of sources, with and without the schema of other rows.
func TestSourceConformance(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "%d qid:%d %d:%d.5 9:1\n", i%3, i/7, 1+i%7, i)
	}
	o := svmlight.Options{Task: datasets.Classification, FS: fstest.MapFS{"f.svm": {Data: []byte(b.String())}}}
	src, err := o.Open(context.Background(), "f.svm")
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
	schema := src.Schema()
	o.Schema, o.Width = &schema, 12
	if src, err = o.Open(context.Background(), "f.svm"); err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
}
