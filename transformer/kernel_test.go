package transformer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer/internal/bins"
)

// kernelled is the kernel interface of both random maps.
type kernelled interface {
	Transformer
	Kernel(x, y []float64) (float64, error)
}

// estimate returns the mean and variance of z(x)'z(y), and of the mean its standard error, over
// maps of many seeds.
func estimate(t *testing.T, seeds int, x, y []float64, fit func(seed uint64, X *mat.Dense) Transformer) (mean, variance,
	standardError float64) {
	t.Helper()
	X := mat.NewDense(2, len(x), append(append([]float64{}, x...), y...))
	sum, square := 0.0, 0.0
	for seed := range seeds {
		Z := mustTransform(t, fit(uint64(seed), X), X)
		_, D := Z.Dims()
		dot := 0.0
		if m, ok := Z.(*matrices.CSR); ok {
			a, _ := m.Row(0)
			for _, j := range a {
				dot += m.At(0, int(j)) * m.At(1, int(j))
			}
		} else {
			for j := range D {
				dot += Z.At(0, j) * Z.At(1, j)
			}
		}
		sum += dot
		square += dot * dot
	}
	n := float64(seeds)
	mean = sum / n
	variance = (square - sum*sum/n) / (n - 1)
	return mean, variance, math.Sqrt(variance / n)
}

// pairs are rows at small, middling and large distances, in one and in three dimensions.
var pairs = [][2][]float64{
	{{0.3}, {0.5}},
	{{-1}, {0.1}},
	{{0.2, -0.4, 1.1}, {0.3, -0.3, 1.0}},
	{{0.2, -0.4, 1.1}, {0.6, 0.1, 0.9}},
	{{0, 0, 0}, {1.5, -0.5, 2}},
}

func randomMaps() map[string]RFF {
	specs := map[string]RFF{}
	for _, name := range spectral.FourierKernels {
		for _, form := range []string{"paired", "phase"} {
			s := NewRFF()
			s.Kernel, s.Map, s.Features, s.Gamma = kernel.Name(name), form, 16, kernel.FixedGamma(0.8)
			specs[name+"/"+form] = s
		}
	}
	rough := specs["matern/paired"]
	rough.Nu = 0.7
	specs["matern ν=0.7"] = rough
	heavy := specs["rational_quadratic/paired"]
	heavy.Shape = 0.4
	specs["rational_quadratic α=0.4"] = heavy
	for _, p := range []float64{0.4, 1, 1.5, 2} {
		stable := specs["gaussian/paired"]
		stable.Kernel, stable.Exponent = kernel.PoweredExponential, p
		specs[fmt.Sprintf("powered_exponential p=%v", p)] = stable
	}
	// A product of a gaussian and a laplacian kernel: its frequencies are sums.
	own := specs["gaussian/paired"]
	own.Kernel, own.Gamma = "custom", kernel.FixedGamma(0.7)
	own.Custom = &CustomKernel{
		Frequency: func(rng *rand.Rand, omega []float64) {
			for j := range omega {
				omega[j] = rng.NormFloat64() + math.Tan(math.Pi*(rng.Float64()-0.5))
			}
		},
		Exact: func(delta []float64) float64 {
			e := 0.0
			for _, v := range delta {
				e += v*v/2 + math.Abs(v)
			}
			return math.Exp(-e)
		},
	}
	specs["custom"] = own
	return specs
}

// TestRFFApproximatesItsKernel checks that the inner products of the features have the kernel as
// mean, with the theoretical variance.
func TestRFFApproximatesItsKernel(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("many draws")
	}
	const seeds = 1500
	for name, spec := range randomMaps() {
		t.Run(name, func(t *testing.T) {
			fit := func(seed uint64, X *mat.Dense) Transformer {
				s := spec
				s.Seed = seed
				return mustFit(t, s, datasets.Set{X: X})
			}
			for _, p := range pairs {
				x, y := p[0], p[1]
				f := fit(0, mat.NewDense(1, len(x), x)).(*FittedRFF)
				k, err := f.Kernel(x, y)
				if err != nil {
					t.Fatal(err)
				}
				twice := make([]float64, len(x)) // x − twice is 2(x − y)
				for j := range x {
					twice[j] = 2*y[j] - x[j]
				}
				k2, _ := f.Kernel(x, twice)
				want := 1 + k2 - 2*k*k
				if spec.Map == "phase" {
					want = 1 + k2/2 - k*k
				}
				want /= float64(spec.Features)
				mean, variance, se := estimate(t, seeds, x, y, fit)
				if math.Abs(mean-k) > 4.5*se {
					t.Errorf("E[z(x)'z(y)] is %.4f ± %.4f for %v, the kernel %.4f", mean, se, p, k)
				}
				// The variance of an estimated variance is about 2/n of its square, more for heavy
				// tails, which a mean of few features has when k is near 1.
				if math.Abs(variance-want) > 0.25*want+1e-4 {
					t.Errorf("variance is %.5f for %v, theory reports %.5f", variance, p, want)
				}
			}
		})
	}
}

