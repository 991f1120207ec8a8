package golearn_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/golearn"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// A pipeline, judged by golearn's evaluation.
func ExampleNewClassifier() {
	text := strings.NewReader("x,y,class\n1,1,near\n1,2,near\n2,1,near\n8,9,far\n9,8,far\n9,9,far\n")
	grid, err := base.ParseCSVToInstancesFromReader(text, true)
	if err != nil {
		log.Fatal(err)
	}
	machine := golearn.NewClassifier(pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewLogistic()))
	if err := machine.Fit(grid); err != nil {
		log.Fatal(err)
	}
	predicted, err := machine.Predict(grid)
	if err != nil {
		log.Fatal(err)
	}
	table, err := evaluation.GetConfusionMatrix(grid, predicted)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(machine, evaluation.GetAccuracy(table))
	// Output: Bochner(standardize → logistic) 1
}
