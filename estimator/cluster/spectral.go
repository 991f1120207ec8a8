package cluster

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Spectral finds clusters.
type Spectral struct {
	Clusters int
	Restarts int
	Tol      float64
	MaxIter  int
	Seed     uint64
}

// NewSpectral returns a Spectral with 8 clusters.
func NewSpectral() Spectral { return Spectral{Clusters: 8, Restarts: 4, Tol: 1e-4, MaxIter: 300} }

// Params declares the hyper-parameters.
func (s *Spectral) Params(l *param.List) {
	l.Int(&s.Clusters, "clusters", "number of clusters", param.AtLeast(1))
	l.Int(&s.Restarts, "restarts", "starts of k-means in the singular vectors, of which the best is taken", param.AtLeast(1))
	l.Float(&s.Tol, "tol", "residual of the singular vectors at which to stop", param.Positive)
	l.Int(&s.MaxIter, "max_iter", "most readings of the rows for the singular vectors", param.AtLeast(1))
	l.Seed(&s.Seed, "seed", "seed of the first vectors and of k-means")
}

// Task returns datasets.Clustering.
func (Spectral) Task() datasets.Task { return datasets.Clustering }

// Fit finds the clusters; the result is a [*FittedSpectral].
func (s Spectral) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return nil, errors.New("cluster: spectral: to come")
}

// FittedSpectral is what [Spectral] returns.
type FittedSpectral struct{ centres *mat.Dense }

// Predict returns the number of a cluster for each row of X.
func (f *FittedSpectral) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return nil, errors.New("cluster: spectral: to come")
}

// State is the model's state for a model file.
func (f *FittedSpectral) State(s *model.State) { s.Matrix("centres", &f.centres) }