// One γ per column is the kernel of separately scaled columns.
func TestRFFWithGammaPerColumn(t *testing.T) {
	for _, name := range spectral.FourierKernels {
		s := NewRFF()
		s.Kernel, s.Features, s.Gamma = kernel.Name(name), 16, kernel.FixedGamma(0.1, 2, 0.5)
		x, y := []float64{0.1, 0.2, -0.3}, []float64{1, 0.5, 0.1}
		fit := func(seed uint64, X *mat.Dense) Transformer {
			s.Seed = seed
			return mustFit(t, s, datasets.Set{X: X})
		}
		k, err := fit(0, mat.NewDense(1, 3, x)).(kernelled).Kernel(x, y)
		if err != nil {
			t.Fatal(err)
		}
		if mean, _, se := estimate(t, 1500, x, y, fit); math.Abs(mean-k) > 4.5*se {
			t.Errorf("%s: E[z(x)'z(y)] is %.4f ± %.4f, the kernel %.4f", name, mean, se, k)
		}
	}
}

// The error of the kernel matrix falls as D^-1/2.
func TestRFFErrorFallsWithFeatures(t *testing.T) {
	X := uniform(40, 3)
	for _, form := range []string{"paired", "phase"} {
		rms := func(features int) float64 {
			sum := 0.0
			for seed := range uint64(20) {
				s := NewRFF()
				s.Gamma, s.Features, s.Map, s.Seed = kernel.FixedGamma(1), features, form, seed
				f := mustFit(t, s, datasets.Set{X: X}).(*FittedRFF)
				K, err := f.KernelMatrix(context.Background(), X, X)
				if err != nil {
					t.Fatal(err)
				}
				Z := mustTransform(t, f, X)
				var G mat.Dense
				G.Mul(Z, Z.T())
				G.Sub(&G, K)
				n := mat.Norm(&G, 2)
				sum += n * n
			}
			return math.Sqrt(sum)
		}
		if ratio := rms(32) / rms(32*16); math.Abs(ratio-4) > 0.8 {
			t.Errorf("%s: 16 times the features divide the error by %.2f, want about 4", form, ratio)
		}
	}
}

func pitchLaws() map[string]Binning {
	laws := map[string]Binning{}
	for _, name := range spectral.BinningKernels {
		s := NewBinning()
		s.Kernel, s.Grids, s.Gamma = kernel.Name(name), 5, kernel.FixedGamma(0.4)
		laws[name] = s
	}
	// k(Δ) = exp(−Δ)(1 + Δ/2) has k″ = Δ/2·exp(−Δ), so the pitch is Gamma(3, 1).
	own := laws["laplacian"]
	own.Kernel = "custom"
	own.Custom = &CustomKernel{
		Pitch: func(rng *rand.Rand) float64 { return rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64() },
		Exact: func(delta []float64) float64 {
			out := 1.0
			for _, d := range delta {
				t := math.Abs(d)
				out *= math.Exp(-t) * (1 + t/2)
			}
			return out
		},
	}
	laws["custom"] = own
	hashed := laws["laplacian"]
	hashed.Columns = 5 << 20
	laws["hashed"] = hashed
	perColumn := laws["laplacian"]
	laws["one γ per column"] = perColumn
	return laws
}

// lowDimensional returns grids over a few of three inputs, drawn uniformly or by their scales.
func lowDimensional() map[string]Binning {
	laws := map[string]Binning{}
	for name, s := range pitchLaws() {
		for _, s.Inputs = range []int{1, 2} {
			for _, s.InputWeights = range []string{"uniform", "scales"} {
				laws[fmt.Sprintf("%s, %d inputs, %s", name, s.Inputs, s.InputWeights)] = s
			}
		}
	}
	return laws
}

