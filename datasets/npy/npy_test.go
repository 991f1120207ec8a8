package npy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/settest"
)

var ctx = context.Background()

// mixed are roles for testdata/rows: every type, and every use of a column.
var mixed = datasets.Roles{
	Target: []string{"income"}, Weight: "weight", Group: "id", Passthrough: []string{"id", "sold", "city"},
	Dates: map[string]datasets.Date{"sold": {Parts: []string{"year", "month", "day", "weekday"}}, "seen": {}},
}

// TestSameAsCSV checks that rows written by numpy equal those of the CSV file, bit for bit and
// including the schema.
func TestSameAsCSV(t *testing.T) {
	mixed := mixed
	mixed.Passthrough = []string{"id", "city"} // dates have become their parts
	for name, roles := range map[string]datasets.Roles{
		"all": mixed,
		"a quantity": {Target: []string{"single"}, Drop: []string{"sold", "seen", "id"},
			Kinds: map[string]datasets.Kind{"small": datasets.Categorical}},
		"positive": {Target: []string{"city"}, Positive: []string{"Bern", "東京"}, DropMissingTarget: true,
			Drop: []string{"sold", "seen"}, Passthrough: []string{"sold"}, Group: "letter"},
		"several":     {Target: []string{"big", "half"}, DropMissingTarget: true, Drop: []string{"sold", "seen"}},
		"no target":   {Drop: []string{"sold", "seen", "income"}},
		"a number":    {Target: []string{"small"}, Task: datasets.Classification, Drop: []string{"sold", "seen"}},
		"missing row": {Target: []string{"income"}, Suffix: "K", Drop: []string{"sold", "seen"}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := csv.Options{Roles: roles}.Open(ctx, "testdata/rows.csv")
			if err != nil {
				t.Fatal(err)
			}
			got, err := npy.Options{Roles: roles}.Open(ctx, "testdata/rows.npy")
			if err != nil {
				t.Fatal(err)
			}
			if a, b := got.Schema(), want.Schema(); !reflect.DeepEqual(a, b) {
				t.Errorf("schema\n%v, want\n%v", a, b)
			}
			if a, b := got.(rowsource.FilteredSource).SkippedRows(),
				want.(rowsource.FilteredSource).SkippedRows(); !reflect.DeepEqual(a, b) {
				t.Errorf("rows left out: %v, want %v", a, b)
			}
			settest.Equal(t, gather(t, got), gather(t, want))
			// With the schema inferred from either file, the other one has the same codes.
			schema := want.Schema()
			roles.Schema = &schema
			again, err := npy.Options{Roles: roles}.Open(ctx, "testdata/rows.npy")
			if err != nil {
				t.Fatal(err)
			}
			settest.Equal(t, gather(t, again), settest.GroupsByAppearance(gather(t, want)))
			sourcetest.Run(t, got)
			sourcetest.Run(t, again)
		})
	}
}

