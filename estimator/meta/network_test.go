package meta_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
)

// A network, whose task only the data determine, works in every wrapper.
func TestWrappersHoldNetworks(t *testing.T) {
	const n = 120
	X, y, codes := mat.NewDense(n, 2, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		X.SetRow(i, []float64{math.Sin(float64(i)), math.Cos(float64(3 * i))})
		if y[i] = math.Exp(X.At(i, 0)); X.At(i, 0) > X.At(i, 1)/3 {
			codes[i] = 1
		}
	}
	amounts := datasets.Set{X: X, Y: y}
	kinds := datasets.Set{X: X, Y: codes, Schema: datasets.Schema{Targets: []datasets.Column{{Name: "kind",
		Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}}
	network := estimator.NewRFFNetwork()
	network.Features, network.Epochs = 20, 40
	log := meta.NewTarget(network)
	log.Transform = "log"
	for what, c := range map[string]struct {
		spec estimator.Estimator
		data datasets.Set
	}{
		"target": {log, amounts}, "seeds of numbers": {meta.NewSeedEnsemble(network, 2), amounts},
		"calibrated": {meta.NewCalibrated(network), kinds}, "seeds of classes": {meta.NewSeedEnsemble(network, 2), kinds},
	} {
		p, err := c.spec.Fit(context.Background(), c.data)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		all, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if known := estimator.OutputsOf(p).Classes != nil; known != (c.data.Schema.Targets != nil) ||
			known != (all.Probabilities != nil) {
			t.Errorf("%s: a classifier: %v, with probabilities: %v", what, known, all.Probabilities != nil)
		}
		wrong := 0.0
		for i, v := range all.Values {
			wrong += math.Abs(v-c.data.Y[i]) / n
		}
		if wrong > 0.1 {
			t.Errorf("%s: off by %.3f in the mean", what, wrong)
		}
	}
}
