package estimator

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
)

// ExportModel adds to g the targets, and with them the training rows that the model stores.
func (f *kernelRegressor) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := f.m.Export(g, rows)
	if err != nil {
		return graph.Prediction{}, err
	}
	return g.Regression(out), nil
}

// ExportModel adds to g class and scores, and with them the training rows that the model stores.
func (f *kernelClassifier) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := f.m.Export(g, rows)
	if err != nil {
		return graph.Prediction{}, err
	}
	return g.ClassFromScores(out), nil
}

// ExportModel adds to g the means of all targets, and their deviations: a quadratic form in the features, with the
// inverse of L, of which the entries may be large.
func (f *FittedGaussianProcess) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	features, err := f.features.export(g, rows)
	if err != nil {
		return graph.Prediction{}, err
	}
	out := g.Regression(f.linear.export(g, features))
	D := len(f.mean)
	inverse := kern.Dense(D, D, D, make([]float64, D*D))
	for i := range D {
		inverse.Set(i, i, 1)
	}
	if err := kern.SolveLower(context.Background(), design.View(f.lower), inverse); err != nil {
		return out, err
	}
	solved := g.MatMul(g.Sub(features, g.Row(f.mean)), g.Matrix(mat.NewDense(D, D, inverse.Data).T()))
	certain := 1.0
	if f.weight > 0 {
		certain += 1 / f.weight
	}
	deviations := make([]float64, len(f.noise))
	for k, noise := range f.noise {
		deviations[k] = math.Sqrt(noise)
	}
	out.Std = g.Mul(g.Sqrt(g.Add(g.RowSum(g.Square(solved)), g.Scalar(certain))), g.Row(deviations))
	return out, nil
}

// ExportModel adds to g the functions.
func (f *sampledFunctions) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	features, err := f.features.export(g, rows)
	if err != nil {
		return graph.Prediction{}, err
	}
	return g.Regression(f.linear.export(g, features)), nil
}

// export adds to g the features of rows.
func (k *kernelFeatures) export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	switch {
	case k.name == linearKernel:
		return rows, nil
	case k.own != nil:
		return graph.Value{}, k.own.Kernel.CheckExport(k.name)
	}
	return k.of.Export(g, rows), nil
}

// ExportModel adds to g the targets, or class, scores and probabilities.
func (f *fittedRFFNetwork) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	outputs := f.m.Export(g, rows)
	if len(f.classes) == 0 {
		return g.Regression(outputs), nil
	}
	out := g.ClassFromScores(outputs)
	out.Probabilities = g.Logistic(outputs)
	return out, nil
}
