package pipeline_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Of six numbers and four categories one of each matters: with the scales of ard the same product of
// kernels of columns has a lower error, and the relevance of the others is 0.
func TestScalesOfAProductOfKernels(t *testing.T) {
	const n, numbers, categories = 700, 6, 4
	rng := rand.New(rand.NewPCG(11, 3))
	X, y, schema := mat.NewDense(n, numbers+categories, nil), make([]float64, n), datasets.Schema{}
	for j := range numbers + categories {
		c := datasets.Column{Name: string(rune('a' + j))}
		if j >= numbers {
			c.Kind, c.Categories = datasets.Categorical, []string{"w", "x", "y", "z"}
		}
		schema.Columns = append(schema.Columns, c)
	}
	for i := range n {
		for j := range numbers {
			X.Set(i, j, rng.NormFloat64())
		}
		for j := range categories {
			X.Set(i, numbers+j, float64(rng.IntN(4)))
		}
		y[i] = math.Sin(2*X.At(i, 0)+1.5*X.At(i, numbers)) + 0.1*rng.NormFloat64()
	}
	data := datasets.Set{X: X, Y: y, Schema: schema}
	var train, test []int
	for i := range n {
		if i < 400 {
			train = append(train, i)
		} else {
			test = append(test, i)
		}
	}
	numeric, rest := kernel.NewTerm(kernel.Laplacian, "numeric"), kernel.NewTerm(kernel.Gaussian, "rest")
	encode := pipeline.Columns{Remainder: "drop", Groups: []pipeline.Group{{Select: []string{"numeric"}},
		{Select: []string{"categorical"}, Steps: []pipeline.Step{{Name: "onehot", Fitter: transformer.NewOneHot()}}}}}
	squaredError := func(learned bool) (sum float64, model *pipeline.FittedPipeline) {
		ridge := estimator.NewKernelRidge()
		ridge.Alpha, ridge.Kernel = 0.05, kernel.Product(numeric, rest)
		p := pipeline.Steps(encode).Then(ridge)
		if learned {
			numeric, rest := numeric, rest
			numeric.Gamma, rest.Gamma = kernel.FixedGamma(1), kernel.FixedGamma(1)
			ridge.Kernel = kernel.Product(numeric, rest)
			scales := transformer.NewARD()
			scales.Kernel, scales.Solve, scales.Groups = ridge.Kernel, "coordinate", "origin"
			p = pipeline.Steps(encode, scales).Then(ridge)
		}
		f, err := p.Fit(ctx, data.Select(train))
		if err != nil {
			t.Fatal(err)
		}
		held := data.Select(test)
		predicted, err := f.Predict(ctx, held.X)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range predicted {
			sum += (v - held.Y[i]) * (v - held.Y[i])
		}
		return sum / float64(len(test)), pipeline.Find(f)
	}
	plain, _ := squaredError(false)
	learned, model := squaredError(true)
	if t.Logf("mean squared error %.4f, with learned scales %.4f", plain, learned); !(learned < 0.2*plain) {
		t.Errorf("mean squared error %v, with learned scales %v", plain, learned)
	}
	r := model.Relevance()[0]
	for j, v := range r.Values {
		name := r.Columns[j]
		if useful := name == "a" || name[:1] == "g"; useful != (v > 0) {
			t.Errorf("relevance %v of column %s", v, name)
		}
	}
}
