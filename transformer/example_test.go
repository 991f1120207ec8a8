package transformer_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
)

// numbers is a small set of numeric columns.
func numbers() datasets.Set {
	rng := rand.New(rand.NewPCG(1, 1))
	X := mat.NewDense(40, 5, nil)
	for i := range 40 {
		for j := range 5 {
			X.Set(i, j, rng.Float64())
		}
	}
	y := make([]float64, 40)
	for i := range y {
		y[i] = X.At(i, 0) - X.At(i, 3)
	}
	return datasets.Set{X: X, Y: y}
}

func ExampleRFF() {
	ctx := context.Background()
	data := numbers()

	spec := transformer.NewRFF()
	spec.Gamma = kernel.FixedGamma(0.5)
	spec.Features = 4000
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}

	// Inner products of the features are the kernel, nearly.
	var G mat.Dense
	G.Mul(Z, Z.T())
	K, err := fitted.(*transformer.FittedRFF).KernelMatrix(ctx, data.X, data.X)
	if err != nil {
		log.Fatal(err)
	}
	G.Sub(&G, K)
	fmt.Printf("largest error %.2f\n", max(mat.Max(&G), -mat.Min(&G)))
	// Output: largest error 0.03
}

// A custom kernel is a distribution of frequencies: here ripples in every direction, with
// frequencies of length 3.
func ExampleCustomKernel() {
	spec := transformer.NewRFF()
	spec.Kernel = "custom"
	spec.Gamma = kernel.FixedGamma(1)
	spec.Custom = &transformer.CustomKernel{
		Frequency: func(rng *rand.Rand, omega []float64) {
			norm := 0.0
			for j := range omega {
				omega[j] = rng.NormFloat64()
				norm += omega[j] * omega[j]
			}
			for j := range omega {
				omega[j] *= 3 / math.Sqrt(norm)
			}
		},
	}
	fitted, err := spec.Fit(context.Background(), numbers())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fitted.(transformer.Describer).OutputWidth(), "features")
	// Output: 1000 features
}

func ExampleBinning() {
	ctx := context.Background()
	data := numbers()

	spec := transformer.NewBinning()
	spec.Gamma = kernel.FixedGamma(0.5)
	spec.Grids = 500
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}

	var G mat.Dense
	G.Mul(Z, Z.T())
	K, err := fitted.(*transformer.FittedBinning).KernelMatrix(ctx, data.X, data.X)
	if err != nil {
		log.Fatal(err)
	}
	G.Sub(&G, K)
	fmt.Printf("largest error %.2f\n", max(mat.Max(&G), -mat.Min(&G)))
	// Output: largest error 0.06
}

func ExampleNystroem() {
	ctx := context.Background()
	data := numbers()

	spec := transformer.NewNystroem()
	spec.Gamma = kernel.FixedGamma(0.5)
	spec.Landmarks, spec.Choose = 30, "rpcholesky"
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}

	// Inner products of the features are the kernel, up to directions that the 30 rows do not span.
	var G mat.Dense
	G.Mul(Z, Z.T())
	K, err := fitted.(*transformer.FittedNystroem).KernelMatrix(ctx, data.X, data.X)
	if err != nil {
		log.Fatal(err)
	}
	G.Sub(&G, K)
	fmt.Printf("largest error %.2f\n", max(mat.Max(&G), -mat.Min(&G)))
	// Output: largest error 0.01
}

func ExampleOneHot() {
	ctx := context.Background()
	data := datasets.Set{
		X: mat.NewDense(3, 1, []float64{0, 1, 0}),
		Schema: datasets.Schema{Columns: []datasets.Column{
			{Name: "colour", Kind: datasets.Categorical, Categories: []string{"red", "blue"}},
		}},
	}
	fitted, err := transformer.NewOneHot().Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, mat.NewDense(2, 1, []float64{1, datasets.Unknown}))
	if err != nil {
		log.Fatal(err)
	}
	out := fitted.(transformer.Describer).OutputSchema(data.Schema)
	fmt.Println(out.Name(0), out.Name(1))
	fmt.Println(mat.Formatted(Z))
	// Output:
	// colour=red colour=blue
	// ⎡0  1⎤
	// ⎣0  0⎦
}

