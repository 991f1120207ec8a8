package arrow_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

var ctx = context.Background()

// files maps the files in testdata with the rows of the CSV file to the columns that they lack.
var files = map[string][]string{
	"file.arrow": nil, "stream.arrows": nil, "zstd.arrow": nil, "lz4.arrows": nil, "replaced.arrows": nil,
	"deltas.arrows": nil,
	"polars.arrow":  {"nothing", "half"}, "polars.arrows": {"nothing", "half"}, "pandas.feather": {"half"},
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
// and including the schema, read from a file or a pipe.
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
				have := func(names []string) []string {
					return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(lacks, name) })
				}
				of.Drop = append(have(of.Drop), lacks...)
				want, err := csv.Options{Roles: of}.Open(ctx, "../parquet/testdata/rows.csv")
				if err != nil {
					t.Fatal(err)
				}
				of.Drop = have(of.Drop)
				path := "testdata/" + name
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for what, fsys := range map[string]fs.FS{"file": nil, "pipe": pipe(whole), "gzip": packed(t, whole)} {
					if name == "polars.arrow" && what != "file" { // which is no stream with a footer
						if _, err := (arrow.Options{FS: fsys}).Open(ctx, path); err == nil ||
							!strings.Contains(err.Error(), "must be read from the end") {
							t.Errorf("%s: %v", what, err)
						}
						continue
					}
					got, err := arrow.Options{Roles: of, FS: fsys}.Open(ctx, path)
					if err != nil {
						t.Fatal(what, err)
					}
					if a, b := got.Schema(), want.Schema(); !reflect.DeepEqual(a, b) {
						t.Errorf("%s: schema\n%v, want\n%v", what, a, b)
					}
					if a, b := got.(rowsource.FilteredSource).SkippedRows(),
						want.(rowsource.FilteredSource).SkippedRows(); !reflect.DeepEqual(a, b) {
						t.Errorf("%s: rows left out: %v, want %v", what, a, b)
					}
					sourcetest.Equal(t, gather(t, got), gather(t, want))
					schema, coded := want.Schema(), of
					coded.Schema = &schema
					again, err := arrow.Options{Roles: coded, FS: fsys}.Open(ctx, path)
					if err != nil {
						t.Fatal(what, err)
					}
					sourcetest.Equal(t, gather(t, again), sourcetest.GroupsByAppearance(gather(t, want)))
					sourcetest.Run(t, got)
				}
			})
		}
	}
}

// pipe is a file system of one stream, which is read from its beginning.
type pipe []byte

func (p pipe) Open(string) (fs.File, error) { return &flow{bytes.NewReader(p)}, nil }

type flow struct{ in *bytes.Reader }

func (f *flow) Read(b []byte) (int, error) { return f.in.Read(b[:min(len(b), 1000)]) }
func (*flow) Close() error                 { return nil }
func (*flow) Stat() (fs.FileInfo, error)   { return info{}, nil }

type info struct{}

func (info) Name() string       { return "pipe" }
func (info) Size() int64        { return 0 }
func (info) Mode() fs.FileMode  { return fs.ModeNamedPipe }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }

