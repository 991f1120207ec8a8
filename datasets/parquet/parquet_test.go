package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/parquet"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/internal/testing/settest"
)

var ctx = context.Background()

// files maps the files in testdata with the rows of rows.csv to the columns that they lack.
var files = map[string][]string{
	"plain": nil, "snappy": nil, "zstd": nil, "lz4": nil, "gzip": nil, "int96": {"zoned"},
	"polars": {"nothing", "half"}, "duckdb": {"nothing", "half", "zoned"}, "pandas": {"half"},
}

// roles returns roles that use every column.
func roles(drop []string) datasets.Roles {
	dates := map[string]datasets.Date{"sold": {}, "seen": {Parts: []string{"hour", "year", "weekday"}}, "zoned": {}}
	for _, name := range drop {
		delete(dates, name)
	}
	return datasets.Roles{Target: []string{"income"}, Weight: "weight", Group: "uint64",
		Passthrough: []string{"uint64", "unique", "coded", "money", "int64"}, Dates: dates,
		Kinds: map[string]datasets.Kind{"int8": datasets.Categorical}}
}

// TestSameAsCSV checks that rows written by other programs equal those of the CSV file, bit for bit
// and including the schema.
func TestSameAsCSV(t *testing.T) {
	for name, lacks := range files {
		for what, roles := range map[string]datasets.Roles{
			"all": roles(lacks),
			"quantity": {Target: []string{"cents"}, DropMissingTarget: true, Drop: []string{"sold", "seen", "zoned"},
				Passthrough: []string{"sold", "int32"}},
			"several": {Target: []string{"double", "uint16"}, DropMissingTarget: true, Drop: []string{"sold", "seen", "zoned"},
				Group: "unique"},
			"positive": {Target: []string{"word"}, Positive: []string{"Bern", "a, b"}, DropMissingTarget: true,
				Drop: []string{"sold", "seen", "zoned"}},
			"classes": {Target: []string{"int8"}, Task: datasets.Classification, Drop: []string{"sold", "seen", "zoned"}},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				of := roles
				if name == "pandas" && what == "several" {
					of.Passthrough = nil
				}
				have := func(names []string) []string {
					return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(lacks, name) })
				}
				of.Drop = have(of.Drop)
				got, err := parquet.Options{Roles: of}.Open(ctx, "testdata/"+name+".parquet")
				if err != nil {
					t.Fatal(err)
				}
				of.Drop = append(of.Drop, lacks...)
				want, err := csv.Options{Roles: of}.Open(ctx, "testdata/rows.csv")
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
				schema := want.Schema()
				of.Schema = &schema
				of.Drop = have(of.Drop)
				again, err := parquet.Options{Roles: of}.Open(ctx, "testdata/"+name+".parquet")
				if err != nil {
					t.Fatal(err)
				}
				settest.Equal(t, gather(t, again), settest.GroupsByAppearance(gather(t, want)))
				sourcetest.Run(t, got)
			})
		}
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

// Errors name the file, the column and a remedy.
func TestErrors(t *testing.T) {
	whole, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	copy(damaged[4:], "damaged and unreadable")
	long := slices.Clone(whole)
	copy(long[len(long)-8:], "\xff\xff\xff\x7f")
	files := fstest.MapFS{
		"cut.parquet": {Data: whole[:len(whole)/2]}, "damaged.parquet": {Data: damaged}, "footer.parquet": {Data: long},
		"other.parquet": {Data: []byte("a,b\n1,2\n3,4\n5,6")}, "none.parquet": {Data: nil},
	}
	nested := []string{"list", "structure", "clock", "raw"}
	for _, c := range []struct {
		path  string
		roles datasets.Roles
		want  string
	}{
		{"cut.parquet", datasets.Roles{}, "cut.parquet: the file is cut off: it begins as Parquet does, and does not end so"},
		{"other.parquet", datasets.Roles{}, "other.parquet: not a file of Parquet: it does not end with PAR1"},
		{"none.parquet", datasets.Roles{}, "none.parquet: not a file of Parquet: it does not end with PAR1"},
		{"footer.parquet", datasets.Roles{},
			fmt.Sprintf("footer.parquet: damaged: a footer of 2147483647 bytes in a file of %d", len(whole))},
		{"damaged.parquet", datasets.Roles{Drop: []string{"sold", "seen", "zoned"}},
			"damaged.parquet: row group 0: column double: damaged: "},
		{"testdata/empty.parquet", datasets.Roles{Drop: []string{"sold", "seen", "zoned"}},
			"testdata/empty.parquet: no rows"},
		{"testdata/nested.parquet", datasets.Roles{},
			"testdata/nested.parquet: column list must have numbers, Booleans, strings or times, got type list; exclude it " +
				"with data.drop (Roles.Drop in Go)\n" +
				"testdata/nested.parquet: column structure must have numbers, Booleans, strings or times, got type structure; " +
				"exclude it with data.drop (Roles.Drop in Go)\n" +
				"testdata/nested.parquet: column clock must have numbers, Booleans, strings or times, got type time of day; " +
				"exclude it with data.drop (Roles.Drop in Go)\n" +
				"testdata/nested.parquet: column raw must have numbers, Booleans, strings or times, got type fixed-size binary; " +
				"exclude it with data.drop (Roles.Drop in Go)"},
		{"testdata/brotli.parquet", datasets.Roles{}, "testdata/brotli.parquet: row group 0: column double: compression must be " +
			"snappy, zstd, gzip, lz4 (raw) or none, got number 4"},
		{"testdata/nested.parquet", datasets.Roles{Drop: nested, Target: []string{"y"}}, ""},
		{"testdata/snappy.parquet", datasets.Roles{},
			"testdata/snappy.parquet: column sold must have numbers or strings, got times of type date; split them with " +
				"data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)\n" +
				"testdata/snappy.parquet: column seen must have numbers or strings, got times of type timestamp; split them " +
				"with data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)\n" +
				"testdata/snappy.parquet: column zoned must have numbers or strings, got times of type timestamp; split them " +
				"with data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)"},
		{"testdata/snappy.parquet", datasets.Roles{Drop: []string{"sold", "seen", "zoned"}, Target: []string{"double"}},
			"testdata/snappy.parquet: row 3: column double: the target is missing; set missing_target: drop to skip such " +
				"rows (and 24 more in this column)"},
	} {
		o := parquet.Options{Roles: c.roles}
		if !strings.HasPrefix(c.path, "testdata") {
			o.FS = files
		}
		src, err := o.Open(ctx, c.path)
		if err == nil {
			_, err = datasets.ReadAll(ctx, src)
		}
		got := fmt.Sprint(err)
		if c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %+v:\n%s\nwant\n%s", c.path, c.roles, got, c.want)
		}
	}
}

