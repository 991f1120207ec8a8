package softmax

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
	"github.com/bochner-ml/bochner/matrices"
)

var background = context.Background()

// rowsOf returns n×d numbers of a size, some of them 0.
func rowsOf(n, d int, size float64) *mat.Dense {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 {
				X.Set(i, j, size*rng.NormFloat64())
			}
		}
	}
	return X
}

// mapOf returns the map of m draws by some factors.
func mapOf(t *testing.T, draw string, seed uint64, m int, factor []float64) Map {
	t.Helper()
	normal, err := Draw(background, draw, seed, len(factor), m)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(normal, factor)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func featuresOf(t *testing.T, f *Map, X mat.Matrix) *mat.Dense {
	t.Helper()
	n, _ := X.Dims()
	Z := mat.NewDense(n, f.Width(), nil)
	if err := f.Float64.Transform(background, design.View(Z), X); err != nil {
		t.Fatal(err)
	}
	return Z
}

// feature is z_k(x), by the formula.
func feature(f *Map, x []float64, k int) float64 {
	exponent := -math.Log(float64(f.Width())) / 2
	for j, v := range x {
		u := f.Factor[j] * v
		exponent += f.Normal.At(j, k)*u - u*u/2
	}
	return math.Exp(exponent)
}

// Features are the formula's, all of them positive, for dense and sparse rows, sparse ones with one
// shared value, more of them than a tile has, in either precision.
func TestFeaturesAreExponentials(t *testing.T) {
	const n, d, m = tileRows + 70, 5, 37
	f := mapOf(t, "orthogonal", 7, m, []float64{0.3, 1, 0.7, 0.5, 1.2})
	X := rowsOf(n, d, 0.8)
	indptr, indices, _ := matrices.CSRFromDense(X).Raw()
	ones, err := matrices.NewSharedCSR(n, d, indptr, indices, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]mat.Matrix{"dense": X, "sparse": matrices.CSRFromDense(X), "shared": ones} {
		Z, Z32 := featuresOf(t, &f, rows), matrices.NewDense32(n, m, nil)
		if err := f.Float32.Transform(background, design.ViewFloat32(Z32), rows); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			x := mat.Row(nil, i, rows)
			for k := range m {
				want, got, got32 := feature(&f, x, k), Z.At(i, k), Z32.At(i, k)
				if !(got > 0 && got32 > 0) || math.Abs(got-want) > 1e-13*want || math.Abs(got32-want) > 2e-5*want {
					t.Fatalf("%s: feature %d of row %d is %v, and %v in single precision, want %v", name, k, i, got, got32, want)
				}
			}
		}
	}
}

// TestProductsAreUnbiased checks that the mean of z(x)'z(y) over seeds is exp(u'v) within its
// standard error for both draws. With iid draws the variance matches the formula; with orthogonal
// draws it is smaller, both with as many features as inputs and with more.
func TestProductsAreUnbiased(t *testing.T) {
	const seeds = 20000
	factor := []float64{0.9, 0.6}
	X := mat.NewDense(4, 2, []float64{0.4, 0.6, 0.5, -0.2, -0.3, 0.7, 0, 0})
	for _, m := range []int{2, 5} {
		total := map[string]float64{}
		for _, draw := range Draws {
			var sum, squares [4][4]float64
			for seed := range uint64(seeds) {
				f := mapOf(t, draw, seed, m, factor)
				Z := featuresOf(t, &f, X)
				for i := range 4 {
					for j := range i + 1 {
						k := mat.Dot(Z.RowView(i), Z.RowView(j))
						sum[i][j] += k
						squares[i][j] += k * k
					}
				}
			}
			for i := range 4 {
				for j := range i + 1 {
					product, longer := 0.0, 0.0
					for c, g := range factor {
						u, v := g*X.At(i, c), g*X.At(j, c)
						product += u * v
						longer += (u + v) * (u + v)
					}
					mean := sum[i][j] / seeds
					variance := squares[i][j]/seeds - mean*mean
					if se := math.Sqrt(variance / seeds); math.Abs(mean-math.Exp(product)) > 4.5*se+1e-12 {
						t.Errorf("%s, m = %d, rows %d and %d: mean %v ± %v, want %v", draw, m, i, j, mean, se, math.Exp(product))
					}
					theory := math.Exp(2*product) * math.Expm1(longer) / float64(m)
					if draw == "iid" && math.Abs(variance-theory) > 0.15*theory+1e-12 {
						t.Errorf("m = %d, rows %d and %d: variance %v, in theory %v", m, i, j, variance, theory)
					}
					if theory > 0 {
						total[draw] += variance / theory
					}
				}
			}
		}
		if total["orthogonal"] > 0.98*total["iid"] {
			t.Errorf("m = %d: the variance of orthogonal draws is %v, of iid ones %v", m, total["orthogonal"], total["iid"])
		}
	}
}

// TestOrthogonalDraws checks that blocks of orthogonal draws are orthogonal, and that E‖ω‖² = d as
// for normal draws.
func TestOrthogonalDraws(t *testing.T) {
	const d, m = 6, 3000
	normal, err := Draw(background, "orthogonal", 1, d, m)
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for k := range m {
		for l := k - k%d; l < k; l++ {
			if p := mat.Dot(normal.ColView(k), normal.ColView(l)); math.Abs(p) > 1e-12 {
				t.Fatalf("the product of draws %d and %d is %v", k, l, p)
			}
		}
		squares += mat.Dot(normal.ColView(k), normal.ColView(k))
	}
	// The variance of a χ² with d degrees of freedom is 2d.
	if mean, se := squares/m, math.Sqrt(2*d/float64(m)); math.Abs(mean-d) > 4.5*se {
		t.Errorf("the mean of squared lengths is %v ± %v, want %d", mean, se, d)
	}
}

