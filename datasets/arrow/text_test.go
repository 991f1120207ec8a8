package arrow_test

import (
	"fmt"
	"testing"

	aa "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// Strings of several words are text, inferred, declared or by a schema, in every block, also next to skipped rows.
func TestText(t *testing.T) {
	const n = 9000
	schema := aa.NewSchema([]aa.Field{{Name: "x", Type: aa.PrimitiveTypes.Float64},
		{Name: "message", Type: aa.BinaryTypes.String, Nullable: true},
		{Name: "y", Type: aa.PrimitiveTypes.Float64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var want []string
	for i := range n {
		b.Field(0).(*array.Float64Builder).Append(float64(i))
		text := fmt.Sprintf("message number %d of many", i)
		if i%5 == 0 {
			text = ""
			b.Field(1).(*array.StringBuilder).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(text)
		}
		if i%7 == 0 {
			b.Field(2).(*array.Float64Builder).AppendNull()
		} else {
			b.Field(2).(*array.Float64Builder).Append(1)
			want = append(want, text)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var learned datasets.Schema
	for name, roles := range map[string]datasets.Roles{
		"inferred": {},
		"declared": {Kinds: map[string]datasets.Kind{"message": datasets.Text}},
		"schema": {Schema: &datasets.Schema{Columns: []datasets.Column{{Name: "x"}, {Name: "message", Kind: datasets.Text}},
			Targets: []datasets.Column{{Name: "y"}}}},
	} {
		roles.Target, roles.DropMissingTarget, roles.Task = []string{"y"}, true, datasets.Regression
		src, err := arrow.Options{Roles: roles}.OpenRecords(ctx, []aa.RecordBatch{batch})
		if err != nil {
			t.Fatal(name, err)
		}
		set := gather(t, src)
		if err := set.Check(); err != nil || set.Rows() != len(want) {
			t.Fatalf("%s: %d rows, want %d: %v", name, set.Rows(), len(want), err)
		}
		if learned = src.Schema(); learned.Columns[1].Kind != datasets.Text {
			t.Fatalf("%s: %v", name, learned)
		}
		X := textrows.Of(set.X)
		for i, text := range want {
			if got, ok := X.Text(i, 1); got != text || ok != (text != "") {
				t.Fatalf("%s: row %d is %q, want %q", name, i, got, text)
			}
		}
	}
}