func ExampleTargetEncode() {
	ctx := context.Background()
	data := datasets.Set{
		X: mat.NewDense(6, 1, []float64{0, 0, 0, 1, 1, 2}),
		Y: []float64{10, 12, 14, 3, 5, 7},
		Schema: datasets.Schema{Columns: []datasets.Column{
			{Name: "city", Kind: datasets.Categorical, Categories: []string{"Bern", "Basel", "Chur"}},
		}},
	}
	spec := transformer.NewTargetEncode()
	spec.Smooth = 1 // as if each city had one more row, with the mean target 8.5
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, mat.NewDense(4, 1, []float64{0, 1, 2, datasets.Unknown}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(Z.T()))
	// Output: [11.125     5.5    7.75     8.5]
}

func ExampleHash() {
	ctx := context.Background()
	data := datasets.Set{
		X: mat.NewDense(2, 2, []float64{0, 1, 1, 1}),
		Schema: datasets.Schema{Columns: []datasets.Column{
			{Name: "colour", Kind: datasets.Categorical, Categories: []string{"red", "green", "blue"}},
			{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "XL"}},
		}},
	}
	spec := transformer.NewHash()
	spec.Features = 7
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(Z)) // all three share a column: red and XL add 1, green −1
	// Output:
	// ⎡0  0  0  0  0  2  0⎤
	// ⎣0  0  0  0  0  0  0⎦
}

func ExampleStandardize() {
	ctx := context.Background()
	data := datasets.Set{X: mat.NewDense(4, 1, []float64{1, 3, 1, 3})}
	fitted, err := transformer.NewStandardize().Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, mat.NewDense(1, 1, []float64{5}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Z.At(0, 0))
	// Output: 3
}

func ExampleImpute() {
	ctx := context.Background()
	missing := math.NaN()
	data := datasets.Set{X: mat.NewDense(4, 1, []float64{1, missing, 2, 9})}
	fitted, err := transformer.Impute{Strategy: "median", Indicator: true}.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(Z))
	// Output:
	// ⎡1  0⎤
	// ⎢2  1⎥
	// ⎢2  0⎥
	// ⎣9  0⎦
}

func ExamplePCA() {
	ctx := context.Background()
	data := datasets.Set{X: mat.NewDense(4, 2, []float64{0, 0, 1, 1, 2, 2, 3, 3.1})}
	fitted, err := transformer.PCA{Components: 0.99}.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	p := fitted.(*transformer.FittedPCA)
	fmt.Printf("%d component explains %.4f\n", p.OutputWidth(), p.ExplainedVarianceRatio()[0])
	// Output: 1 component explains 0.9999
}

// Of four inputs the target depends on the sum of two: the map keeps that direction, and its relevance names
// them.
func ExampleRFM() {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 2))
	X, y := mat.NewDense(500, 4, nil), make([]float64, 500)
	for i := range y {
		for j := range 4 {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(2 * (X.At(i, 0) + X.At(i, 2)))
	}
	fitted, err := transformer.NewRFM().Fit(ctx, datasets.Set{X: X, Y: y})
	if err != nil {
		log.Fatal(err)
	}
	f := fitted.(*transformer.FittedRFM)
	fmt.Printf("relevance %.1f\n", f.Relevance())
	fmt.Printf("error %.2f without a map, %.2f with that of round %d\n", f.Errors()[0], f.Errors()[f.Round()], f.Round())
	// Output:
	// relevance [1.0 0.0 1.0 0.0]
	// error 0.33 without a map, 0.00 with that of round 3
}

func ExampleMinMax() {
	ctx := context.Background()
	data := datasets.Set{X: mat.NewDense(3, 1, []float64{10, 20, 30})}
	fitted, err := transformer.MinMax{Low: -1, High: 1, Clip: true}.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, mat.NewDense(2, 1, []float64{25, 99}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Z.At(0, 0), Z.At(1, 0))
	// Output: 0.5 1
}

func ExampleQuantile() {
	ctx := context.Background()
	data := datasets.Set{X: mat.NewDense(5, 1, []float64{1, 10, 10, 1000, 1e6})}
	fitted, err := transformer.NewQuantile().Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, mat.NewDense(4, 1, []float64{-3, 10, 505, 1e9}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Col(nil, 0, Z))
	// Output: [0 0.375 0.625 1]
}

func ExampleScale() {
	ctx := context.Background()
	columns := []datasets.Column{{Name: "age"}, {Name: "noise"}}
	data := datasets.Set{X: mat.NewDense(2, 2, []float64{1, 7, 2, 8}), Schema: datasets.Schema{Columns: columns}}
	spec := transformer.Scale{NamedFactors: map[string]float64{"noise": 0}}
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(Z))
	// Output:
	// ⎡1  0⎤
	// ⎣2  0⎦
}

