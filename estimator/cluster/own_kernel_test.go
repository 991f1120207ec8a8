package cluster_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
)

// narrowGauss is a gaussian kernel.
func narrowGauss(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return math.Exp(-20 * sum)
}

func init() {
	dot := func(x, y []float64) float64 { return mat.Dot(mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y)) }
	cosine := func(x, y []float64) float64 { return dot(x, y) / math.Sqrt(dot(x, x)*dot(y, y)) }
	for name, f := range map[kernel.Name]kernel.Func{"cluster_gauss": narrowGauss, "cluster_cosine": cosine} {
		if err := kernel.Register(name, f); err != nil {
			panic(err)
		}
	}
}

func valuesOf(X, Y mat.Matrix) *mat.Dense {
	n, _ := X.Dims()
	m, _ := Y.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.Set(i, j, narrowGauss(mat.Row(nil, i, X), mat.Row(nil, j, Y)))
		}
	}
	return out
}

// Clusters of a registered kernel and of its Gram matrix are those of a full eigendecomposition of the graph, on all
// rows and on a selection of them, also of the saved model.
func TestSpectralOfOwnKernelsIsTheGraph(t *testing.T) {
	data := shapes(t, 120)["moons"]
	var some []int
	for i := range 70 {
		some = append(some, (i*7+3)%120)
	}
	probe := mat.DenseCopyOf(data.X.(*mat.Dense).Slice(0, 20, 0, 2))
	for _, rows := range [][]int{nil, some} {
		used := data
		if rows != nil {
			used = data.Select(rows)
		}
		values, vectors := normalized(t, valuesOf(used.X, used.X))
		n := used.Rows()
		var predictions []float64
		for _, name := range []kernel.Name{"cluster_gauss", "precomputed"} {
			s := cluster.NewSpectral()
			s.Kernel, s.Clusters, s.Tol = name, 2, 1e-10
			set, at := used, mat.Matrix(probe)
			if name == "precomputed" {
				set = datasets.Set{X: valuesOf(data.X, data.X)}
				if rows != nil {
					set = set.Select(rows)
				}
				at = valuesOf(probe, data.X)
			}
			p, err := s.Fit(t.Context(), set)
			if err != nil {
				t.Fatal(err)
			}
			archive, err := model.Record(p.(model.Stateful))
			if err != nil {
				t.Fatal(err)
			}
			fitted := reflect.New(reflect.TypeOf(p).Elem()).Interface().(embedding)
			if err := model.Restore(archive, fitted); err != nil {
				t.Fatal(err)
			}
			for c, v := range fitted.Values() {
				if math.Abs(v-values[n-1-c]) > 1e-8 {
					t.Errorf("%s: value %d is %v, want %v", name, c, v, values[n-1-c])
				}
			}
			embedded, err := fitted.Embed(t.Context(), set.X)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n { // up to a turn of the vectors, products of rows are the same
				for j := range i {
					u, v := vectors.Slice(i, i+1, n-2, n).(*mat.Dense), vectors.Slice(j, j+1, n-2, n).(*mat.Dense)
					want := mat.Dot(u.RowView(0), v.RowView(0)) / (mat.Norm(u, 2) * mat.Norm(v, 2))
					if got := mat.Dot(embedded.RowView(i), embedded.RowView(j)); math.Abs(got-want) > 1e-6 {
						t.Fatalf("%s: rows %d and %d: product %v, want %v", name, i, j, got, want)
					}
				}
			}
			got, err := fitted.Predict(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if predictions == nil {
				predictions = got
			} else if !reflect.DeepEqual(got, predictions) {
				t.Errorf("clusters %v with the Gram matrix, %v with the function", got, predictions)
			}
			if _, err := fitted.ExportModel(graph.New(nil), graph.Value{}); err == nil ||
				!strings.Contains(err.Error(), "cannot export kernel") {
				t.Errorf("%s: export: error %v", name, err)
			}
		}
	}
	s := cluster.NewSpectral()
	s.Kernel = kernel.Precomputed
	if _, err := s.Fit(t.Context(), data); err == nil || !strings.Contains(err.Error(), "must be square, got 120×2") {
		t.Errorf("error %v of a matrix that is not square", err)
	}
}

// normalized returns the eigenvalues, ascending, and eigenvectors of D^(−1/2)·K·D^(−1/2), D the sums of the rows.
func normalized(t *testing.T, K *mat.Dense) ([]float64, *mat.Dense) {
	t.Helper()
	n, _ := K.Dims()
	root, of := make([]float64, n), mat.NewSymDense(n, nil)
	for i := range n {
		root[i] = math.Sqrt(mat.Sum(K.RowView(i)))
	}
	for i := range n {
		for j := range i + 1 {
			of.SetSym(i, j, K.At(i, j)/(root[i]*root[j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(of, true) {
		t.Fatal("no decomposition")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return eigen.Values(nil), &vectors
}
