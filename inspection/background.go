package inspection

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/pipeline"
)

// KMeansBackground returns n rows that represent data as a background of [Shapley]: for each cluster of k-means, on
// standardized numbers and one-hot encoded categories, the row nearest to its center, with the total weight of the
// cluster. Errors: those of [cluster.KMeans], such as fewer than n distinct rows.
//
// Python equivalent: shap.kmeans, which returns the centers instead.
func KMeansBackground(ctx context.Context, data datasets.Set, n int, seed uint64) (datasets.Set, error) {
	none, data := datasets.Set{}, data.WithoutTargets()
	if data.X == nil || data.Rows() == 0 {
		return none, fmt.Errorf("inspection: background: %w", datasets.ErrEmpty)
	}
	spec := cluster.NewKMeans()
	spec.Clusters, spec.Seed = n, seed
	model, err := preprocessing.Steps(preprocessing.Of(data)).Then(spec).Fit(ctx, data)
	if err != nil {
		return none, wrapError(ctx, fmt.Errorf("background: %w", err))
	}
	assigned, err := model.Predict(ctx, data.X)
	if err != nil {
		return none, wrapError(ctx, fmt.Errorf("background: %w", err))
	}
	Z, err := pipeline.Find(model).Chain().Transform(ctx, data.X)
	if err != nil {
		return none, wrapError(ctx, fmt.Errorf("background: %w", err))
	}
	var found *cluster.FittedKMeans
	estimator.As(model, &found)
	nearest, weights := representatives(mat.DenseCopyOf(Z), found.Centers(), assigned, data.Weights)
	out := data.Select(nearest)
	out.Weights = weights
	return out, nil
}

// representatives returns for each cluster the row nearest to its center, and the weight of its rows. Empty clusters
// have none.
func representatives(Z, centers *mat.Dense, assigned, weights []float64) (rows []int, total []float64) {
	clusters, d := centers.Dims()
	nearest, least, sum := make([]int, clusters), make([]float64, clusters), make([]float64, clusters)
	for i, a := range assigned {
		k, distance := int(a), 0.0
		for j := range d {
			off := Z.At(i, j) - centers.At(k, j)
			distance += off * off
		}
		if sum[k] == 0 || distance < least[k] {
			nearest[k], least[k] = i, distance
		}
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		sum[k] += w
	}
	for k, w := range sum {
		if w > 0 {
			rows, total = append(rows, nearest[k]), append(total, w)
		}
	}
	return rows, total
}
