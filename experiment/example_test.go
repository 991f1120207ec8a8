package experiment_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/experiment"
)

// An experiment on built-in data, from its text to its results.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := `
name: iris
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline:
  - standardize
  - rff: {gamma: 0.1, features: 200}
  - logistic
search:
  grid: {logistic.C: [1, 10, 100]}
`
	ctx := context.Background()
	spec, err := experiment.Parse(ctx, "iris.yaml", []byte(text), experiment.Override{Path: "output.dir", Value: dir})
	if err != nil {
		log.Fatal(err)
	}
	result, err := experiment.Run(ctx, spec, experiment.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Rows.Train, "rows to train on,", result.Rows.Test, "to test on")
	fmt.Println("good:", result.Test["accuracy"] > 0.9)
	for _, path := range result.Files {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// 105 rows to train on, 45 to test on
	// good: true
	// predictions.csv
	// cv_results.csv
	// model.bochner
	// spec.yaml
	// report.html
	// result.json
}

// Everything that is wrong with a file is reported at once, each fault with its place.
func ExampleParse() {
	text := `data: {dataset: iriss}
pipeline:
  - rff: {gamma: -1}
  - logistc
`
	_, err := experiment.Parse(context.Background(), "iris.yaml", []byte(text))
	fmt.Println(err)
	// Output:
	// iris.yaml:1:8: data.dataset: no built-in data are called "iriss" (did you mean iris?)
	// iris.yaml:3:18: pipeline.rff.gamma: got -1, wanted a number > 0, a list of them (one for each column), scale or median
	// iris.yaml:4:5: pipeline[1]: no step is called "logistc" (did you mean logistic?)
}
