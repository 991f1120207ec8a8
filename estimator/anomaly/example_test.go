package anomaly_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Training rows are near the origin; a distant row is an anomaly.
func ExampleOneClass() {
	rng := rand.New(rand.NewPCG(1, 1))
	X := mat.NewDense(500, 2, nil)
	X.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, X)
	rff := transformer.NewRFF()
	rff.Gamma, rff.Features = kernel.FixedGamma(0.2), 300
	spec := anomaly.NewOneClass()
	spec.Nu = 0.05
	model, err := pipeline.Steps(rff).Then(spec).Fit(context.Background(), datasets.Set{X: X})
	if err != nil {
		log.Fatal(err)
	}
	p, err := estimator.Predict(context.Background(), model, mat.NewDense(3, 2, []float64{0, 0, 1, -1, 6, 6}),
		estimator.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Values, p.Anomaly[2] > p.Anomaly[1])
	// Output: [0 0 1] true
}
