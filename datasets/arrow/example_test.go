package arrow_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
)

// Rows of a stream that another program writes.
func ExampleRead() {
	stream, err := os.Open("testdata/stream.arrows") // or os.Stdin
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	set, err := arrow.Read(context.Background(), stream, arrow.Options{Roles: datasets.Roles{
		Target: []string{"income"}, Drop: []string{"sold", "seen", "zoned"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	word := set.Schema.Columns[set.Schema.Index("coded")]
	fmt.Printf("%d rows; %s is %s: %q\n", set.Rows(), word.Name, word.Kind, word.Levels)
	// Output:
	// 300 rows; coded is categorical: ["Bern" "New York" "Zürich" "東京"]
}
