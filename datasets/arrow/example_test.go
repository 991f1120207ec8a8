package arrow_test

import (
	"context"
	"fmt"
	"log"
	"os"

	aa "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
)

// Rows of a stream that another program writes.
func ExampleOptions_Read() {
	stream, err := os.Open("testdata/stream.arrows") // or os.Stdin
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	set, err := arrow.Options{Roles: datasets.Roles{
		Target: []string{"income"}, Drop: []string{"sold", "seen", "zoned"},
	}}.Read(context.Background(), stream)
	if err != nil {
		log.Fatal(err)
	}
	word := set.Schema.Columns[set.Schema.Index("coded")]
	fmt.Printf("%d rows; %s is %s: %q\n", set.Rows(), word.Name, word.Kind, word.Categories)
	// Output:
	// 300 rows; coded is categorical: ["Bern" "New York" "Zürich" "東京"]
}

// Rows of record batches that a program has, here with one column of numbers and one of classes.
func ExampleOptions_OpenRecords() {
	schema := aa.NewSchema([]aa.Field{{Name: "x", Type: aa.PrimitiveTypes.Float64},
		{Name: "y", Type: aa.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{1, 2, 3}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"no", "yes", "no"}, nil)

	rows, err := arrow.Options{Roles: datasets.Roles{Target: []string{"y"}}}.OpenRecords(context.Background(), []aa.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		log.Fatal(err)
	}
	n, d := rows.Dims()
	fmt.Printf("%d rows, %d inputs, classes %q\n", n, d, rows.Schema().Classes())
	// Output: 3 rows, 1 inputs, classes ["no" "yes"]
}
