package npy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/npy"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// fields writes an array of fields in version 1 of the format.
func fields(t *testing.T, name, descr string, rows int, values ...any) string {
	t.Helper()
	var b bytes.Buffer
	head := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%d,), }", descr, rows)
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	b.WriteString("\x93NUMPY\x01\x00")
	for _, v := range append([]any{uint16(len(head)), []byte(head)}, values...) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSeveralFiles checks that the rows of several files equal those of several CSV files, which
// equal those of one file with all rows.
func TestSeveralFiles(t *testing.T) {
	mixed := mixed
	mixed.Passthrough = []string{"id", "city"}
	for name, roles := range map[string]datasets.Roles{
		"all": mixed,
		"positive": {Target: []string{"city"}, Positive: []string{"Bern", "東京"}, DropMissingTarget: true,
			Drop: []string{"sold", "seen"}, Passthrough: []string{"sold"}, Group: "letter"},
		"several": {Target: []string{"big", "half"}, DropMissingTarget: true, Drop: []string{"sold", "seen"}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := csv.Options{Roles: roles}.Open(ctx, "testdata/rows.csv", "testdata/rows.csv", "testdata/rows.csv")
			if err != nil {
				t.Fatal(err)
			}
			got, err := npy.Options{Roles: roles}.Open(ctx, "testdata/rows.npy", "testdata/rows.npy", "testdata/rows.npy")
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
			sourcetest.Equal(t, gather(t, got), gather(t, want))
			sourcetest.Run(t, got)
		})
	}
}

// Columns are matched by name. Strings in one file make a categorical column; an incompatible type
// is an error.
func TestSeveralTypes(t *testing.T) {
	a := fields(t, "a.npy", "[('k', '<f8'), ('n', '<i4')]", 2, 3.5, int32(1), 4.0, int32(2))
	b := fields(t, "b.npy", "[('n', '|b1'), ('k', '|S3')]", 2, true, []byte("red"), false, []byte("4\x00\x00"))
	none := fields(t, "none.npy", "[('n', '|b1'), ('k', '|S3')]", 0)
	src, err := npy.Options{}.Open(ctx, a, none, b)
	if err != nil {
		t.Fatal(err)
	}
	set := gather(t, src)
	want := []datasets.Column{{Name: "k", Kind: datasets.Categorical, Categories: []string{"3.5", "4", "red"}},
		{Name: "n"}}
	if !reflect.DeepEqual(src.Schema().Columns, want) {
		t.Errorf("%+v", src.Schema().Columns)
	}
	for i, row := range [][]float64{{0, 1}, {1, 2}, {2, 1}, {1, 0}} {
		if set.X.At(i, 0) != row[0] || set.X.At(i, 1) != row[1] {
			t.Errorf("row %d is %v, %v, want %v", i, set.X.At(i, 0), set.X.At(i, 1), row)
		}
	}
	times := fields(t, "times.npy", "[('k', '<M8[s]'), ('n', '<i4')]", 1, int64(0), int32(1))
	other := fields(t, "other.npy", "[('k', '<f8')]", 1, 3.5)
	name := filepath.Base
	if _, err := (npy.Options{}).Open(ctx, a, times); err == nil ||
		!strings.Contains(err.Error(), "times.npy: column k is of type") {
		t.Error(err)
	}
	if _, err := (npy.Options{}).Open(ctx, a, other); err == nil ||
		!strings.HasSuffix(err.Error(), name(other)+`: missing column "n", which `+a+" has") {
		t.Error(err)
	}
	bad := fields(t, "bad.npy", "[('k', '<f8'), ('n', '|S2')]", 2, 3.5, []byte("1\x00"), 4.0, []byte("xy"))
	numeric := datasets.Roles{Kinds: map[string]datasets.Kind{"n": datasets.Numeric}}
	src, err = npy.Options{Roles: numeric}.Open(ctx, a, bad)
	if err == nil {
		_, err = datasets.ReadAll(ctx, src)
	}
	if err == nil || !strings.HasSuffix(err.Error(), `bad.npy: row 1: column n: "xy" is not a number`) {
		t.Error(err)
	}
}