func gather(t testing.TB, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.ReadAll(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// The same array in C's and in Fortran's order, in all versions, packed or not, gives the same rows.
func TestLayouts(t *testing.T) {
	plain, err := npy.Options{}.ReadFile(ctx, "testdata/plain.npy")
	if err != nil {
		t.Fatal(err)
	}
	if n, d := plain.X.Dims(); n != 50 || d != 3 || plain.Schema.Name(2) != "x2" {
		t.Fatalf("%d×%d, %v", n, d, plain.Schema)
	}
	whole, err := os.ReadFile("testdata/plain.npy")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(whole)
	z.Close()
	files := fstest.MapFS{"plain.npy.gz": {Data: packed.Bytes()}}
	for _, name := range []string{"fortran.npy", "version3.npy", "plain.npy.gz", "packed.npz"} {
		o := npy.Options{Roles: datasets.Roles{}}
		path := "testdata/" + name
		switch name {
		case "plain.npy.gz":
			path, o.FS = name, files
		case "packed.npz":
			o.Drop = []string{"y", "Z_0", "Z_1"}
		}
		src, err := o.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		settest.Equal(t, gather(t, src), plain)
		sourcetest.Run(t, src)
	}
	one, err := npy.Options{}.ReadFile(ctx, "testdata/one.npy")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if got, want := one.X.At(i, 0), float64(float32(plain.X.At(i, 0))); got != want {
			t.Fatalf("row %d: %v, want %v", i, got, want)
		}
	}
}

// The arrays of an archive become columns by the rule of the package's comment, y as the last one.
func TestArchive(t *testing.T) {
	roles := datasets.Roles{Target: []string{"-1"}, Task: datasets.Classification, Weight: "w", Drop: []string{"names"}}
	src, err := npy.Options{Roles: roles}.Open(ctx, "testdata/stored.npz")
	if err != nil {
		t.Fatal(err)
	}
	if s := src.Schema(); s.Targets[0].Name != "y" || fmt.Sprint(s.Targets[0].Categories) != "[0 1 2]" ||
		len(s.Columns) != 3 || s.Columns[0].Name != "x0" {
		t.Errorf("schema %v", s)
	}
	plain, err := npy.Options{}.ReadFile(ctx, "testdata/plain.npy")
	if err != nil {
		t.Fatal(err)
	}
	set := gather(t, src)
	if len(set.Weights) != 50 || len(set.Y) != 50 {
		t.Errorf("%d weights, %d targets", len(set.Weights), len(set.Y))
	}
	plain.Y, plain.Weights = set.Y, set.Weights
	settest.Equal(t, set, plain)
	sourcetest.Run(t, src)
	packed, err := npy.Options{Roles: datasets.Roles{Target: []string{"y"},
		Drop: []string{"x0", "x1", "x2"}}}.ReadFile(ctx, "testdata/packed.npz")
	if err != nil {
		t.Fatal(err)
	}
	if packed.Schema.Name(1) != "Z_1" || packed.X.At(7, 1) != float64(float32(plain.X.At(7, 1))) ||
		packed.Y[7] != set.Y[7] {
		t.Errorf("%v, %v, %v", packed.Schema, packed.X.At(7, 1), packed.Y[7])
	}
}

// Errors name the file, the column and a remedy.
func TestErrors(t *testing.T) {
	valid, err := os.ReadFile("testdata/plain.npy")
	if err != nil {
		t.Fatal(err)
	}
	with := func(descr, shape string, data []byte) []byte {
		text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s,), }", descr, shape)
		out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
		return append(append(out, text...), data...)
	}
	floats := func(v ...float64) (out []byte) {
		for _, x := range v {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
		}
		return out
	}
	files := fstest.MapFS{
		"cut.npy":      {Data: valid[:1000]},
		"other.npy":    {Data: []byte("a,b\n1,2\n")},
		"empty.npy":    {Data: nil},
		"huge.npy":     {Data: with("'<f8'", "1000000000000", nil)},
		"wrong.npy":    {Data: with("'<f8'", "4611686018427387904,4", nil)},
		"infinite.npy": {Data: with("'<f8'", "2", floats(1, math.Inf(1)))},
		"claim.npy":    {Data: with("'<f8'", "0,1000000000", nil)},
		"norows.npy":   {Data: with("'<f8'", "0", nil)},
		"cube.npy":     {Data: with("'<f8'", "1,1,1", floats(1))},
		"void.npy":     {Data: with("'|V8'", "1", floats(1))},
		"nested.npy":   {Data: with("[('a', [('b', '<f8')])]", "1", floats(1))},
		"weights.npy": {Data: with("[('a', '<f8'), ('w', '<f8'), ('y', '<f8')]", "2",
			floats(1, -1, math.NaN(), 2, math.NaN(), math.NaN()))},
		"pipe.npz": {Data: []byte("PK\x03\x04 and no more than that")},
	}
	for _, c := range []struct {
		path  string
		roles datasets.Roles
		want  string
	}{
		{"cut.npy", datasets.Roles{},
			"cut.npy: the file is cut off: 1000 bytes, the array of shape [50 3] and type <f8 takes 1328"},
		{"other.npy", datasets.Roles{}, `other.npy: not an array as numpy writes it: it does not begin with \x93NUMPY`},
		{"empty.npy", datasets.Roles{}, `empty.npy: not an array as numpy writes it: it does not begin with \x93NUMPY`},
		{"huge.npy", datasets.Roles{},
			"huge.npy: the file is cut off: 79 bytes, the array of shape [1000000000000] and type <f8 takes 8000000000079"},
		{"wrong.npy", datasets.Roles{}, "wrong.npy: its shape [4611686018427387904 4] is larger than any file"},
		{"infinite.npy", datasets.Roles{},
			"infinite.npy: row 1: column x0: value must be finite; exclude the column with data.drop (Roles.Drop in Go)"},
		{"norows.npy", datasets.Roles{}, "norows.npy: no rows"},
		{"claim.npy", datasets.Roles{},
			"claim.npy: column x0: the array has 1000000000 columns and no rows; exclude it with data.drop (Roles.Drop in Go)"},
		{"cube.npy", datasets.Roles{},
			"cube.npy: column x0: array must have one or two axes, got 3; exclude it with data.drop (Roles.Drop in Go)"},
		{"void.npy", datasets.Roles{},
			"void.npy: column x0 must have numbers, Booleans, strings or times, got type |V8; exclude it with data.drop " +
				"(Roles.Drop in Go)"},
		{"nested.npy", datasets.Roles{},
			`nested.npy: field "a" is itself an array or a structure; write it as columns of its own`},
		{"weights.npy", datasets.Roles{Weight: "w", Target: []string{"y"}},
			"weights.npy: row 0: column w: weight must be a number ≥ 0, got -1 (and 1 more in this column)\n" +
				"weights.npy: row 0: column y: the target is missing; set missing_target: drop to skip such rows (and 1 more in " +
				"this column)"},
		{"pipe.npz", datasets.Roles{}, "pipe.npz: the archive is damaged: zip: not a valid zip file"},
		{"testdata/complex.npy", datasets.Roles{},
			"testdata/complex.npy: column x0 must have numbers, Booleans, strings or times, got type <c16; exclude it with " +
				"data.drop (Roles.Drop in Go)\n" +
				"testdata/complex.npy: column x1 must have numbers, Booleans, strings or times, got type <c16; exclude it with " +
				"data.drop (Roles.Drop in Go)\n" +
				"testdata/complex.npy: column x2 must have numbers, Booleans, strings or times, got type <c16; exclude it with " +
				"data.drop (Roles.Drop in Go)"},
		{"testdata/objects.npy", datasets.Roles{},
			"testdata/objects.npy: column x0: it has objects of Python, which only Python reads; save it with a type of " +
				"numbers or strings; exclude it with data.drop (Roles.Drop in Go)"},
		{"testdata/stored.npz", datasets.Roles{Target: []string{"y"}},
			"testdata/stored.npz: column names: array must have 50 rows, got 3; exclude it with data.drop (Roles.Drop in Go)"},
		{"testdata/rows.npy", datasets.Roles{Drop: []string{"seen"}},
			"testdata/rows.npy: column sold must have numbers or strings, got times of type <M8[D]; split them with " +
				"data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)"},
		{"testdata/rows.npy", datasets.Roles{Weight: "city", Drop: []string{"sold", "seen"}},
			"testdata/rows.npy: column city must have numeric weights, got type <U8"},
		{"testdata/rows.npy", datasets.Roles{Group: "city", Drop: []string{"sold", "seen"}},
			"testdata/rows.npy: row 0: column city: the group is missing (and 82 more in this column)"},
		{"testdata/rows.npy", datasets.Roles{Kinds: map[string]datasets.Kind{"letter": datasets.Numeric},
			Drop: []string{"sold", "seen"}}, `testdata/rows.npy: row 0: column letter: "a" is not a number`},
		{"testdata/rows.npy", datasets.Roles{Dates: map[string]datasets.Date{"city": {}, "big": {}, "gone": {}}},
			"testdata/rows.npy: dates: column big must have dates or strings, got type >f8\n" +
				`testdata/rows.npy: dates: no column "gone"; there are big, single, half, count, small, unsigned, truth, city, letter, sold, seen, id and 2 more`},
		{"testdata/rows.npy", datasets.Roles{Dates: map[string]datasets.Date{"city": {}}, Drop: []string{"sold", "seen"}},
			`testdata/rows.npy: row 2: column city: must be a date such as 2024-03-31 or 31.3.2024 (for 31/3/2024 set order: dmy, for 3/31/2024 order: mdy), got "Zürich"`},
	} {
		o := npy.Options{Roles: c.roles}
		if !strings.HasPrefix(c.path, "testdata") {
			o.FS = files
		}
		src, err := o.Open(ctx, c.path)
		if err == nil {
			_, err = datasets.ReadAll(ctx, src)
		}
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%s %+v:\n%s\nwant\n%s", c.path, c.roles, got, c.want)
		}
	}
}

