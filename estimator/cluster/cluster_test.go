package cluster_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// embedding is a fitted spectral clustering.
type embedding interface {
	model.Stateful
	estimator.Predictor
	graph.ModelExporter
	Embed(ctx context.Context, X mat.Matrix) (*mat.Dense, error)
	Values() []float64
}

func TestKMeansConformance(t *testing.T) {
	s := cluster.NewKMeans()
	s.Clusters = 3
	estimatortest.Run(t, s, estimatortest.Options{})
	s.Init, s.Restarts = "random", 10
	estimatortest.Run(t, s, estimatortest.Options{})
}

func TestMinibatchesConformance(t *testing.T) {
	s := cluster.NewKMeans()
	s.Clusters, s.Batch = 3, 32
	estimatortest.Run(t, s, estimatortest.Options{})
}

func TestSpectralConformance(t *testing.T) {
	s := cluster.NewSpectral()
	s.Clusters, s.Tol = 3, 1e-9
	estimatortest.Run(t, s, estimatortest.Options{Origin: true, Positive: true})
	s.Kernel = "cluster_cosine"
	estimatortest.Run(t, s, estimatortest.Options{Origin: true, Positive: true, Folds: true,
		Unexported: "cannot export kernel cluster_cosine: " +
			"it is a function of a Go program; use the model file in the program"})
}

// score returns the adjusted Rand index of the clusters that a pipeline finds.
func score(t *testing.T, data datasets.Set, p pipeline.Pipeline) float64 {
	t.Helper()
	f, err := p.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Predict(context.Background(), data.X)
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.ByName("adjusted_rand")
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Score(metrics.Input{YTrue: data.Y, YPred: got})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func shapes(t *testing.T, rows int) map[string]datasets.Set {
	t.Helper()
	moons, err := synthetic.Moons(rows, 0.06, 1)
	if err != nil {
		t.Fatal(err)
	}
	circles, err := synthetic.Circles(rows, 0.4, 0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]datasets.Set{"moons": moons, "circles": circles}
}

// Spectral clustering on binning features separates moons and circles, which k-means cannot.
func TestShapes(t *testing.T) {
	for name, data := range shapes(t, 400) {
		plain := cluster.NewKMeans()
		plain.Clusters = 2
		if got := score(t, data, pipeline.Steps().Then(plain)); got > 0.6 {
			t.Errorf("%s: k-means has adjusted Rand %v", name, got)
		}
		bins := transformer.NewBinning()
		bins.Gamma, bins.Grids = kernel.FixedGamma(15), 128
		s := cluster.NewSpectral()
		s.Clusters = 2
		if got := score(t, data, pipeline.Steps(bins).Then(s)); got < 0.95 {
			t.Errorf("%s: spectral on binning has adjusted Rand %v", name, got)
		}
	}
}

// TestSpectralIsTheGraph checks that clusters equal those of a full eigendecomposition of the
// graph, and that new rows are assigned like training rows.
func TestSpectralIsTheGraph(t *testing.T) {
	data := shapes(t, 200)["moons"]
	bins := transformer.NewBinning()
	bins.Gamma, bins.Grids = kernel.FixedGamma(4), 32
	f, err := bins.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	Z, err := f.Transform(context.Background(), data.X)
	if err != nil {
		t.Fatal(err)
	}
	dense := mat.DenseCopyOf(Z)
	n, _ := dense.Dims()
	var graph mat.Dense
	graph.Mul(dense, dense.T())
	root := make([]float64, n)
	for i := range n {
		root[i] = math.Sqrt(mat.Sum(graph.RowView(i)))
	}
	normal := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			normal.SetSym(i, j, graph.At(i, j)/(root[i]*root[j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(normal, true) {
		t.Fatal("no decomposition")
	}
	values := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	s := cluster.NewSpectral()
	s.Clusters, s.Tol = 3, 1e-10
	p, err := s.Fit(context.Background(), datasets.Set{X: Z})
	if err != nil {
		t.Fatal(err)
	}
	fitted := p.(embedding)
	for c, v := range fitted.Values() {
		if math.Abs(v-values[n-1-c]) > 1e-8 {
			t.Errorf("value %d is %v, want %v", c, v, values[n-1-c])
		}
	}
	embedded, err := fitted.Embed(context.Background(), Z)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n { // up to a turn of the vectors, products of rows are the same
		for j := range i {
			want, a, b := 0.0, 0.0, 0.0
			for c := range 3 {
				u, v := vectors.At(i, n-1-c), vectors.At(j, n-1-c)
				want, a, b = want+u*v, a+u*u, b+v*v
			}
			if got := mat.Dot(embedded.RowView(i), embedded.RowView(j)); math.Abs(got-want/math.Sqrt(a*b)) > 1e-6 {
				t.Fatalf("rows %d and %d: product %v, want %v", i, j, got, want/math.Sqrt(a*b))
			}
		}
	}
}

// Streams are clustered as rows in memory, also by minibatches.
func TestStream(t *testing.T) {
	data, err := synthetic.Blobs(900, 4, 3, 0.5, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{0, 64} {
		s := cluster.NewKMeans()
		s.Clusters, s.Batch = 3, batch
		var spec estimator.BlockEstimator = s
		p, err := spec.FitSource(context.Background(), data.Source())
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Predict(context.Background(), data.X)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := metrics.ByName("adjusted_rand")
		if v, err := m.Score(metrics.Input{YTrue: data.Y, YPred: got}); err != nil || v < 0.99 {
			t.Errorf("batch %d: adjusted Rand %v, %v", batch, v, err)
		}
	}
}
