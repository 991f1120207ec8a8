// Package cluster provides clustering estimators.
//
//	kmeans    [KMeans]    *[FittedKMeans]    k-means, with minibatches
//	spectral  [Spectral]  *fittedSpectral  connected clusters, by random features of a kernel
//
// The specs are estimators of the task clustering: Fit ignores the targets of the data, which may
// be nil, and Predict returns the cluster number of each row, from 0. The order of the numbers has
// no meaning.
package cluster

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
)

// numbers requires complete numeric columns.
var numbers = []datasets.Requirement{{Numeric: true}, {NoMissing: true}}

// openRows checks the spec and the memory of the fit, and returns the training rows.
func openRows(ctx context.Context, spec datasets.CostEstimator, open func() (*design.Rows, error)) (*design.Rows,
	error) {
	if err := specs.CheckFit(spec); err != nil {
		return nil, err
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	if err := memory.Check(spec.Cost(r.Shape(r.N, 1)).Bytes); err != nil {
		return nil, err
	}
	return r.CacheSparse(ctx)
}

// predictRows returns the rows of X in a type that the matrix products support, or nil if it has no
// rows.
func predictRows(ctx context.Context, X mat.Matrix, width int) (mat.Matrix, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if n, _ := X.Dims(); n == 0 {
		return nil, nil
	}
	if err := datasets.CheckInput(ctx, X, width); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return design.Native(X), nil
}

var (
	_ = []interface {
		estimator.Reporter
		graph.ModelExporter
		model.Stateful
	}{(*FittedKMeans)(nil), (*fittedSpectral)(nil)}
	_ = []estimator.BlockEstimator{KMeans{}, Spectral{}}
	_ = []datasets.CostEstimator{KMeans{}, Spectral{}}
	_ = []datasets.Requirer{KMeans{}, Spectral{}}

	_ estimator.PassEstimator = KMeans{}
)
