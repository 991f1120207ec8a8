package estimator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
)

// Smoother is the weights l_i(x) of a regression that is linear in its targets, f(x) = Σ l_i(x)·y_i, and the
// residuals r_i = y_i − f₋ᵢ(x_i) of the models of all rows but one. Both together give these models' predictions
// of any row:
//
//	f₋ᵢ(x) = f(x) − l_i(x)·r_i
//
// For ridge with weights of rows s, x̃ centered, and A = X̃'SX̃ + Alpha·I, it is l_i(x) = s_i·(1/Σs + x̃'A⁻¹x̃_i). It
// has n×d numbers, and the weights of a row cost 2nd flops; that of kernel ridge regression has n×n numbers. Rows of
// weight 0 are in no model and have no weight.
type Smoother struct {
	residuals *mat.Dense // rows × targets

	v           *mat.Dense // of ridge: rows × columns
	mean, share []float64
	kernel      *kernelModel // of kernel ridge, an output for each row
}

// SmootherWeights returns the weights of the training targets in the predictions. It returns an
// error if the model without a row is not determined.
func (s Ridge) SmootherWeights(ctx context.Context, data datasets.Set) (*Smoother, error) {
	out, err := s.smooth(ctx, data)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil { // a cancellation causes other errors
		return nil, fmt.Errorf("estimator: ridge: %w", err)
	}
	return out, nil
}

func (s Ridge) smooth(ctx context.Context, data datasets.Set) (*Smoother, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(data.Schema, "ridge"); err != nil {
		return nil, err
	}
	if err := memory.Check(s.SmootherCost(data.Shape()).Bytes); err != nil {
		return nil, err
	}
	found, err := leastsquares.NewSmoother(ctx, leastsquares.Ridge(s), data)
	if err != nil {
		return nil, err
	}
	return &Smoother{residuals: rowsOf(found.Residuals, len(found.Rows)), v: rowsOf(found.V, len(found.Rows)),
		mean: found.Mean, share: found.MeanWeights}, nil
}

// rowsOf is the matrix of n rows with these numbers.
func rowsOf(list []float64, rows int) *mat.Dense { return mat.NewDense(rows, len(list)/rows, list) }

// SmootherCost returns the cost of SmootherWeights.
func (s Ridge) SmootherCost(shape datasets.Shape) datasets.Cost {
	n, d := float64(shape.Rows), float64(shape.Cols)
	few, many := min(n, d), max(n, d)
	return datasets.Cost{Flops: 3*many*few*few + few*few*few/3 + 2*n*d*few, Bytes: design.Float64Bytes(n*d + 2*few*few),
		OutputWidth: max(shape.Outputs, 1)}
}

// SmootherWeights returns the weights of the training targets in the predictions. It always uses
// cholesky; a rule for Gamma is evaluated once, on all rows.
func (s KernelRidge) SmootherWeights(ctx context.Context, data datasets.Set) (*Smoother, error) {
	out, err := s.smooth(ctx, data)
	if err = cmp.Or(ctxerr.Check(ctx), err); err != nil {
		return nil, fmt.Errorf("estimator: kernel_ridge: %w", err)
	}
	return out, nil
}

func (s KernelRidge) smooth(ctx context.Context, data datasets.Set) (*Smoother, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	if err := rejectClassTarget(data.Schema, "kernel_ridge"); err != nil {
		return nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, err
	}
	if err := memory.Check(s.SmootherCost(data.Shape()).Bytes); err != nil {
		return nil, err
	}
	found, err := s.plain().SmootherWeights(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Smoother{residuals: rowsOf(found.Residuals, len(found.Rows)), kernel: &kernelModel{found.Weights}}, nil
}

// SmootherCost returns the cost of SmootherWeights.
func (s KernelRidge) SmootherCost(shape datasets.Shape) datasets.Cost {
	flops, numbers, _ := kernelridge.SmootherCost(shape.Rows)
	return datasets.Cost{Flops: flops, Bytes: design.Float64Bytes(numbers), OutputWidth: max(shape.Outputs, 1)}
}

// Residuals returns a copy of the targets less the predictions of the models that have not seen the row, rows ×
// targets.
func (s *Smoother) Residuals() *mat.Dense { return mat.DenseCopyOf(s.residuals) }

// Rows returns the number of rows that have weights.
func (s *Smoother) Rows() int { return s.residuals.RawMatrix().Rows }

// InputWidth returns the number of input columns.
func (s *Smoother) InputWidth() int {
	if s.kernel != nil {
		return s.kernel.InputWidth()
	}
	return len(s.mean)
}

// Weights returns l_i(x), for each row of X the weights of all training rows: pass few rows at a
// time.
func (s *Smoother) Weights(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	if s.kernel != nil {
		return s.kernel.scores(ctx, X)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	n, d := X.Dims()
	switch {
	case n == 0:
		return &mat.Dense{}, nil
	case d != len(s.mean):
		return nil, fmt.Errorf("estimator: X has %[2]d columns, but the model was fitted with %[1]d columns", len(s.mean), d)
	}
	hold := design.Borrow[float64](n * d)
	defer hold.Release()
	x := kern.Dense(n, d, d, hold.Data)
	X = design.Native(X)
	for i := range n {
		design.WriteRow(x.Row(i), X, i)
		kern.Axpy(-1, s.mean, x.Row(i))
	}
	out := mat.NewDense(n, s.Rows(), nil)
	for i := range n {
		copy(out.RawRowView(i), s.share)
	}
	if err := kern.MulContext(ctx, design.View(out), x, design.View(s.v).T(), true); err != nil {
		return nil, err
	}
	if !kern.AllFinite(out.RawMatrix().Data) {
		if err := (datasets.Set{X: X}).CheckFinite(); err != nil {
			return nil, fmt.Errorf("estimator: %w", err)
		}
		return nil, errTooLarge
	}
	return out, nil
}

// Export adds to g l_i(x) of rows, for all rows of the fit.
func (s *Smoother) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if s.kernel != nil {
		return s.kernel.m.Export(g, rows)
	}
	return g.Affine(g.Sub(rows, g.Row(s.mean)), g.Matrix(s.v.T()), g.Row(s.share)), nil
}

// State serializes the weights and the residuals.
func (s *Smoother) State(m *model.State) {
	byKernel := s.kernel != nil
	m.Bool("kernel", &byKernel)
	m.Matrix("residuals", &s.residuals)
	m.Require(s.residuals != nil && !s.residuals.IsEmpty() && kern.AllFinite(s.residuals.RawMatrix().Data),
		"residuals are missing or not finite")
	if m.Err() != nil {
		return
	}
	if byKernel {
		if s.kernel == nil {
			s.kernel = &kernelModel{}
		}
		s.kernel.state(m.Child("weights"))
		m.Require(m.Err() != nil || len(s.kernel.m.Intercept) == s.Rows(), "weights and residuals differ in number")
		return
	}
	m.Matrix("weights", &s.v)
	m.Floats("mean", &s.mean)
	m.Floats("share", &s.share)
	m.Require(s.v != nil && len(s.mean) == s.v.RawMatrix().Cols && len(s.share) == s.Rows() &&
		s.v.RawMatrix().Rows == s.Rows(), "weights and residuals differ in size")
	m.Require(m.Err() != nil || kern.AllFinite(s.v.RawMatrix().Data) && kern.AllFinite(slices.Concat(s.mean, s.share)),
		"weights are not finite")
}