// TestBinningApproximatesItsKernel checks that the mean inner product of binning features is the
// kernel. Two rows share a bin of a grid with probability k, so the variance is k(1 − k)/P.
func TestBinningApproximatesItsKernel(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("many draws")
	}
	const seeds = 3000
	for name, spec := range pitchLaws() {
		t.Run(name, func(t *testing.T) {
			for _, p := range pairs {
				x, y := p[0], p[1]
				if name == "one γ per column" {
					spec.Gamma = kernel.FixedGamma([]float64{0.2, 0.9, 0.4}[:len(x)]...)
				}
				fit := func(seed uint64, X *mat.Dense) Transformer {
					s := spec
					s.Seed = seed
					return mustFit(t, s, datasets.Set{X: X})
				}
				fitted := fit(0, mat.NewDense(1, len(x), x)).(*FittedBinning)
				k, err := fitted.Kernel(x, y)
				if err != nil {
					t.Fatal(err)
				}
				want := k * (1 - k) / float64(spec.Grids)
				mean, variance, se := estimate(t, seeds, x, y, fit)
				if math.Abs(mean-k) > 4.5*max(se, math.Sqrt(want/seeds)) {
					t.Errorf("E[z(x)'z(y)] is %.4f ± %.4f for %v, the kernel %.4f", mean, se, p, k)
				}
				if !fitted.bins.Smooth && math.Abs(variance-want) > 0.15*want+2e-4 {
					t.Errorf("variance is %.5f for %v, theory reports %.5f", variance, p, want)
				}
			}
		})
	}
}

// Grids of k inputs have the mean of the kernels over all sets of k inputs (brute force). With
// scales, inputs are drawn in proportion to γ times their standard deviation.
func TestBinningOfAFewInputsApproximatesItsKernel(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("many draws")
	}
	const seeds = 3000
	x, y := []float64{0.2, -0.4, 1.1}, []float64{0.9, 0.1, -0.4}
	for name, spec := range lowDimensional() {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "one γ per column") {
				spec.Gamma = kernel.FixedGamma(0.2, 0.9, 0.4)
			}
			fit := func(seed uint64, X *mat.Dense) Transformer {
				s := spec
				s.Seed = seed
				return mustFit(t, s, datasets.Set{X: X})
			}
			fitted := fit(0, mat.NewDense(2, 3, slices.Concat(x, y))).(*FittedBinning)
			gamma := fitted.Gamma()
			sum, total := 0.0, 0.0
			for mask := 1; mask < 8; mask++ {
				weight, k := 1.0, 1.0
				if bits.OnesCount(uint(mask)) != spec.Inputs {
					continue
				}
				for j := range 3 {
					if mask>>j&1 == 0 {
						continue
					}
					if spec.InputWeights == "scales" {
						weight *= gamma[j] * math.Abs(x[j]-y[j]) / 2 // the deviation of two values
					}
					k *= fitted.kernel.Exact([]float64{gamma[j] * (x[j] - y[j])})
				}
				sum, total = sum+weight*k, total+weight
			}
			k, err := fitted.Kernel(x, y)
			if err != nil || math.Abs(k-sum/total) > 1e-12 {
				t.Fatalf("kernel %v, error %v, want %v", k, err, sum/total)
			}
			K, err := fitted.KernelMatrix(context.Background(), mat.NewDense(1, 3, x), mat.NewDense(1, 3, y))
			if err != nil || K.At(0, 0) != k {
				t.Errorf("kernel matrix %v, error %v", K, err)
			}
			mean, variance, se := estimate(t, seeds, x, y, fit)
			want := k * (1 - k) / float64(spec.Grids)
			if math.Abs(mean-k) > 4.5*max(se, math.Sqrt(want/seeds)) {
				t.Errorf("E[z(x)'z(y)] is %.4f ± %.4f, the kernel %.4f", mean, se, k)
			}
			if !fitted.bins.Smooth && math.Abs(variance-want) > 0.15*want+2e-4 {
				t.Errorf("variance is %.5f, theory reports %.5f", variance, want)
			}
		})
	}
}

