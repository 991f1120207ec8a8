package golearn_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/sjwhitworth/golearn/base"

	"github.com/bochner-ml/bochner/golearn"
)

// Rows that golearn has read become a set: its class attribute is the target.
func ExampleFromGrid() {
	text := strings.NewReader("length,colour,kind\n1.5,red,apple\n9.0,yellow,banana\n2.0,yellow,apple\n")
	grid, err := base.ParseCSVToInstancesFromReader(text, true)
	if err != nil {
		log.Fatal(err)
	}
	data, err := golearn.FromGrid(grid)
	if err != nil {
		log.Fatal(err)
	}
	for j, c := range data.Schema.Columns {
		fmt.Println(c.Name, c.Kind, c.Categories, data.X.At(2, j))
	}
	fmt.Println(data.Schema.Classes(), data.Y)
	// Output:
	// length numeric [] 2
	// colour categorical [red yellow] 1
	// [apple banana] [0 1 0]
}
