package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

// blobs draws rows around some centers, closer than they are wide.
func blobs(seed uint64, n, d, k int) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	centers := mat.NewDense(k, d, nil)
	centers.Apply(func(int, int, float64) float64 { return 3 * rng.NormFloat64() }, centers)
	X := mat.NewDense(n, d, nil)
	X.Apply(func(i, j int, _ float64) float64 { return centers.At(i%k, j) + rng.NormFloat64() }, X)
	return X
}

func rowsIn(t *testing.T, X mat.Matrix, weights []float64) *design.Rows {
	t.Helper()
	r, err := design.FromSet(datasets.Set{X: X, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGolden(t *testing.T) {
	var input struct{ X, Init [][]float64 }
	var expect struct {
		Labels  []float64
		Centers [][]float64 `json:"centres"`
		Inertia float64
	}
	golden.Load(t, "kmeans", &input, &expect)
	d := len(input.X[0])
	X := mat.NewDense(len(input.X), d, slices.Concat(input.X...))
	s := Spec{Clusters: len(input.Init), MaxIter: 300}
	m, err := s.From(context.Background(), rowsIn(t, X, nil), slices.Concat(input.Init...), 0)
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]float64, len(input.X))
	if err := m.Assign(context.Background(), labels, X); err != nil {
		t.Fatal(err)
	}
	for i, c := range labels { // our clusters are sorted by size
		want := expect.Centers[int(expect.Labels[i])]
		for j, v := range want {
			if got := m.Centers[int(c)*d+j]; math.Abs(got-v) > 1e-12*max(1, math.Abs(v)) {
				t.Fatalf("row %d: centre %v, want %v", i, m.Centers[int(c)*d:(int(c)+1)*d], want)
			}
		}
	}
	if math.Abs(m.Inertia-expect.Inertia) > 1e-10*expect.Inertia {
		t.Errorf("inertia %v, want %v", m.Inertia, expect.Inertia)
	}
}

// plainLloyd is a straightforward reference implementation.
func plainLloyd(X *mat.Dense, weights, centers []float64, passes int) (_ []float64, inertia float64) {
	n, d := X.Dims()
	k := len(centers) / d
	for range passes {
		sums, mass := make([]float64, k*d), make([]float64, k)
		inertia = 0
		for i := range n {
			row, best := X.RawRowView(i), 0
			smallest := math.Inf(1)
			for c := range k {
				if s := squaredDistance(row, centers[c*d:(c+1)*d]); s < smallest {
					best, smallest = c, s
				}
			}
			inertia += weights[i] * smallest
			mass[best] += weights[i]
			for j, v := range row {
				sums[best*d+j] += weights[i] * v
			}
		}
		for c := range k {
			for j := range d {
				if mass[c] > 0 {
					centers[c*d+j] = sums[c*d+j] / mass[c]
				}
			}
		}
	}
	return centers, inertia
}

// TestBruteForce checks that bounds do not change the assignments, for dense, sparse and float32
// rows, with weights.
func TestBruteForce(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(4) {
		n, d, k := 3000, 3, 7
		X := blobs(seed, n, d, 4)
		X.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, X)
		narrow := matrices.CopyDense32(X)
		weights := make([]float64, n)
		for i := range n {
			weights[i] = float64((i*7)%4) / 2
		}
		first := slices.Clone(X.RawMatrix().Data[:k*d])
		const passes = 12
		want, _ := plainLloyd(X, weights, slices.Clone(first), passes)
		for name, A := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X), "float32": narrow} {
			s := Spec{Clusters: k, MaxIter: passes}
			sums := &Sums{spec: s, cols: d, turn: 1, stop: 0, near: newNearest(first, d), found: newFound(k, d),
				bounds: newBounds(n)}
			r := rowsIn(t, A, weights)
			left := 0
			for {
				if err := sums.read(ctx, r); err != nil {
					t.Fatal(err)
				}
				exact := make([]int32, n)
				if name == "sparse" {
					sums.near.forSparse()
				}
				sums.near.assign(rowsOf(A), 0, n, nil, 0, exact, nil)
				if !slices.Equal(exact, sums.bounds.center) {
					t.Fatalf("%s: pass %d: a row is elsewhere than the nearest centre", name, sums.turn)
				}
				for i := range n {
					if sums.turn > 1 && sums.bounds.upper[i] > 0 && sums.bounds.moved[exact[i]] > 0 {
						left++
					}
				}
				next, err := sums.next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if next == nil {
					break
				}
				sums = next
			}
			got, _, _ := sums.moved()
			for i, v := range got {
				if math.Abs(v-want[i]) > 1e-10 {
					t.Fatalf("%s: centres %v, want %v", name, got, want)
				}
			}
			if left == 0 {
				t.Error("the centres did not move")
			}
		}
	}
}

// Bounds leave out most comparisons once the centers are near their places.
func TestBoundsLeaveOut(t *testing.T) {
	ctx := context.Background()
	n, d, k := 4000, 4, 5
	X := blobs(3, n, d, k)
	sums := &Sums{spec: Spec{Clusters: k, MaxIter: 100}, cols: d, turn: 1,
		near: newNearest(slices.Clone(X.RawMatrix().Data[:k*d]), d), found: newFound(k, d), bounds: newBounds(n)}
	r := rowsIn(t, X, nil)
	for {
		if err := sums.read(ctx, r); err != nil {
			t.Fatal(err)
		}
		next, err := sums.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			break
		}
		sums = next
	}
	stays := 0
	for i := range n {
		if sums.bounds.unchanged(i, sums.near) {
			stays++
		}
	}
	if stays < n/2 {
		t.Errorf("only %d of %d rows need no comparison", stays, n)
	}
}