// TestUnlabeled checks that all rows without a target are reported together.
func TestUnlabeled(t *testing.T) {
	roles := mixed
	roles.Passthrough = nil
	src, err := npy.Options{Roles: roles}.Open(ctx, "testdata/rows.npy")
	if err != nil {
		t.Fatal(err)
	}
	schema := src.Schema()
	other := schema
	other.Targets = []datasets.Column{{Name: "city", Kind: datasets.Categorical,
		Categories: []string{"Bern", "Zürich", "東京"}}}
	roles = datasets.Roles{Schema: &other, Target: []string{"city"}, Dates: roles.Dates, IgnoreExtra: true}
	other.Columns = schema.Columns[:3]
	_, err = npy.Options{Roles: roles}.ReadFile(ctx, "testdata/rows.npy")
	if want := "testdata/rows.npy: row 0: column city: the target is missing; set missing_target: drop to skip such " +
		"rows; also in row 1, 3, 4, 5, 7, 8, 11, 14, 15, 16, 19 and 71 more"; fmt.Sprint(err) != want {
		t.Errorf("%v\nwanted %s", err, want)
	}
	roles.Unlabeled = true
	set, err := npy.Options{Roles: roles}.ReadFile(ctx, "testdata/rows.npy")
	if err != nil || !math.IsNaN(set.Y[0]) || set.Y[2] != 1 {
		t.Errorf("%v, %v", err, set.Y[:3])
	}
}

