package fourier

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/matrices"
)

// rowsOf returns n×d numbers, some of them 0.
func rowsOf(n, d int) *mat.Dense {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 {
				X.Set(i, j, rng.NormFloat64())
			}
		}
	}
	return X
}

// onesOf returns X with ones in place of nonzero entries, as sparse rows with a shared value.
func onesOf(t *testing.T, X *mat.Dense) (*matrices.CSR, *mat.Dense) {
	t.Helper()
	indptr, indices, _ := matrices.CSRFromDense(X).Raw()
	n, d := X.Dims()
	S, err := matrices.NewSharedCSR(n, d, indptr, indices, 1)
	if err != nil {
		t.Fatal(err)
	}
	return S, S.Dense()
}

func drawn(t *testing.T, name string, d, m int, paired bool, factor []float64) Map {
	t.Helper()
	k, _ := spectral.FourierKernel(name, spectral.Shape{Nu: 1.5, Alpha: 2})
	draws, err := Draw(context.Background(), k, 7, d, m, paired)
	if err != nil {
		t.Fatal(err)
	}
	out, err := draws.Map(factor)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Features are cosines, and sines, of sums over the columns, for rows of any kind, more than a tile of them, in
// either precision.
func TestFeaturesAreCosines(t *testing.T) {
	ctx := context.Background()
	const n, d, m = tileRows + 70, 5, 6
	X := rowsOf(n, d)
	ones, filled := onesOf(t, X)
	factor := []float64{0.3, 1, 0.2, 2, 0.7}
	for _, paired := range []bool{true, false} {
		f := drawn(t, "laplacian", d, m, paired, factor)
		for name, c := range map[string]struct {
			rows mat.Matrix
			as   *mat.Dense
		}{"dense": {X, X}, "sparse": {matrices.CSRFromDense(X), X}, "shared": {ones, filled}} {
			double, narrow := mat.NewDense(n, f.Width(), nil), matrices.NewDense32(n, f.Width(), nil)
			if err := f.Float64.Transform(ctx, design.View(double), c.rows); err != nil {
				t.Fatal(err)
			}
			if err := f.Float32().Transform(ctx, design.ViewFloat32(narrow), c.rows); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for k, want := range slowly(f, c.as.RawRowView(i)) {
					if got := double.At(i, k); math.Abs(got-want) > 1e-12 {
						t.Fatalf("paired %v, %s row %d: feature %d is %v, want %v", paired, name, i, k, got, want)
					}
					if got := narrow.At(i, k); math.Abs(got-want) > 2e-4 {
						t.Fatalf("paired %v, %s row %d: feature %d is %v in float32, want %v", paired, name, i, k, got, want)
					}
				}
			}
		}
	}
}

// slowly computes the features of a row by their definition.
func slowly(f Map, x []float64) (z []float64) {
	m := float64(f.Len())
	for k := range f.Len() {
		angle := 0.0
		for j, v := range x {
			angle += v * f.Factor[j] * f.Base.At(j, k)
		}
		if f.Paired {
			z = append(z, math.Sqrt(1/m)*math.Cos(angle), math.Sqrt(1/m)*math.Sin(angle))
		} else {
			z = append(z, math.Sqrt(2/m)*math.Cos(angle+f.Phase[k]))
		}
	}
	return z
}

// Fewer draws of a seed are the first of more, and First cuts a map to them. Phases are the same for every kernel,
// however much randomness its frequencies take.
func TestFirstDraws(t *testing.T) {
	factor := []float64{1, 1, 1}
	for _, name := range []string{"matern", "cauchy"} {
		few, many := drawn(t, name, 3, 4, false, factor), drawn(t, name, 3, 9, false, factor)
		cut := many.First(4)
		if !mat.Equal(few.Base, cut.Base) || !mat.Equal(few.Frequencies(), cut.Frequencies()) || len(cut.Phase) != 4 ||
			cut.Width() != 4 {
			t.Errorf("%s: the first 4 of 9 draws are not the 4 of the seed", name)
		}
		gaussian := drawn(t, "gaussian", 3, 4, false, factor)
		for k, b := range few.Phase {
			if b != gaussian.Phase[k] || b != cut.Phase[k] || b < 0 || b >= 2*math.Pi {
				t.Errorf("%s: phase %d is %v, %v of 9", name, k, b, cut.Phase[k])
			}
		}
	}
}

