package golearn_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"

	"github.com/bochner-ml/bochner/datasets/golearn"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
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
		fmt.Println(c.Name, c.Kind, c.Levels, data.X.At(2, j))
	}
	fmt.Println(data.Schema.Classes(), data.Y)
	// Output:
	// length numeric [] 2
	// colour categorical [red yellow] 1
	// [apple banana] [0 1 0]
}

// A pipeline, judged by golearn's evaluation.
func ExampleNewClassifier() {
	text := strings.NewReader("x,y,class\n1,1,near\n1,2,near\n2,1,near\n8,9,far\n9,8,far\n9,9,far\n")
	grid, err := base.ParseCSVToInstancesFromReader(text, true)
	if err != nil {
		log.Fatal(err)
	}
	machine := golearn.NewClassifier(pipeline.New(estimator.NewLogistic(), transformer.NewStandardize()))
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
