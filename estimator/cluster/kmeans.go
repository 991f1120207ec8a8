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

// KMeans finds centres.
type KMeans struct {
	Clusters int
	Restarts int
	Init     string
	MaxIter  int
	Tol      float64
	Batch    int
	Seed     uint64
}

// NewKMeans returns a KMeans with 8 clusters.
func NewKMeans() KMeans {
	return KMeans{Clusters: 8, Restarts: 4, Init: "kmeans++", MaxIter: 300, Tol: 1e-4}
}

// Params declares the hyper-parameters.
func (s *KMeans) Params(l *param.List) {
	l.Int(&s.Clusters, "clusters", "number of clusters", param.AtLeast(1))
	l.Int(&s.Restarts, "restarts", "starts, of which the best is taken", param.AtLeast(1))
	l.Choice(&s.Init, "init", "how the first centres are chosen among the rows", "kmeans++", "random")
	l.Int(&s.MaxIter, "max_iter", "most readings of the rows", param.AtLeast(1))
	l.Float(&s.Tol, "tol", "squared movement of the centres, relative to the variance of the inputs, at which to stop", param.NonNegative)
	l.Int(&s.Batch, "batch", "rows of a minibatch, 0 for all rows at once", param.AtLeast(0))
	l.Seed(&s.Seed, "seed", "seed of the first centres and of the minibatches")
}

// Task returns datasets.Clustering.
func (KMeans) Task() datasets.Task { return datasets.Clustering }

// Fit finds the centres; the result is a [*FittedKMeans].
func (s KMeans) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return nil, errors.New("cluster: kmeans: to come")
}

// FittedKMeans is what [KMeans] returns.
type FittedKMeans struct{ centres *mat.Dense }

// Predict returns the number of the nearest centre for each row of X.
func (f *FittedKMeans) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return nil, errors.New("cluster: kmeans: to come")
}

// State is the model's state for a model file.
func (f *FittedKMeans) State(s *model.State) { s.Matrix("centres", &f.centres) }
