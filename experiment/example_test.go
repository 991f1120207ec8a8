package experiment_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

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

// All errors of a file are reported at once, with positions.
func ExampleParse() {
	text := `data: {dataset: iriss}
pipeline:
  - rff: {gamma: -1}
  - logistc
`
	_, err := experiment.Parse(context.Background(), "iris.yaml", []byte(text))
	fmt.Println(err)
	// Output:
	// iris.yaml:1:8: data.dataset: no built-in data set is named "iriss" (did you mean iris?)
	// iris.yaml:3:18: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, got -1
	// iris.yaml:4:5: pipeline[1]: no step is called "logistc" (did you mean logistic?)
}

// A linear model and one on random features, on the same 45 test rows.
func ExampleCompare() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	var runs []string
	for name, pipeline := range map[string]string{"linear": "[standardize, ridge_classifier]",
		"rff": "[standardize, {rff: {gamma: 0.1, features: 200}}, ridge_classifier]"} {
		text := "data: {dataset: iris, split: {test: 0.3, stratify: true}}\npipeline: " + pipeline
		folder := filepath.Join(dir, name)
		spec, err := experiment.Parse(ctx, "iris.yaml", []byte(text), experiment.Override{Path: "output.dir", Value: folder})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := experiment.Run(ctx, spec, experiment.Options{}); err != nil {
			log.Fatal(err)
		}
		runs = append(runs, folder)
	}
	slices.Sort(runs)
	found, err := experiment.Compare(ctx, "", runs...)
	if err != nil {
		log.Fatal(err)
	}
	t := found.OnTestRows[0]
	fmt.Printf("%s and %s: %d rows that only the first gets right, %d that only the second does\n", found.Runs[0].Label,
		found.Runs[1].Label, t.OnlyFirst, t.Only)
	fmt.Printf("%s: p %.3f\n", t.Method, t.P)
	// Output:
	// linear and rff: 0 rows that only the first gets right, 6 that only the second does
	// McNemar, exact binomial: p 0.031
}