// TestCores checks that the rows and blocks do not depend on the number of cores.
func TestCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	dir := t.TempDir()
	path := filepath.Join(dir, "long.npy")
	const n, d = 100_000, 3
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %d), }", n, d)
	out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	out = append(out, text...)
	for i := range n * d {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(i)))
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cores := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(cores)
		src, err := npy.Options{}.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		first := 0
		err = src.Blocks(ctx, func(b datasets.Set) error {
			if want := min(rowblock.Size, n-first); b.Rows() != want {
				return fmt.Errorf("must be %[2]d, got a block of %[1]d rows", b.Rows(), want)
			}
			for i := range b.Rows() {
				for j := range d {
					if v := b.X.At(i, j); v != float64(j*n+first+i) {
						return fmt.Errorf("row %d, column %d: %v", first+i, j, v)
					}
				}
			}
			first += b.Rows()
			return nil
		})
		if err != nil || first != n {
			t.Fatal(first, err)
		}
		if err := canceltest.Check(func(ctx context.Context) (bool, error) {
			src, err := (npy.Options{Roles: datasets.Roles{Target: []string{"x0"}}}).Open(ctx, path)
			if err != nil {
				return false, err
			}
			err = src.Blocks(ctx, func(datasets.Set) error { return nil })
			return err == nil, err
		}); err != nil {
			t.Error(err)
		}
	}
}

// A file that is another one in a later pass is refused.
func TestChanged(t *testing.T) {
	whole, err := os.ReadFile("testdata/plain.npy")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := npy.Options{}.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := datasets.ReadAll(ctx, src); !errors.Is(err, datasets.ErrChanged) {
		t.Error(err)
	}
}

// FuzzOpen checks that a file is either rejected or has the claimed size, and that memory is
// bounded by its size.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"rows.npy", "stored.npz", "packed.npz", "fortran.npy", "one.npy", "objects.npy"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole[:min(len(whole), 4096)])
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, whole []byte) {
		files := fstest.MapFS{"x": {Data: whole}}
		src, err := npy.Options{FS: files}.Open(ctx, "x")
		if err != nil {
			return
		}
		if set, err := datasets.ReadAll(ctx, src); err == nil {
			if n, d := src.Dims(); set.Rows() != n || set.Cols() != d {
				t.Errorf("%d×%d, Dims returns %d×%d", set.Rows(), set.Cols(), n, d)
			}
		}
	})
}

// Any reader gives the same rows as a file with the same bytes.
func TestRead(t *testing.T) {
	o := npy.Options{Roles: datasets.Roles{Target: []string{"income"}, Drop: []string{"sold", "seen"}}}
	want, err := o.ReadFile(ctx, "testdata/rows.npy")
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open("testdata/rows.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := o.Read(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	settest.Equal(t, got, want)
	if _, err := o.Read(ctx, strings.NewReader("a,b")); err == nil ||
		!strings.HasPrefix(err.Error(), "input: not a") {
		t.Errorf("from a string: %v", err)
	}
	if _, err := o.Read(ctx, nil); err == nil || err.Error() != "input: there is no reader" {
		t.Errorf("no reader: %v", err)
	}
}
