package transformer

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// origins returns the columns of five inputs: two numbers, and three that are encoded in separated
// columns.
func origins() datasets.Schema {
	var columns []datasets.Column
	for j, origin := range []string{"", "colour", "size", "colour", "", "size", "size", "shape"} {
		columns = append(columns, datasets.Column{Name: fmt.Sprint("c", j), EncodedFrom: origin})
	}
	return datasets.Schema{Columns: columns}
}

// originInputs are the columns of each.
var originInputs = [][]int{{0}, {1, 3}, {2, 5, 6}, {4}, {7}}

// encoded are rows of these columns.
func encoded(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(4, 1))
	X := mat.NewDense(n, 8, nil)
	for i := range n {
		row := X.RawRowView(i)
		row[0], row[4], row[7] = rng.Float64(), 3*rng.NormFloat64(), float64(rng.IntN(9)/8)
		row[[]int{1, 3}[rng.IntN(2)]] = 1
		row[[]int{2, 5, 6}[rng.IntN(3)]] = 1
	}
	return datasets.Set{X: X, Schema: origins()}
}

// few are maps of two of the inputs a grid.
func few() map[string]Binning {
	out := map[string]Binning{}
	for _, name := range []string{"laplacian", "smooth"} {
		for _, weights := range []string{"uniform", "scales"} {
			s := NewBinning()
			s.Kernel, s.Gamma, s.Grids, s.Inputs, s.InputWeights, s.Seed = kernel.Name(name), kernel.FixedGamma(0.8), 40, 2, weights, 5
			out[name+", "+weights] = s
		}
	}
	return out
}

// originOf returns the inputs whose columns are all in a list, and fails if only some of them are.
func originOf(t *testing.T, columns []int) (inputs []int) {
	t.Helper()
	for i, all := range originInputs {
		seen := 0
		for _, j := range all {
			if slices.Contains(columns, j) {
				seen++
			}
		}
		if seen == len(all) {
			inputs = append(inputs, i)
		} else if seen > 0 {
			t.Fatalf("columns %v have a part of the input %v", columns, all)
		}
	}
	return inputs
}

// Columns encoded from one column are one input: grids use all of them or none, with one weight,
// and the kernel is the mean over all sets of inputs (brute force).
func TestBinningOfOriginsApproximatesItsKernel(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("many draws")
	}
	const seeds = 3000
	data := encoded(2)
	x, y := data.X.(*mat.Dense).RawRowView(0), data.X.(*mat.Dense).RawRowView(1)
	for name, spec := range few() {
		t.Run(name, func(t *testing.T) {
			fit := func(seed uint64, X *mat.Dense) Transformer {
				s := spec
				s.Seed = seed
				return mustFit(t, s, datasets.Set{X: X, Schema: origins()})
			}
			fitted := fit(0, data.X.(*mat.Dense)).(*FittedBinning)
			for p := range fitted.Grids() {
				if got := originOf(t, fitted.Inputs(p)); len(got) != 2 {
					t.Fatalf("grid %d uses the inputs %v", p, got)
				}
			}
			weights := make([]float64, len(originInputs))
			for i, all := range originInputs {
				for _, j := range all {
					weights[i] += math.Pow(0.8*math.Abs(x[j]-y[j])/2, 2)
				}
				if weights[i] = math.Sqrt(weights[i]); spec.InputWeights == "uniform" {
					weights[i] = 1
				}
			}
			for i, all := range originInputs {
				for _, j := range all {
					if got, want := fitted.InputWeights()[j], weights[i]/slices.Max(weights); math.Abs(got-want) > 1e-12 {
						t.Errorf("column %d has the weight %v, want %v", j, got, want)
					}
				}
			}
			sum, total := 0.0, 0.0
			for mask := uint(0); mask < 1<<len(originInputs); mask++ {
				if bits.OnesCount(mask) != 2 {
					continue
				}
				weight, k := 1.0, 1.0
				for i, all := range originInputs {
					if mask>>i&1 == 0 {
						continue
					}
					weight *= weights[i]
					for _, j := range all {
						k *= fitted.kernel.Exact([]float64{0.8 * (x[j] - y[j])})
					}
				}
				sum, total = sum+weight*k, total+weight
			}
			k, err := fitted.Kernel(x, y)
			if err != nil || math.Abs(k-sum/total) > 1e-12 {
				t.Fatalf("kernel %v, error %v, want %v", k, err, sum/total)
			}
			mean, _, se := estimate(t, seeds, x, y, fit)
			if math.Abs(mean-k) > 4.5*max(se, math.Sqrt(k*(1-k)/float64(spec.Grids)/seeds)) {
				t.Errorf("E[z(x)'z(y)] is %.4f ± %.4f, the kernel %.4f", mean, se, k)
			}
		})
	}
}