// Constant and removed inputs are never drawn; a rule for γ uses the number of inputs of a grid;
// Inputs equal to the number of inputs means all.
func TestInputsOfGrids(t *testing.T) {
	X := uniform(300, 6)
	for i := range 300 {
		X.Set(i, 1, 3)
		X.Set(i, 4, X.At(i, 4)*1e-9)
	}
	spec := NewBinning()
	spec.Gamma, spec.Inputs, spec.InputWeights = kernel.FixedGamma(1), 3, "scales"
	f := mustFit(t, spec, datasets.Set{X: X}).(*FittedBinning)
	if w := f.InputWeights(); w[1] != 0 || w[4] > 1e-8 || w[0] < 0.8 {
		t.Errorf("inputs have the weights %v", w)
	}
	for p := range f.Grids() {
		if set := f.Inputs(p); len(set) != 3 || slices.Contains(set, 1) || slices.Contains(set, 4) || !slices.IsSorted(set) {
			t.Fatalf("grid %d uses %v", p, set)
		}
	}
	spec.InputWeights = "uniform"
	for _, rule := range []kernel.Gamma{kernel.GammaScale(), kernel.GammaMedian()} {
		spec.Gamma, spec.Inputs = rule, 0
		all := mustFit(t, spec, datasets.Set{X: X}).(*FittedBinning)
		spec.Inputs = 6
		equal(t, mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X), mustTransform(t, all, X), 0)
		spec.Inputs = 2
		if got, want := mustFit(t, spec, datasets.Set{X: X}).(*FittedBinning).Gamma()[0],
			3*all.Gamma()[0]; math.Abs(got-want) > 1e-12*want {
			t.Errorf("%v: γ of 2 of 6 inputs is %v, want %v", rule, got, want)
		}
	}
	if all := mustFit(t, NewBinning(), datasets.Set{X: X}).(*FittedBinning); all.InputWeights() != nil ||
		len(all.Inputs(3)) != 6 {
		t.Errorf("grids of all inputs use %v, by the weights %v", all.Inputs(3), all.InputWeights())
	}
}

// The first columns of a map with more features are the map with fewer, up to scale.
func TestRFFIsNested(t *testing.T) {
	X := uniform(7, 4)
	for name, spec := range randomMaps() {
		spec.Features = 12
		small := mustFit(t, spec, datasets.Set{X: X})
		spec.Features = 32
		large := mustFit(t, spec, datasets.Set{X: X}).(*FittedRFF)
		a, b := mustTransform(t, small, X), mustTransform(t, large, X)
		cut, err := large.WithFeatures(12)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, mustTransform(t, cut, X), a, 0)
		scaled := mat.DenseCopyOf(b.(*mat.Dense).Slice(0, 7, 0, 12))
		scaled.Scale(math.Sqrt(32.0/12), scaled)
		t.Log(name)
		equal(t, scaled, a, 1e-12)
	}
}

// Another γ on the same draws is the map fitted with that γ.
func TestRFFWithGamma(t *testing.T) {
	X := uniform(5, 3)
	for name, spec := range randomMaps() {
		f := mustFit(t, spec, datasets.Set{X: X}).(*FittedRFF)
		spec.Gamma = kernel.FixedGamma(0.1, 3, 2)
		other, err := f.WithGamma(0.1, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		equal(t, mustTransform(t, other, X), mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X), 0)
	}
}

// Weighted bins have the theoretical variance at one point, for few inputs.
func TestSmoothBins(t *testing.T) {
	spec := NewBinning()
	spec.Kernel, spec.Grids, spec.Gamma = "smooth", 20000, kernel.FixedGamma(1)
	z := mustTransform(t, mustFit(t, spec, datasets.Set{X: mat.NewDense(1, 3, []float64{3, 1, 4})}),
		mat.NewDense(1, 3, []float64{3, 1, 4})).(*matrices.CSR)
	mean, square := 0.0, 0.0
	_, values := z.Row(0)
	for _, v := range values {
		mean += v * v
		square += v * v * v * v * float64(spec.Grids)
	}
	if want := math.Pow(10./7, 3); math.Abs(mean-1) > 0.04 || math.Abs(square-want) > 0.25 {
		t.Errorf("z(x)'z(x) is %v of mean square %v for each grid, want 1 and %v", mean, square, want)
	}
	wide := mat.NewDense(1, bins.MostSmooth+1, nil)
	if _, err := spec.Fit(context.Background(), datasets.Set{X: wide}); err == nil ||
		!strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("too many columns: %v", err)
	}
}

