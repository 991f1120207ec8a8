package parquet_test

import (
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/parquet"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// TestSeveralFiles checks that the rows of several files with different compression equal those of
// one file with all rows.
func TestSeveralFiles(t *testing.T) {
	for what, roles := range map[string]datasets.Roles{
		"all": roles(nil),
		"several": {Target: []string{"double", "uint16"}, DropMissingTarget: true, Drop: []string{"sold", "seen", "zoned"},
			Group: "unique"},
		"positive": {Target: []string{"word"}, Positive: []string{"Bern", "a, b"}, DropMissingTarget: true,
			Drop: []string{"sold", "seen", "zoned"}},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := parquet.Options{Roles: roles}.Open(ctx, "testdata/plain.parquet", "testdata/zstd.parquet", "testdata/gzip.parquet")
			if err != nil {
				t.Fatal(err)
			}
			want, err := csv.Options{Roles: roles}.Open(ctx, "testdata/rows.csv", "testdata/rows.csv", "testdata/rows.csv")
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
	if _, err := (parquet.Options{}).Open(ctx, "testdata/plain.parquet", "testdata/nested.parquet"); err == nil {
		t.Error("files of other columns are read as one")
	}
}
