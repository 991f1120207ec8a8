package kernel_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
)

// A kernel of columns is the product of a gaussian kernel of the first column and a laplacian kernel of the rest.
func ExampleProduct() {
	first := kernel.NewTerm(kernel.Gaussian, "x0")
	first.Gamma = kernel.FixedGamma(0.5)
	rest := kernel.NewTerm(kernel.Laplacian, "rest")
	rest.Gamma = kernel.FixedGamma(0.1)
	model := estimator.NewKernelRidge()
	model.Kernel, model.Alpha, model.Intercept = kernel.Product(first, rest), 1e-3, false
	fmt.Println(model.Kernel)

	X, y := mat.NewDense(3, 3, []float64{0, 0, 0, 1, 2, 1, 2, 1, 5}), []float64{1, 2, 3}
	fitted, err := model.Fit(context.Background(), datasets.Set{X: X, Y: y})
	if err != nil {
		fmt.Println(err)
		return
	}
	predicted, err := fitted.Predict(context.Background(), X)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", predicted)
	// Output:
	// {product: [{columns: x0, gamma: 0.5, kernel: gaussian}, {columns: rest, gamma: 0.1, kernel: laplacian}]}
	// [1.00 2.00 3.00]
}

// The kernel matrix of a step is computed without a fit.
func ExampleMatrix() {
	step := estimator.NewKernelRidge()
	step.Gamma = kernel.FixedGamma(math.Ln2)
	K, err := kernel.Matrix(context.Background(), step, mat.NewDense(3, 1, []float64{0, 1, 2}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", mat.Formatted(K))
	// Output:
	// ⎡1.0000  0.5000  0.0625⎤
	// ⎢0.5000  1.0000  0.5000⎥
	// ⎣0.0625  0.5000  1.0000⎦
}