// Only the pages of the columns in use are read.
func TestPushdown(t *testing.T) {
	whole, err := os.ReadFile("testdata/plain.parquet")
	if err != nil {
		t.Fatal(err)
	}
	full, err := parquet.Options{Roles: datasets.Roles{Drop: []string{"sold", "seen", "zoned"}}}.ReadFile(
		ctx, "testdata/plain.parquet")
	if err != nil {
		t.Fatal(err)
	}
	at := full.Schema.Index("income")
	schema := datasets.Schema{Columns: full.Schema.Columns[at : at+1]}
	for i := 4; i < 5000; i++ { // pages of other columns
		whole[i] = 0xff
	}
	src, err := parquet.Options{FS: fstest.MapFS{"x.parquet": {Data: whole}},
		Roles: datasets.Roles{Schema: &schema, IgnoreExtra: true}}.Open(ctx, "x.parquet")
	if err != nil {
		t.Fatal(err)
	}
	got := gather(t, src)
	for i := range full.Rows() {
		if got.X.At(i, 0) != full.X.At(i, at) {
			t.Fatalf("row %d: %v, want %v", i, got.X.At(i, 0), full.X.At(i, at))
		}
	}
}

// Without the inputs the rows have the same targets, weights, groups and kept columns.
func TestWithoutInputs(t *testing.T) {
	src, err := parquet.Options{Roles: roles(nil)}.Open(ctx, "testdata/zstd.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want, got := gather(t, src), gather(t, rowsource.DropInputs(src))
	want.X = mat.NewDense(want.Rows(), want.Cols(), nil)
	settest.Equal(t, got, want)
	if n, d := rowsource.DropInputs(src).Dims(); n != want.Rows() || d != want.Cols() {
		t.Errorf("%d×%d, want %d×%d", n, d, want.Rows(), want.Cols())
	}
}

// The rows do not depend on the number of cores; a canceled pass returns the cancellation.
func TestCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first datasets.Set
	for _, cores := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(cores)
		set, err := parquet.Options{Roles: roles(nil)}.ReadFile(ctx, "testdata/zstd.parquet")
		if err != nil {
			t.Fatal(err)
		}
		if cores == 1 {
			first = set
		}
		settest.Equal(t, set, first)
	}
	if err := canceltest.Check(func(ctx context.Context) (bool, error) {
		src, err := (parquet.Options{Roles: roles(nil)}).Open(ctx, "testdata/zstd.parquet")
		if err != nil {
			return false, err
		}
		err = src.Blocks(ctx, func(datasets.Set) error { return nil })
		return err == nil, err
	}); err != nil {
		t.Error(err)
	}
}

// FuzzOpen checks that a file is either rejected or has the declared rows.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		whole, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, whole []byte) {
		src, err := parquet.Options{FS: fstest.MapFS{"x": {Data: whole}}, Roles: datasets.Roles{
			IgnoreExtra: true, Schema: &datasets.Schema{Columns: []datasets.Column{{Name: "double"},
				{Name: "word", Kind: datasets.Categorical}, {Name: "truth"}, {Name: "cents"}, {Name: "half"}}},
		}}.Open(ctx, "x")
		if err != nil {
			return
		}
		rows, enough := 0, errors.New("enough")
		err = src.Blocks(ctx, func(b datasets.Set) error {
			if rows += b.Rows(); rows > 1<<20 {
				return enough
			}
			return nil
		})
		if n, _ := src.Dims(); err == nil && rows != n {
			t.Errorf("%d rows, Dims returns %d", rows, n)
		}
	})
}

// Any reader gives the same rows as a file with the same bytes.
func TestRead(t *testing.T) {
	o := parquet.Options{Roles: datasets.Roles{Target: []string{"income"}, Drop: []string{"sold", "seen", "zoned"}}}
	want, err := o.ReadFile(ctx, "testdata/zstd.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open("testdata/zstd.parquet")
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

// TestColumnWithoutName checks that a column without a name is named by its number, as in CSV;
// testdata/nameless.parquet has one after column a.
func TestColumnWithoutName(t *testing.T) {
	set, err := parquet.Options{Roles: datasets.Roles{Target: []string{"x1"}}}.ReadFile(ctx, "testdata/nameless.parquet")
	if err != nil || set.Schema.Targets[0].Name != "x1" || set.Y[2] != 7 {
		t.Errorf("%v: %v", set.Schema, err)
	}
	if _, err := (parquet.Options{Roles: datasets.Roles{Target: []string{""}}}).ReadFile(
		ctx, "testdata/nameless.parquet"); err == nil ||
		!strings.Contains(err.Error(), `no column ""; there are a, x1`) {
		t.Error(err)
	}
}
