package csv_test

import (
	"context"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// TestRealFiles reads files that others have written, each in its own manner.
func TestRealFiles(t *testing.T) {
	last := datasets.Roles{Target: []string{"-1"}}
	classes := datasets.Roles{Target: []string{"-1"}, Task: datasets.Classification}
	for _, c := range []struct {
		path       string
		o          csv.Options
		rows, cols int
		classes    int
	}{
		{"census_house/574_house_16H.tsv.gz", csv.Options{Roles: datasets.Roles{Target: []string{"target"}}}, 22784, 16, 0},
		{"covtype_subset/covtype_random92962.data.gz", csv.Options{NoHeader: true, Roles: classes}, 92962, 54, 7},
		{"usps/zip.test.gz", csv.Options{NoHeader: true, Delimiter: "space",
			Roles: datasets.Roles{Target: []string{"0"}, Task: datasets.Classification}}, 2007, 256, 10},
		{"uci_regression/yacht.txt.gz", csv.Options{NoHeader: true, Delimiter: "space", Roles: last}, 308, 6, 0},
		{"uci_regression/protein-tertiary-structure.txt.gz", csv.Options{NoHeader: true, Delimiter: "space", Roles: last},
			45730, 9, 0},
		{"small/breast-cancer-wisconsin.csv.gz", csv.Options{NoHeader: true, Missing: []string{"?"}, Roles: classes}, 699, 9,
			2},
		{"small/sonar.csv.gz", csv.Options{NoHeader: true, Roles: last}, 208, 60, 2},
	} {
		t.Run(c.path, func(t *testing.T) {
			set, err := c.o.ReadFile(context.Background(), golden.Path(t, "data", c.path))
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

// TestIntrusions streams the test rows of KDD Cup 1999, whose attacks no training row has, as attacks
// against normal rows.
func TestIntrusions(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("large files")
	}
	path := golden.Path(t, "data/kddcup99/corrected.gz")
	o := csv.Options{NoHeader: true, Roles: datasets.Roles{Target: []string{"-1"}, Positive: []string{"normal."}}}
	src, err := o.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	normal, rows := 0, 0
	err = rowsource.Prefetch(src).Blocks(context.Background(), func(b datasets.Set) error {
		rows += b.Rows()
		for _, y := range b.Y {
			normal += int(y)
		}
		return nil
	})
	if err != nil || rows != 311029 || normal != 60593 {
		t.Errorf("%d rows, %d normal, %v; want 311029, 60593", rows, normal, err)
	}
	s := src.Schema()
	var text []string
	for _, c := range s.Columns {
		if c.Kind == datasets.Categorical {
			text = append(text, c.Name)
		}
	}
	if !slices.Equal(text, []string{"x1", "x2", "x3"}) || !slices.Equal(s.Classes(), []string{"rest", "normal."}) {
		t.Errorf("categorical columns %q, classes %q", text, s.Classes())
	}
}

// long is a file system of one file: a header, and then one line again and again.
type long struct{ size int64 }

func (l long) Open(string) (fs.File, error) {
	const line = "1.25,-3.5,0.125,17\n"
	return &longFile{io.LimitReader(io.MultiReader(strings.NewReader("a,b,c,d\n"), &again{line: line}),
		l.size/int64(len(line))*int64(len(line))+8)}, nil
}

type longFile struct{ io.Reader }

func (longFile) Stat() (fs.FileInfo, error) { return info{}, nil }
func (longFile) Close() error               { return nil }

type info struct{}

func (info) Name() string       { return "long.csv" }
func (info) Size() int64        { return 0 }
func (info) Mode() fs.FileMode  { return 0 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }

// again repeats a line without end.
type again struct {
	line string
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := copy(p[n:], a.line[a.at:])
		n += k
		a.at = (a.at + k) % len(a.line)
	}
	return n, nil
}

// TestMemory checks that memory does not grow with the length of the file.
func TestMemory(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("large files")
	}
	allocated := func(size int64) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		src, err := csv.Options{FS: long{size}}.Open(context.Background(), "long.csv")
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		err = src.Blocks(context.Background(), func(b datasets.Set) error { sum += b.X.At(0, 0); return nil })
		if err != nil || sum == 0 {
			t.Fatal(sum, err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := allocated(4<<20), allocated(32<<20)
	if large > small+1<<20 {
		t.Errorf("%d bytes allocated for 4 MB of text, %d for 32 MB", small, large)
	}
}
