package arrow_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	aa "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
)

// Batches in memory have the rows of a file with them.
func TestRecords(t *testing.T) {
	o := arrow.Options{Roles: roles(nil)}
	for _, name := range []string{"stream.arrows", "deltas.arrows", "polars.arrows"} {
		if name == "polars.arrows" {
			o.Roles = datasets.Roles{Drop: []string{"sold", "seen", "zoned"}, Target: []string{"income"}}
		}
		whole := must(os.ReadFile("testdata/" + name))
		want, err := o.ReadFile(ctx, "testdata/"+name)
		if err != nil {
			t.Fatal(err)
		}
		stream := func() *ipc.Reader {
			r, err := ipc.NewReader(bytes.NewReader(whole))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		got, err := o.ReadRecords(ctx, stream())
		if err != nil {
			t.Fatal(name, err)
		}
		sourcetest.Equal(t, got, want)
		var batches []aa.RecordBatch
		for r := stream(); r.Next(); {
			r.RecordBatch().Retain()
			batches = append(batches, r.RecordBatch())
		}
		src, err := o.OpenRecords(ctx, batches)
		if err != nil {
			t.Fatal(name, err)
		}
		if n, _ := src.Dims(); n != want.Rows() {
			t.Errorf("%s: %d rows, want %d", name, n, want.Rows())
		}
		sourcetest.Equal(t, gather(t, src), want)
		sourcetest.Run(t, src)
	}
}

// TestRecordErrors checks that invalid records are errors.
func TestRecordErrors(t *testing.T) {
	one, other := numbers("a", 1), numbers("b", 2)
	for want, batches := range map[string][]aa.RecordBatch{"there is no batch": nil,
		"batch 1 has the schema": {one, other}} {
		if _, err := (arrow.Options{}).OpenRecords(ctx, batches); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	whole := must(os.ReadFile("testdata/stream.arrows"))
	r, err := ipc.NewReader(bytes.NewReader(whole[:len(whole)/2]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (arrow.Options{}).ReadRecords(ctx, r); err == nil ||
		!strings.HasPrefix(err.Error(), "records: batch 2: ") {
		t.Error(err)
	}
}

// numbers is a batch of one column.
func numbers(name string, values ...float64) aa.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, aa.NewSchema([]aa.Field{{Name: name,
		Type: aa.PrimitiveTypes.Float64}}, nil))
	b.Field(0).(*array.Float64Builder).AppendValues(values, nil)
	return b.NewRecordBatch()
}