func ExampleSoftmaxFeatures() {
	ctx := context.Background()
	data := numbers()

	spec := transformer.NewSoftmaxFeatures()
	spec.Gamma = kernel.FixedGamma(0.2)
	spec.Features = 4000
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}
	x, y := mat.Row(nil, 0, data.X), mat.Row(nil, 1, data.X)
	k, err := fitted.(interface {
		Kernel(x, y []float64) (float64, error)
	}).Kernel(x, y)
	if err != nil {
		log.Fatal(err)
	}

	// Inner products of the features are exp(x'y/5), nearly.
	z := Z.(*mat.Dense)
	fmt.Printf("%.2f is nearly %.2f\n", mat.Dot(z.RowView(0), z.RowView(1)), k)
	// Output: 1.65 is nearly 1.61
}

// A kernel of columns: the features of a product approximate the product of the kernels.
func ExampleRFF_columns() {
	data := numbers()
	first, others := kernel.NewTerm(kernel.Gaussian, "x0"), kernel.NewTerm(kernel.Laplacian, "rest")
	first.Gamma = kernel.FixedGamma(0.5)

	spec := transformer.NewRFF()
	spec.Kernel, spec.Features = kernel.Product(first, others), 4000
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		log.Fatal(err)
	}
	errors, err := fitted.(*transformer.FittedRFF).KernelErrors(context.Background(), data.X, []int{4000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("root mean square error below 0.02: %v\n", errors[0].RMS < 0.02)
	// Output: root mean square error below 0.02: true
}

func ExampleTFIDF() {
	ctx := context.Background()
	data, err := datasets.Set{}.WithText("review", []string{"good food", "bad food", "good service"})
	if err != nil {
		log.Fatal(err)
	}
	fitted, err := transformer.NewTFIDF().Fit(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(ctx, data.X)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fitted.(*transformer.FittedTFIDF).Vocabulary(0))
	fmt.Printf("%.2f\n", mat.Formatted(Z))
	// Output:
	// [bad food good service]
	// ⎡0.00  0.71  0.71  0.00⎤
	// ⎢0.80  0.61  0.00  0.00⎥
	// ⎣0.00  0.00  0.61  0.80⎦
}

// Features of the polynomial kernel (x'y + 1)².
func ExamplePolynomialSketch() {
	data := numbers()
	spec := transformer.PolynomialSketch{Degree: 2, Gamma: kernel.FixedGamma(1), Coef0: 1, Features: 4000}
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(context.Background(), data.X)
	if err != nil {
		log.Fatal(err)
	}
	x, z := data.X.(*mat.Dense), Z.(*mat.Dense)
	k := math.Pow(mat.Dot(x.RowView(0), x.RowView(1))+1, 2)
	fmt.Printf("%.1f is nearly %.1f\n", mat.Dot(z.RowView(0), z.RowView(1)), k)
	// Output: 11.4 is nearly 11.4
}

// Two histograms and their additive chi-squared kernel, Σ 2·x_j·y_j/(x_j + y_j).
func ExampleAdditiveChi2() {
	data := datasets.Set{X: mat.NewDense(2, 3, []float64{0.5, 0.3, 0.2, 0.4, 0.4, 0.2})}
	spec := transformer.AdditiveChi2{Steps: 6, Interval: 0.3}
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(context.Background(), data.X)
	if err != nil {
		log.Fatal(err)
	}
	z := Z.(*mat.Dense)
	fmt.Printf("%.3f is nearly %.3f\n", mat.Dot(z.RowView(0), z.RowView(1)), 2*(0.5*0.4/0.9+0.3*0.4/0.7+0.2*0.2/0.4))
	// Output: 0.981 is nearly 0.987
}

func ExampleSkewedChi2() {
	data := datasets.Set{X: mat.NewDense(2, 2, []float64{0.5, 3, 0.4, 2})}
	spec := transformer.NewSkewedChi2()
	spec.Features = 10000
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		log.Fatal(err)
	}
	Z, err := fitted.Transform(context.Background(), data.X)
	if err != nil {
		log.Fatal(err)
	}
	z := Z.(*mat.Dense)
	k := 2 * math.Sqrt(1.5*1.4) / (1.5 + 1.4) * 2 * math.Sqrt(4*3) / (4 + 3)
	fmt.Printf("%.2f is nearly %.2f\n", mat.Dot(z.RowView(0), z.RowView(1)), k)
	// Output: 0.99 is nearly 0.99
}
