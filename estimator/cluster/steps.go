package cluster

import "github.com/bochner-ml/bochner/internal/spec/registry"

// The steps of this package with their names in experiment files.
func init() {
	registry.Add("cluster", "kmeans", "groups of rows around centres", NewKMeans, &FittedKMeans{})
	registry.Add("cluster", "spectral", "groups of rows that hang together, by the features of the step before",
		NewSpectral, &FittedSpectral{})
}