func packed(t testing.TB, whole []byte) fs.FS {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.Copy(z, bytes.NewReader(whole)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return anyName{out.Bytes()}
}

// anyName is a file system that has one file by any name.
type anyName struct{ whole []byte }

func (a anyName) Open(string) (fs.File, error) {
	return fstest.MapFS{"x": {Data: a.whole}}.Open("x")
}

func (a anyName) Stat(string) (fs.FileInfo, error) {
	return fstest.MapFS{"x": {Data: a.whole}}.Stat("x")
}

func gather(t testing.TB, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.ReadAll(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestNested checks that a fixed-size list has one column per element, and that other nested types
// are not columns.
func TestNested(t *testing.T) {
	drop := []string{"list", "map", "structure", "union", "dense", "runs", "clock", "span", "fixed"}
	for what, fsys := range map[string]fs.FS{"file": nil, "pipe": pipe(must(os.ReadFile("testdata/nested.arrow")))} {
		src, err := arrow.Options{FS: fsys,
			Roles: datasets.Roles{Target: []string{"y"}, Drop: drop}}.Open(ctx, "testdata/nested.arrow")
		if err != nil {
			t.Fatal(what, err)
		}
		set := gather(t, src)
		var names []string
		for _, c := range set.Schema.Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != "v_0 v_1 v_2 b_0 b_1" {
			t.Errorf("%s: columns %s", what, got)
		}
		for i := range 20 {
			if set.Y[i] != float64(i) {
				t.Fatalf("%s: row %d: target %v", what, i, set.Y[i])
			}
			for j := range 2 {
				k := 2*i + j
				if v := set.X.At(i, 3+j); k%7 == 0 && v == v || k%7 != 0 && v != float64(k%2) {
					t.Errorf("%s: row %d: b_%d is %v", what, i, j, v)
				}
			}
		}
		// The first numbers that numpy's default_rng(2).normal draws, in single precision.
		for j, want := range []float32{0.18905339, -0.5227485, -0.41306356} {
			if got := set.X.At(0, j); got != float64(want) {
				t.Errorf("%s: v_%d is %v, want %v", what, j, got, want)
			}
		}
		sourcetest.Run(t, src)
	}
	_, err := arrow.Options{}.Open(ctx, "testdata/nested.arrow")
	for _, want := range []string{"column list must have numbers, Booleans, strings or times, got type list; exclude " +
		"it with data.drop (Roles.Drop in Go)", "column dense must have numbers, Booleans, strings or times, got type " +
		"union", "column " +
		"span must have numbers, Booleans, strings or times, got type duration"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Errors name the file, the batch and the column.
func TestErrors(t *testing.T) {
	stream, file := must(os.ReadFile("testdata/stream.arrows")), must(os.ReadFile("testdata/file.arrow"))
	damaged := must(os.ReadFile("testdata/zstd.arrow"))
	for i := len(damaged) / 2; i < len(damaged)/2+500; i++ {
		damaged[i] ^= 0x55
	}
	drop := datasets.Roles{Drop: []string{"sold", "seen", "zoned"}}
	for _, c := range []struct {
		name  string
		whole []byte
		fsys  func(whole []byte) fs.FS
		want  string
	}{
		{"cut file", file[:len(file)/2], one, "x: it is cut off: it begins as a file of Arrow does, and does not end so"},
		{"cut stream", stream[:len(stream)/2], one, "x: batch 2: it is cut off"},
		{"stream cut in a header", stream[:len(stream)/2+3], one, "x: batch "},
		{"cut pipe", stream[:len(stream)/2], func(b []byte) fs.FS { return pipe(b) }, "x: batch "},
		{"text", []byte("a,b\n1,2\n3,4\n"), one, "x: not a file nor a stream of Arrow"},
		{"nothing", nil, one, "x: not a file nor a stream of Arrow"},
		{"nothing in a pipe", nil, func(b []byte) fs.FS { return pipe(b) }, "x: not a file nor a stream of Arrow"},
		{"damaged", damaged, one, "x: batch "},
		{"empty", must(os.ReadFile("testdata/empty.arrows")), one, "x: no rows"},
		{"empty in a pipe", must(os.ReadFile("testdata/empty.arrows")), func(b []byte) fs.FS { return pipe(b) },
			"x: no rows"},
	} {
		src, err := arrow.Options{Roles: drop, FS: c.fsys(c.whole)}.Open(ctx, "x")
		if err == nil {
			_, err = datasets.ReadAll(ctx, src)
		}
		if !strings.HasPrefix(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v\nwanted %s", c.name, err, c.want)
		}
	}
}

func one(whole []byte) fs.FS { return fstest.MapFS{"x": {Data: whole}} }

// The rows do not depend on the number of cores; a canceled pass returns the cancellation.
func TestCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first datasets.Set
	for _, cores := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(cores)
		set, err := arrow.Options{Roles: roles(nil)}.ReadFile(ctx, "testdata/zstd.arrow")
		if err != nil {
			t.Fatal(err)
		}
		if cores == 1 {
			first = set
		}
		sourcetest.Equal(t, set, first)
	}
	whole := must(os.ReadFile("testdata/stream.arrows"))
	for _, fsys := range []fs.FS{nil, pipe(whole)} {
		if err := canceltest.Check(func(ctx context.Context) (bool, error) {
			src, err := (arrow.Options{Roles: roles(nil), FS: fsys}).Open(ctx, "testdata/stream.arrows")
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

// FuzzOpen checks that bytes are either rejected or have the declared rows, in a file and through a
// pipe.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*r*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add(must(os.ReadFile(name)))
	}
	f.Fuzz(func(t *testing.T, whole []byte) {
		for _, fsys := range []fs.FS{one(whole), pipe(whole)} {
			src, err := arrow.Options{FS: fsys, Roles: datasets.Roles{IgnoreExtra: true,
				Schema: &datasets.Schema{Columns: []datasets.Column{
					{Name: "double"}, {Name: "word", Kind: datasets.Categorical}, {Name: "coded", Kind: datasets.Categorical},
					{Name: "truth"}, {Name: "cents"}}}}}.Open(ctx, "x")
			if err != nil {
				continue
			}
			rows, enough := 0, errors.New("enough")
			err = src.Blocks(ctx, func(b datasets.Set) error {
				if rows += b.Rows(); rows > 1<<20 {
					return enough
				}
				return nil
			})
			if n, _ := src.Dims(); err == nil && n >= 0 && rows != n {
				t.Errorf("%d rows, Dims returns %d", rows, n)
			}
		}
	})
}

// Damaged bytes are rejected, or have the declared rows; no declared size ends the process.
func TestDamaged(t *testing.T) {
	names, err := filepath.Glob("testdata/*.*r*")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 100 {
		whole := must(os.ReadFile(names[k%len(names)]))
		for range 1 + r.IntN(4) {
			i := r.IntN(len(whole))
			whole[i] ^= byte(1 + r.IntN(255))
			for ; i < len(whole) && r.IntN(8) > 0; i++ {
				whole[i] = 0xff
			}
		}
		for _, fsys := range []fs.FS{one(whole), pipe(whole)} {
			src, err := arrow.Options{FS: fsys, Roles: datasets.Roles{IgnoreExtra: true,
				Schema: &datasets.Schema{
					Columns: []datasets.Column{{Name: "double"}, {Name: "word", Kind: datasets.Categorical}, {Name: "truth"}}}}}.Open(ctx, "x")
			if err != nil {
				continue
			}
			rows := 0
			err = src.Blocks(ctx, func(b datasets.Set) error { rows += b.Rows(); return nil })
			if n, _ := src.Dims(); err == nil && n >= 0 && rows != n {
				t.Errorf("%d: %d rows, Dims returns %d", k, rows, n)
			}
		}
	}
}

// Any reader gives the same rows as a file with the same bytes.
func TestRead(t *testing.T) {
	o := arrow.Options{Roles: datasets.Roles{Target: []string{"income"}, Drop: []string{"sold", "seen", "zoned"}}}
	want, err := o.ReadFile(ctx, "testdata/lz4.arrows")
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open("testdata/lz4.arrows")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := o.Read(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, got, want)
	if _, err := o.Read(ctx, strings.NewReader("a,b")); err == nil ||
		!strings.HasPrefix(err.Error(), "input: not a") {
		t.Errorf("from a string: %v", err)
	}
	if _, err := o.Read(ctx, nil); err == nil || err.Error() != "input: there is no reader" {
		t.Errorf("no reader: %v", err)
	}
}

// TestColumnWithoutName checks that a column without a name is named by its number, as in CSV;
// testdata/nameless.arrow has one after column a.
func TestColumnWithoutName(t *testing.T) {
	set, err := arrow.Options{Roles: datasets.Roles{Target: []string{"x1"}}}.ReadFile(ctx, "testdata/nameless.arrow")
	if err != nil || set.Schema.Targets[0].Name != "x1" || set.Y[2] != 7 {
		t.Errorf("%v: %v", set.Schema, err)
	}
	if _, err := (arrow.Options{Roles: datasets.Roles{Target: []string{""}}}).ReadFile(ctx, "testdata/nameless.arrow"); err == nil ||
		!strings.Contains(err.Error(), `no column ""; there are a, x1`) {
		t.Error(err)
	}
}