// TestDrawsAreNested checks that the first draws do not depend on their number, and that the
// leading features equal the smaller map.
func TestDrawsAreNested(t *testing.T) {
	X, factor := rowsOf(9, 4, 1), []float64{1, 0.5, 0.2, 2}
	for _, draw := range Draws {
		wide, narrow := mapOf(t, draw, 5, 21, factor), mapOf(t, draw, 5, 6, factor)
		if !mat.Equal(wide.Normal.Slice(0, 4, 0, 6), narrow.Normal) {
			t.Errorf("%s: the first draws of 21 are others than those of 6", draw)
		}
		first := wide.First(6)
		if !mat.EqualApprox(featuresOf(t, &first, X), featuresOf(t, &narrow, X), 1e-14) {
			t.Errorf("%s: the first features are others", draw)
		}
	}
}

// Draws and features are the same bits for any number of cores.
func TestSameBitsForAnyCores(t *testing.T) {
	X := rowsOf(3000, 9, 0.5)
	factor := slices.Repeat([]float64{0.7}, 9)
	for _, draw := range Draws {
		var want [3]*mat.Dense
		for _, cores := range []int{1, 2, 4} {
			before := runtime.GOMAXPROCS(cores)
			f := mapOf(t, draw, 2, 50, factor)
			got := [3]*mat.Dense{f.Normal, featuresOf(t, &f, X), featuresOf(t, &f, matrices.CSRFromDense(X))}
			runtime.GOMAXPROCS(before)
			if cores == 1 {
				want = got
			}
			for i := range got {
				if !mat.Equal(got[i], want[i]) {
					t.Errorf("%s, %d: other bits with %d cores", draw, i, cores)
				}
			}
		}
	}
}

// Exponents are logarithms of features, up to the number of features; without norms they differ by
// a number for each row.
func TestExponentsAreLogarithms(t *testing.T) {
	const n, d, m = 20, 3, 11
	f := mapOf(t, "iid", 4, m, []float64{0.4, 0.8, 1})
	X := rowsOf(n, d, 1)
	with, without := mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
	scratch := make([]float64, n*(d+1))
	f.Float64.Exponents(design.View(with), design.View(X), true, scratch)
	f.Float64.Exponents(design.View(without), design.View(X), false, scratch)
	for i := range n {
		shift := without.At(i, 0) - with.At(i, 0)
		for k := range m {
			want := math.Log(feature(&f, X.RawRowView(i), k)) + math.Log(m)/2
			if got := with.At(i, k); math.Abs(got-want) > 1e-13 || math.Abs(without.At(i, k)-got-shift) > 1e-13 {
				t.Fatalf("exponent %d of row %d is %v and %v, want %v", k, i, got, without.At(i, k), want)
			}
		}
	}
}

// A feature that is too large is an error with the first such row; up to the limit of
// inputs no exponent is infinite.
func TestOverflow(t *testing.T) {
	normal := mat.NewDense(1, 2, []float64{50, -1})
	f, err := New(normal, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	X := mat.NewDense(300, 1, nil)
	X.Set(200, 0, 50)
	X.Set(299, 0, 50)
	Z := mat.NewDense(300, 2, nil)
	for name, err := range map[string]error{
		"dense":  f.Float64.Transform(background, design.View(Z), X),
		"sparse": f.Float64.Transform(background, design.View(Z), matrices.CSRFromDense(X)),
	} {
		large := (*OverflowError)(nil)
		if !errors.As(err, &large) || large.Row != 200 || math.Abs(large.Exponent-1250+math.Log(2)/2) > 1e-9 ||
			large.Most != most[float64]() {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	exponents := make([]float64, 2)
	for _, x := range []float64{f.Float64.Limit, -f.Float64.Limit} {
		f.Float64.Exponents(kern.Dense(1, 2, 2, exponents), kern.Dense(1, 1, 1, []float64{x}), true, make([]float64, 2))
		for k, e := range exponents {
			if math.IsInf(e, 0) || math.IsNaN(e) {
				t.Errorf("exponent %d of %v is %v", k, x, e)
			}
		}
	}
	if _, err := New(mat.NewDense(1, 1, []float64{math.MaxFloat64}), []float64{1}); err != nil {
		t.Errorf("the largest number is refused: %v", err)
	}
	if _, err := New(mat.NewDense(2, 1, []float64{math.MaxFloat64, math.MaxFloat64}), []float64{1, 1}); err == nil {
		t.Error("draws whose sums overflow are taken")
	}
	if _, err := Draw(background, "iid", 0, 1<<40, 1<<40); err == nil {
		t.Error("draws that no memory holds are made")
	}
}

// A map or a draw that is canceled at any check of its context returns the error of the context.
func TestCancelling(t *testing.T) {
	X := rowsOf(2*tileRows, 3, 0.5)
	f := mapOf(t, "iid", 1, 8, []float64{1, 1, 1})
	for name, call := range map[string]func(ctx context.Context) (bool, error){
		"iid": func(ctx context.Context) (bool, error) { Z, err := Draw(ctx, "iid", 1, 3, 40); return Z != nil, err },
		"orthogonal": func(ctx context.Context) (bool, error) {
			Z, err := Draw(ctx, "orthogonal", 1, 3, 40)
			return Z != nil, err
		},
		"map": func(ctx context.Context) (bool, error) {
			err := f.Float64.Transform(ctx, design.View(mat.NewDense(2*tileRows, 8, nil)), X)
			return err == nil, err
		},
	} {
		if err := canceltest.Check(call); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