// TestWaysToBinOrigins checks that the map of inputs of several columns is the same for dense and
// sparse rows, single rows and blocks, families and separate fits, and after serialization.
func TestWaysToBinOrigins(t *testing.T) {
	ctx := context.Background()
	data := encoded(tileRows + 90)
	thin := data
	thin.X = matrices.CSRFromDense(data.X)
	for name, spec := range few() {
		t.Run(name, func(t *testing.T) {
			fit := mustFit(t, spec, data).(*FittedBinning)
			want := mustTransform(t, fit, data.X).(*matrices.CSR)
			for _, set := range []datasets.Set{data, thin} {
				both, Z, err := spec.FitTransform(ctx, set)
				if err != nil {
					t.Fatal(err)
				}
				same(t, Z, want, false)
				same(t, mustTransform(t, both, thin.X), want, false)
			}
			for _, rows := range []mat.Matrix{data.X.(*mat.Dense).Slice(7, 10, 0, 8), thin.X.(*matrices.CSR).Slice(7, 10)} {
				same(t, mustTransform(t, fit, rows), want.Slice(7, 10), false)
			}
			narrow := spec
			narrow.Grids = 7
			cut, err := fit.WithGrids(7)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Kernel == "laplacian" {
				same(t, mustTransform(t, cut, data.X), mustTransform(t, mustFit(t, narrow, data), data.X), false)
			}
			family, err := spec.FitFamily(ctx, data, []Fitter{narrow, spec})
			if err != nil {
				t.Fatal(err)
			}
			same(t, first(family.Fitted[0], family.Members[0]), mustTransform(t, mustFit(t, narrow, data), data.X),
				spec.Kernel == "smooth")
			archive, err := model.Record(fit)
			if err != nil {
				t.Fatal(err)
			}
			again := new(FittedBinning)
			if err := model.Restore(archive, again); err != nil {
				t.Fatal(err)
			}
			same(t, mustTransform(t, again, data.X), want, false)
			a, _ := fit.Kernel(data.X.(*mat.Dense).RawRowView(0), data.X.(*mat.Dense).RawRowView(1))
			if b, err := again.Kernel(data.X.(*mat.Dense).RawRowView(0), data.X.(*mat.Dense).RawRowView(1)); err != nil ||
				a != b {
				t.Errorf("the kernel is %v after a file, %v before, error %v", b, a, err)
			}
			if _, there := archive.Arrays["input_of_column"]; !there {
				t.Error("the file does not store which columns form one input")
			}
		})
	}
}

// Without a schema, and with one column per input, draws and files do not change; grids with Inputs
// ≥ the number of inputs use all columns; rules for γ count inputs.
func TestColumnsWithoutOrigins(t *testing.T) {
	data := encoded(200)
	for name, spec := range few() {
		bare := mustFit(t, spec, datasets.Set{X: data.X}).(*FittedBinning)
		alone := data
		alone.Schema = alone.Schema.WithColumns(slices.Clone(alone.Schema.Columns))
		for j := range alone.Schema.Columns {
			alone.Schema.Columns[j].EncodedFrom = fmt.Sprint("origin", j)
		}
		same(t, mustTransform(t, mustFit(t, spec, alone), data.X), mustTransform(t, bare, data.X), false)
		for p := range bare.Grids() {
			if len(bare.Inputs(p)) != 2 {
				t.Fatalf("%s: grid %d uses %v", name, p, bare.Inputs(p))
			}
		}
		archive, err := model.Record(bare)
		if err != nil {
			t.Fatal(err)
		}
		if _, there := archive.Arrays["input_of_column"]; there {
			t.Errorf("%s: a file of inputs of one column stores the columns of inputs", name)
		}
		spec.Inputs = 6
		all := mustFit(t, spec, data).(*FittedBinning)
		if all.InputWeights() != nil || len(all.Inputs(0)) != 8 {
			t.Errorf("%s: grids of 6 of 5 inputs use the columns %v", name, all.Inputs(0))
		}
		for _, rule := range []kernel.Gamma{kernel.GammaScale(), kernel.GammaMedian()} {
			spec.Gamma, spec.Inputs = rule, 0
			wide := mustFit(t, spec, data).(*FittedBinning).Gamma()[0]
			spec.Inputs = 2
			if got, want := mustFit(t, spec, data).(*FittedBinning).Gamma()[0], wide*5/2; math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s, %v: γ of 2 of 5 inputs is %v, want %v", name, rule, got, want)
			}
		}
	}
}

// An input of many columns is drawn as often as one of a single column.
func TestOriginsAreDrawnUniformly(t *testing.T) {
	spec := few()["laplacian, uniform"]
	spec.Grids = 4000
	fit := mustFit(t, spec, encoded(50)).(*FittedBinning)
	count := make([]float64, len(originInputs))
	for p := range fit.Grids() {
		for _, i := range originOf(t, fit.Inputs(p)) {
			count[i] += 1.0 / 4000
		}
	}
	for i, v := range count {
		if math.Abs(v-0.4) > 4.5*math.Sqrt(0.24/4000) {
			t.Errorf("input %d is in %v of the grids, want 0.4", i, v)
		}
	}
}