// A family makes the features of each of its maps: of one kernel or several, from a projection where columns are
// scaled alike, for dense and sparse rows.
func TestFamilyMakesEachMap(t *testing.T) {
	ctx := context.Background()
	X := rowsOf(40, 3)
	alike := func(g float64) []float64 { return []float64{g, g, g} }
	for _, paired := range []bool{true, false} {
		of := func(name string, m int, factor []float64) *Map {
			f := drawn(t, name, 3, m, paired, factor)
			return &f
		}
		one := []*Map{of("gaussian", 8, alike(0.4)), of("gaussian", 5, alike(2)), of("gaussian", 7, []float64{1, 2, 3})}
		several := []*Map{of("gaussian", 8, alike(0.4)), of("matern", 8, alike(2)), of("exponential", 3, alike(1))}
		mixed, err := NewMixedFamily(ctx, several, several[0].Draws, Law{Name: "iid", Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			family *Family
			maps   []*Map
		}{{NewFamily(one, one[0].Draws), one}, {mixed, several}} {
			if !c.family.Projects() || c.family.Limit([]int{1}) > c.maps[1].Float64.Limit {
				t.Error("the family has no projection, or takes more than its map")
			}
			for _, rows := range []mat.Matrix{X, matrices.CSRFromDense(X)} {
				seen := 0
				err := c.family.Each(ctx, rows, []int{2, 0, 1}, func(i int, Z mat.Matrix) error {
					seen++
					want := mat.NewDense(40, c.maps[i].Width(), nil)
					if err := c.maps[i].Float64.Transform(ctx, design.View(want), rows); err != nil {
						return err
					}
					if !mat.EqualApprox(Z, want, 1e-12) {
						t.Errorf("paired %v: features of map %d of %T rows are others than its own", paired, i, rows)
					}
					return nil
				})
				if err != nil || seen != 3 {
					t.Fatalf("%d maps, %v", seen, err)
				}
			}
		}
	}
	if uneven := (&Family{maps: []*Map{{Factor: []float64{1, 2}}, {Factor: alike(1)}}}); uneven.Projects() {
		t.Error("a projection for one map")
	}
}

// TestFarInputsInSinglePrecision checks that float32 features of inputs far from 0 equal those of
// float64, independent of other rows.
func TestFarInputsInSinglePrecision(t *testing.T) {
	ctx := context.Background()
	const n, d, m = 70, 5, 96
	factor := []float64{0.3, 0.5, 0.4, 0.6, 0}
	k, _ := spectral.FourierKernel("gaussian", spectral.Shape{})
	for _, name := range []string{"iid", "structured"} {
		for _, paired := range []bool{true, false} {
			draws, err := Law{Name: name, Seed: 7}.Draw(ctx, k, d, m, paired)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := draws.Map(factor)
			if err != nil {
				t.Fatal(err)
			}
			some := whole.First(m / 2)
			for _, offset := range []float64{0, 1e3, -1e6, 1e7} {
				X := rowsOf(n, d)
				for i := range n {
					X.Set(i, 0, X.At(i, 0)+offset)
					X.Set(i, 2, X.At(i, 2)-3*offset)
					X.Set(i, 4, 1e8)
				}
				for _, f := range []*Map{&whole, &some} {
					want := mat.NewDense(n, f.Width(), nil)
					got, alone := matrices.NewDense32(n, f.Width(), nil), matrices.NewDense32(1, f.Width(), nil)
					if err := f.Float64.Transform(ctx, design.View(want), X); err != nil {
						t.Fatal(err)
					}
					if err := f.Float32().Transform(ctx, design.ViewFloat32(got), X); err != nil {
						t.Fatal(err)
					}
					for i := range n {
						if err := f.Float32().Transform(ctx, design.ViewFloat32(alone), X.Slice(i, i+1, 0, d)); err != nil {
							t.Fatal(err)
						}
						for j := range f.Width() {
							if math.Abs(got.At(i, j)-want.At(i, j)) > 3e-5 || alone.At(0, j) != got.At(i, j) {
								t.Fatalf("%s, paired %v, offset %g: row %d, feature %d: %v, alone %v, want %v", name, paired, offset, i, j,
									got.At(i, j), alone.At(0, j), want.At(i, j))
							}
						}
					}
				}
			}
		}
	}
}