func TestBinningIsNested(t *testing.T) {
	X := uniform(300, 3)
	laws := pitchLaws()
	maps.Copy(laws, lowDimensional())
	for name, spec := range laws {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "one γ per column") {
				spec.Gamma = kernel.FixedGamma(1, 5, 9)
			}
			spec.Grids = 9
			if spec.Columns != 0 {
				spec.Columns = 9 * 64
			}
			large := mustFit(t, spec, datasets.Set{X: X}).(*FittedBinning)
			spec.Grids = 4
			if spec.Columns != 0 {
				spec.Columns = 4 * 64
			}
			small := mustTransform(t, mustFit(t, spec, datasets.Set{X: X}), X).(*matrices.CSR)
			cut, err := large.WithGrids(4)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, mustTransform(t, cut, X), small, 0)
			big := mustTransform(t, large, X).(*matrices.CSR)
			for i := range 300 {
				a, _ := small.Row(i)
				b, _ := big.Row(i)
				if fmt.Sprint(a) != fmt.Sprint(b[:4]) {
					t.Fatalf("row %d: columns %v of 4 grids, %v of 9", i, a, b)
				}
			}
		})
	}
}

// TestBinningAgainstDictionary checks that bins equal those of a dictionary keyed by the
// coordinates.
func TestBinningAgainstDictionary(t *testing.T) {
	X := uniform(500, 4)
	spec := NewBinning()
	spec.Gamma, spec.Grids, spec.MinCount = kernel.FixedGamma(2), 7, 3
	f := mustFit(t, spec, datasets.Set{X: X}).(*FittedBinning)
	Z := mustTransform(t, f, X).(*matrices.CSR)
	type key [5]int
	counts, columns := map[key]int{}, map[key]uint32{}
	keys := make([][]key, 500)
	for i := range keys {
		for p := range 7 {
			k := key{p}
			for j := range 4 {
				at := p*4 + j
				k[j+1] = int(math.RoundToEven(float64(X.At(i, j)*(f.bins.Base[at]*2)) - f.bins.Shift[at]))
			}
			keys[i] = append(keys[i], k)
			counts[k]++
		}
	}
	for i := range keys {
		row, _ := Z.Row(i)
		for _, k := range keys[i] {
			if counts[k] < 3 {
				continue
			}
			if len(row) == 0 {
				t.Fatalf("row %d lacks bin %v", i, k)
			}
			if c, ok := columns[k]; ok && c != row[0] {
				t.Fatalf("bin %v has columns %d and %d", k, c, row[0])
			}
			columns[k] = row[0]
			row = row[1:]
		}
		if len(row) > 0 {
			t.Fatalf("row %d has columns %v for bins with few rows", i, row)
		}
	}
	taken := map[uint32]bool{}
	for _, c := range columns {
		taken[c] = true
	}
	if len(taken) != len(columns) || f.OutputWidth() != len(columns) {
		t.Errorf("%d bins have %d columns of %d", len(columns), len(taken), f.OutputWidth())
	}
}

// Rows that fall into no bin of training are empty.
func TestBinningOfFarRows(t *testing.T) {
	spec := NewBinning()
	spec.Gamma, spec.Grids = kernel.FixedGamma(1), 20
	f := mustFit(t, spec, datasets.Set{X: uniform(50, 2)})
	Z := mustTransform(t, f, mat.NewDense(1, 2, []float64{1e6, -1e6})).(*matrices.CSR)
	if Z.NNZ() != 0 {
		t.Errorf("a far row has %d entries, want none", Z.NNZ())
	}
	if _, err := f.Transform(context.Background(), mat.NewDense(1, 2, []float64{1e300, 0})); err == nil {
		t.Error("a row whose bin cannot be numbered is mapped without an error")
	}
}

// The number of cores does not change a bit.
func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	X := uniform(3000, 20)
	binning := NewBinning()
	binning.Grids = 30
	rff := NewRFF()
	rff.Features, rff.Gamma = 128, kernel.GammaMedian()
	pivots := NewNystroem()
	pivots.Choose, pivots.Landmarks = "rpcholesky", 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, spec := range map[string]Fitter{"rff": rff, "binning": binning, "nystroem": NewNystroem(),
		"nystroem rpcholesky": pivots, "pca": NewPCA(), "standardize": NewStandardize(), "robust": NewRobust(),
		"quantile": NewQuantile(), "scale": NewScale()} {
		var results []mat.Matrix
		for _, cores := range []int{1, 4} {
			runtime.GOMAXPROCS(cores)
			f := mustFit(t, spec, datasets.Set{X: X})
			results = append(results, mustTransform(t, f, X))
			if name != "standardize" && name != "robust" && name != "quantile" {
				results = append(results, mustTransform(t, f, matrices.CSRFromDense(X.Slice(0, 200, 0, 20))))
			}
		}
		t.Log(name)
		half := len(results) / 2
		for i := range half {
			equal(t, results[half+i], results[i], 0)
		}
	}
}
