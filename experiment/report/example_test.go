package report_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/report"
)

// Render the report of a run and list its figures.
func Example() {
	folder, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	text := "data: {dataset: iris, split: {test: 0.3, stratify: true}}\npipeline: [standardize, {rff: {features: " +
		"100}}, logistic]\noutput: {dir: " + folder + "}\n"
	spec, err := experiment.Parse(context.Background(), "iris.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := experiment.Run(context.Background(), spec, experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := report.New(found)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(page.String(), "<!DOCTYPE html>"), len(page.String()) < 1.5e6)
	for _, p := range page.Pictures()[:4] {
		fmt.Printf("%s: %s\n", p.Section, p.Title)
	}
	// Output:
	// true true
	// Classes: Confusion matrix
	// Classes: ROC
	// Classes: Precision and recall
	// Uncertainty: Calibration
}