// A far origin costs no digits.
func TestFarOrigin(t *testing.T) {
	X := blobs(5, 600, 2, 3)
	s := Spec{Clusters: 3, Restarts: 3, MaxIter: 50}
	want, err := s.Fit(context.Background(), rowsIn(t, X, nil))
	if err != nil {
		t.Fatal(err)
	}
	X.Apply(func(_, _ int, v float64) float64 { return v + 1e6 }, X)
	got, err := s.Fit(context.Background(), rowsIn(t, X, nil))
	if err != nil || math.Abs(got.Inertia-want.Inertia) > 1e-6*want.Inertia {
		t.Errorf("inertia %v, %v; near the origin %v", got, err, want.Inertia)
	}
}

// TestCores checks that the bits do not depend on the number of cores.
func TestCores(t *testing.T) {
	X := blobs(6, 5000, 6, 4)
	fit := func(cores int) *Model {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		m, err := Spec{Clusters: 6, Restarts: 2, MaxIter: 40}.Fit(context.Background(), rowsIn(t, X, nil))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one := fit(1)
	for _, cores := range []int{2, 5} {
		if m := fit(cores); !slices.Equal(m.Centers, one.Centers) || m.Inertia != one.Inertia {
			t.Errorf("%d cores give other bits", cores)
		}
	}
}

// TestSeeding checks that restarts and k-means++ find separate clusters, which random
// initialization from one start often does not.
func TestSeeding(t *testing.T) {
	k := 20
	X := blobs(8, 1000, 2, k)
	X.Apply(func(i, j int, v float64) float64 { return v + 40*float64((i%k)%5*(1-j)+(i%k)/5*j) }, X)
	inertia := func(s Spec) (worst float64) {
		s.Clusters, s.MaxIter = k, 100
		for seed := range uint64(4) {
			s.Seed = seed
			m, err := s.Fit(context.Background(), rowsIn(t, X, nil))
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, m.Inertia)
		}
		return worst
	}
	good, drawn := inertia(Spec{Restarts: 4}), inertia(Spec{Restarts: 1, Random: true})
	if good > 2*1000*1.3 || drawn < 3*good {
		t.Errorf("worst inertia %v by k-means++, %v by one random start", good, drawn)
	}
}

// An empty cluster takes the farthest row.
func TestEmptyCluster(t *testing.T) {
	X := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 100})
	s := Spec{Clusters: 3, MaxIter: 20}
	for _, first := range [][]float64{{1, 1000, 2000}, {0, 0, 0}} {
		m, err := s.From(context.Background(), rowsIn(t, X, nil), first, 0)
		if err != nil || slices.Contains(m.Mass, 0) || m.Inertia > 2.01 {
			t.Errorf("from %v: %+v, %v", first, m, err)
		}
	}
}

// TestMinibatch checks that minibatches approximate the result of all rows.
func TestMinibatch(t *testing.T) {
	X := blobs(9, 6000, 3, 4)
	all, err := Spec{Clusters: 4, Restarts: 4, MaxIter: 100}.Fit(context.Background(), rowsIn(t, X, nil))
	if err != nil {
		t.Fatal(err)
	}
	few, err := Spec{Clusters: 4, Restarts: 4, MaxIter: 30, Batch: 256, Tol: 1e-4}.Fit(context.Background(),
		rowsIn(t, X, nil))
	if err != nil || few.Inertia > 1.01*all.Inertia || few.Inertia < all.Inertia*(1-1e-9) {
		t.Errorf("inertia %v by minibatches, %v, %v by all rows", few, err, all.Inertia)
	}
}

// TestSampled checks that more rows than a sample are clustered as well as by full k-means, in any
// order.
func TestSampled(t *testing.T) {
	n, d, k := 20000, 2, 5
	X := blobs(11, n, d, k)
	s := Spec{Clusters: k, Restarts: 3, MaxIter: 100}
	r := rowsIn(t, X, nil)
	m, err := s.Fit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(n)
	other, err := s.Fit(context.Background(), rowsIn(t, r.Set.Select(order).X, nil))
	if err != nil || math.Abs(other.Inertia-m.Inertia) > 1e-9*m.Inertia {
		t.Errorf("in another order the inertia is %v, %v; want %v", other.Inertia, err, m.Inertia)
	}
	sums := NewSums(s, d)
	if err := sums.read(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	sums.sample.compact()
	if len(sums.sample.rows) != maxSampled {
		t.Errorf("the sample has %d rows", len(sums.sample.rows))
	}
}

func BenchmarkLloyd(b *testing.B) {
	for name, k := range map[string]int{"k=8": 8, "k=64": 64} {
		X := blobs(1, 20000, 16, 32)
		first := slices.Clone(X.RawMatrix().Data[:k*16])
		for _, bounded := range []bool{false, true} {
			b.Run(name+map[bool]string{true: "/bounds", false: "/products"}[bounded], func(b *testing.B) {
				r, _ := design.FromSet(datasets.Set{X: X})
				if !bounded {
					r.Set = nil
				}
				for b.Loop() {
					if _, err := (Spec{Clusters: k, MaxIter: 50}).From(context.Background(), r, slices.Clone(first), 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
