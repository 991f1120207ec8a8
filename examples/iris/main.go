// Command iris fits a kernel machine to Fisher's irises and tests it:
//
//	go run ./examples/iris
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func main() {
	flowers, _, err := builtin.Load("iris")
	check(err)
	train, test, err := datasets.TrainTest{Test: 0.3, Shuffle: true, Stratify: true, Seed: 1}.Sets(flowers)
	check(err)
	machine := pipeline.Steps(transformer.NewStandardize(), transformer.NewRFF()).Then(estimator.NewLogistic())
	model, err := machine.Fit(context.Background(), train)
	check(err)
	predicted, err := model.Predict(context.Background(), test.X)
	check(err)
	accuracy, err := metrics.ByName("accuracy")
	check(err)
	score, err := accuracy.Score(metrics.Input{YTrue: test.Y, YPred: predicted})
	check(err)
	fmt.Printf("%d of %d flowers named right\n", int(score*float64(test.Rows())+0.5), test.Rows())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
