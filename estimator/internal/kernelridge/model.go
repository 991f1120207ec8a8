package kernelridge

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
)

// KernelParams are the parameters of a kernel.
type KernelParams struct {
	Kernel string
	Gamma  []float64 // by input
	Shape  spectral.Shape
}

// kernelOf returns a kernel by name.
func kernelOf(name string, shape spectral.Shape) (*pairwise.Kernel, error) {
	k, ok := pairwise.NewKernel(name, shape)
	if !ok {
		return nil, fmt.Errorf("kernel %s is not registered; call kernel.Register before the model is read", name)
	}
	return k, nil
}

// Model is f(x) = Σ a_i k(x, x_i) + b.
type Model struct {
	KernelParams
	X         mat.Matrix // *mat.Dense or *matrices.CSR
	Dual      []float64  // rows × outputs
	Intercept []float64
	Report    solve.Report

	points *Points
}

// Prepare makes a model with given exported fields ready to predict.
func (m *Model) Prepare() error {
	k, err := kernelOf(m.Kernel, m.Shape)
	if err != nil {
		return err
	}
	f := k.Frame(k.Factors(m.Gamma), m.X)
	m.points = &Points{kernel: k, frame: f, rows64: pairwise.NewRows[float64](f, m.X)}
	return nil
}

// scoredRows is the number of rows scored together.
const scoredRows = 4096

// Scores writes f of the rows of X to dst, rows × outputs. X is a *mat.Dense, *matrices.Dense32 or
// *matrices.CSR; float32 rows are converted to float64.
func (m *Model) Scores(ctx context.Context, dst []float64, X mat.Matrix) error {
	return m.points.scores(ctx, dst, X, m.Dual, m.Intercept)
}

// scores writes Σ a_i k(x, x_i) + b.
func (p *Points) scores(ctx context.Context, dst []float64, X mat.Matrix, dual, intercept []float64) error {
	n, _ := X.Dims()
	t := len(intercept)
	right := kern.Dense(p.Rows(), t, t, dual)
	var rows pairwise.Rows[float64]
	X = p.kernel.NewRows(design.ToFloat64(X))
	if err := checkDomain(p.kernel, datasets.Set{X: X}); err != nil {
		return err
	}
	for lo := 0; lo < n; lo += scoredRows {
		hi := min(lo+scoredRows, n)
		rows.Prepare(p.frame, X, lo, hi)
		out := kern.Dense(hi-lo, t, t, dst[lo*t:hi*t])
		for i := range hi - lo {
			copy(out.Row(i), intercept)
		}
		if err := pairwise.Multiply(ctx, out, rows, p.rows64, p.kernel, right); err != nil {
			return err
		}
	}
	return nil
}

// sharedRows is the maximum number of rows that shares of the variance are computed at.
const sharedRows = 256

// Terms returns the products of a sum of kernels of columns and their shares of the variance of f, nil for
// other kernels. With f = Σ_s f_s + b the share of f_s is cov(f_s, f)/var(f) at the rows x_i, at most 256
// evenly spaced ones, summed over the outputs. The shares add up to 1.
func (m *Model) Terms(ctx context.Context) ([]kernel.Summand, []float64, error) {
	list := kernel.Name(m.Kernel).Summands()
	if len(list) < 2 {
		return nil, nil, nil
	}
	at := datasets.Set{X: m.X}.EvenlySpaced(sharedRows).X
	n, _ := at.Dims()
	t := len(m.Intercept)
	parts, sum := make([][]float64, len(list)), make([]float64, n*t)
	for s, one := range list {
		part := *m
		part.Kernel, part.Intercept = string(kernel.Product(one.Product...)), make([]float64, t)
		if err := part.Prepare(); err != nil {
			return nil, nil, err
		}
		parts[s] = make([]float64, n*t)
		if err := part.Scores(ctx, parts[s], at); err != nil {
			return nil, nil, err
		}
		kern.Scale(one.Weight, parts[s])
		kern.Axpy(1, parts[s], sum)
	}
	means := columnSums(sum, t)
	for i := range sum {
		sum[i] -= means[i%t] / float64(n)
	}
	total, shares := 0.0, make([]float64, len(list))
	for s := range list {
		shares[s] = kern.Dot(parts[s], sum)
		total += shares[s]
	}
	if !(total > 0) {
		return nil, nil, nil // constant
	}
	kern.Scale(1/total, shares)
	return list, shares, nil
}
