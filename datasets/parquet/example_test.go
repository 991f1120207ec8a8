package parquet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/parquet"
)

// Read rows in blocks, with a date column split into parts and other columns dropped.
func ExampleOptions_Open() {
	rows, err := parquet.Options{Roles: datasets.Roles{
		Target: []string{"income"},
		Drop:   []string{"unique", "nothing", "seen", "zoned"},
		Dates:  map[string]datasets.Date{"sold": {Parts: []string{"year", "month"}}},
	}}.Open(context.Background(), "testdata/snappy.parquet")
	if err != nil {
		log.Fatal(err)
	}
	n, d := rows.Dims() // known before a row is read
	fmt.Printf("%d rows, %d inputs, classes %q\n", n, d, rows.Schema().Classes())
	err = rows.Blocks(context.Background(), func(block datasets.Set) error {
		fmt.Println("a block of", block.Rows(), "rows")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 300 rows, 17 inputs, classes ["<=50K" ">50K"]
	// a block of 300 rows
}
