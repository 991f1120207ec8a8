package cluster_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Five points form two clusters; the larger one is cluster 0.
func ExampleKMeans() {
	points := datasets.Set{X: mat.NewDense(5, 1, []float64{9, 1, 10, 2, 11})}
	spec := cluster.NewKMeans()
	spec.Clusters = 2
	model, err := spec.Fit(context.Background(), points)
	if err != nil {
		log.Fatal(err)
	}
	centers := model.(*cluster.FittedKMeans).Centers()
	numbers, err := model.Predict(context.Background(), mat.NewDense(2, 1, []float64{0, 20}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(centers.At(0, 0), centers.At(1, 0), numbers)
	// Output: 10 1.5 [1 0]
}

// Two concentric circles have the same center; random binning separates them.
func ExampleSpectral() {
	circles, err := synthetic.Circles(300, 0.4, 0.04, 1)
	if err != nil {
		log.Fatal(err)
	}
	bins := transformer.NewBinning()
	bins.Gamma, bins.Grids = kernel.FixedGamma(12), 64
	spec := cluster.NewSpectral()
	spec.Clusters = 2
	model, err := pipeline.Steps(bins).Then(spec).Fit(context.Background(), circles)
	if err != nil {
		log.Fatal(err)
	}
	where := mat.NewDense(4, 2, []float64{1, 0, -1, 0, 0.4, 0, -0.4, 0})
	numbers, err := model.Predict(context.Background(), where)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers[0] == numbers[1], numbers[2] == numbers[3], numbers[0] == numbers[2])
	// Output: true true false
}
