package estimator_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// kernel.Matrix is the formula of each kernel, of dense and sparse rows, and γ is that of X.
// withKernelMatrix is a step with an exact kernel.
type withKernelMatrix interface {
	KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error)
}

func TestKernelMatrix(t *testing.T) {
	train, test, _ := kernelData(40)
	X, Y := train.X.(*mat.Dense), test
	distance := func(x, y []float64, p float64) float64 {
		sum := 0.0
		for j, v := range x {
			sum += math.Pow(math.Abs(v-y[j]), p)
		}
		return sum
	}
	dot := func(x, y []float64) float64 { return mat.Dot(mat.NewVecDense(3, x), mat.NewVecDense(3, y)) }
	variance, mean := 0.0, mat.Sum(X)/120
	for _, v := range X.RawMatrix().Data {
		variance += (v - mean) * (v - mean) / 120
	}
	ridge := func(name kernel.Name) estimator.KernelRidge {
		s := estimator.NewKernelRidge()
		s.Kernel, s.Gamma, s.Degree, s.Coef0 = name, kernel.FixedGamma(0.3), 2, 1
		return s
	}
	byRule, svm := ridge(kernel.Gaussian), estimator.NewKernelSVM()
	byRule.Gamma = kernel.GammaScale()
	svm.Kernel, svm.Gamma, svm.Coef0 = kernel.Sigmoid, kernel.FixedGamma(0.3), 1
	product := ridge(kernel.Product(kernel.Term{Index: []int{0, 2}, Kernel: kernel.Gaussian, Gamma: kernel.FixedGamma(0.3)},
		kernel.Term{Index: []int{1}, Kernel: kernel.Laplacian, Gamma: kernel.FixedGamma(2)}))
	product.Gamma = kernel.FixedGamma(1) // it multiplies the differences
	for name, c := range map[string]struct {
		spec withKernelMatrix
		want func(x, y []float64) float64
	}{
		"gaussian":  {ridge(kernel.Gaussian), func(x, y []float64) float64 { return math.Exp(-0.3 * distance(x, y, 2)) }},
		"laplacian": {ridge(kernel.Laplacian), func(x, y []float64) float64 { return math.Exp(-0.3 * distance(x, y, 1)) }},
		"matern": {ridge(kernel.Matern), func(x, y []float64) float64 {
			r := math.Sqrt(3*distance(x, y, 2)) * 0.3
			return (1 + r) * math.Exp(-r)
		}},
		"polynomial": {ridge(kernel.Polynomial), func(x, y []float64) float64 { return math.Pow(0.3*dot(x, y)+1, 2) }},
		"cosine": {ridge(kernel.Cosine), func(x, y []float64) float64 {
			return dot(x, y) / math.Sqrt(dot(x, x)*dot(y, y))
		}},
		"sigmoid": {svm, func(x, y []float64) float64 { return math.Tanh(0.3*dot(x, y) + 1) }},
		"scale":   {byRule, func(x, y []float64) float64 { return math.Exp(-distance(x, y, 2) / (3 * variance)) }},
		"product": {product, func(x, y []float64) float64 {
			return math.Exp(-0.3*(math.Pow(x[0]-y[0], 2)+math.Pow(x[2]-y[2], 2)) - 2*math.Abs(x[1]-y[1]))
		}},
		"function": {ridge("own_gauss"), ownGauss},
	} {
		for form, rows := range map[string][2]mat.Matrix{"dense": {X, Y}, "one": {X, nil},
			"sparse": {matrices.CSRFromDense(X), matrices.CSRFromDense(Y)}, "mixed": {X, matrices.CSRFromDense(Y)}} {
			K, err := kernel.Matrix(t.Context(), c.spec, rows[0], rows[1])
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			right := Y
			if rows[1] == nil {
				right = X
			}
			n, m := K.Dims()
			if a, b := X.RawMatrix().Rows, right.RawMatrix().Rows; n != a || m != b {
				t.Fatalf("%s, %s: %d×%d, want %d×%d", name, form, n, m, a, b)
			}
			for i := range n {
				for j := range m {
					if want := c.want(X.RawRowView(i), right.RawRowView(j)); math.Abs(K.At(i, j)-want) > 1e-9 {
						t.Fatalf("%s, %s: %v at %d, %d, want %v", name, form, K.At(i, j), i, j, want)
					}
				}
			}
		}
	}
	infinite := mat.DenseCopyOf(Y)
	infinite.Set(2, 1, math.Inf(1))
	for want, c := range map[string]struct {
		spec withKernelMatrix
		X, Y mat.Matrix
	}{
		"got precomputed":   {ridge(kernel.Precomputed), X, Y},
		"got 40×3 and 11×2": {ridge(kernel.Gaussian), X, Y.Slice(0, 11, 0, 2)},
		"infinite value":    {ridge(kernel.Gaussian), X, infinite},
		"must be ≥ 0":       {ridge(kernel.Chi2), mat.NewDense(1, 3, []float64{1, 2, 3}), Y},
		"gamma":             {estimator.KernelRidge{Kernel: kernel.Gaussian, Alpha: 1}, X, Y},
		"must have a step":  {nil, X, Y},
	} {
		if _, err := kernel.Matrix(t.Context(), c.spec, c.X, c.Y); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
