package cluster

import "github.com/bochner-ml/bochner/internal/spec/registry"

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("cluster", "kmeans", "clusters of rows around centers (k-means)", NewKMeans, &FittedKMeans{})
	registry.Add("cluster", "spectral", "clusters of a similarity graph, from the features of the previous step",
		NewSpectral, &fittedSpectral{})
}
