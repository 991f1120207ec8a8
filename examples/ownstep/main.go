// Command ownstep shows a transformer and an estimator of one's own, registered under names that
// experiment files then know:
//
//	go run ./examples/ownstep
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
)

// register registers the steps of this directory.
func register() error {
	return errors.Join(
		pipeline.Register(pipeline.Entry{
			Name: "signed_log", Doc: "pulls in long tails by a logarithm that keeps the sign",
			New:    func() any { return NewSignedLog() },
			Fitted: func() model.Stateful { return &FittedSignedLog{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "class_means", Doc: "predicts the class whose mean is nearest",
			New:    func() any { return NewClassMeans() },
			Fitted: func() model.Stateful { return &FittedClassMeans{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "product", Doc: "multiplies the kernels of its parts",
			New:    func() any { return NewProduct() },
			Fitted: func() model.Stateful { return &FittedProduct{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "relu", Doc: "a layer of rectified linear units with random weights",
			New:    func() any { return NewReLU() },
			Fitted: func() model.Stateful { return &FittedReLU{} },
		}),
	)
}

// wines separates three wine growers by class means in the space of random features. The bochner
// command rejects this file, because it does not know the steps of this directory.
const wines = `
name: ownstep
seed: 5
data: {dataset: wine, split: {test: 0.3, stratify: true}}
pipeline:
  - signed_log
  - standardize
  - rff: {kernel: gaussian, features: 1000}
  - class_means
search:
  grid:
    signed_log.strength: [0.1, 1, 10]
    rff.gamma: {log: [0.001, 0.1, 3]}
    class_means.shrink: [0, 0.1]
output: {dir: runs/ownstep}
`

func main() {
	if err := register(); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	spec, err := experiment.Parse(ctx, "ownstep.yaml", []byte(wines))
	if err != nil {
		log.Fatal(err)
	}
	result, err := experiment.Run(ctx, spec, experiment.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("best of %d candidates: %v\n", result.Search.Candidates, result.Search.Best.Params)
	fmt.Printf("accuracy on %d test rows: %.3f\n", result.Rows.Test, result.Test["accuracy"])
}
