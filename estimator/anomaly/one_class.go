package anomaly

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/oneclass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// OneClass is the linear one-class support vector machine: the hyperplane w'z = ρ that separates
// most rows z from the origin with maximum margin. With row weights s it minimizes
//
//	½‖w‖² − ρ + Σ s_i·max(0, ρ − w'z_i) / (Nu·Σ s_i)
//
// At most the share Nu of the training rows lies outside, and at least that share outside or on the
// hyperplane. After rff or nystroem it is the one-class SVM of their kernel; for rows that are not
// kernel features, separation from the origin is not meaningful. The decision function of
// scikit-learn's OneClassSVM is Nu·n·(w'z − ρ).
//
// It solves the dual with the rows in memory, in working sets of up to a thousand rows with the
// largest violations, until the duality gap is at most Tol of ½‖w‖². It warns if MaxIter passes
// over the rows are not sufficient. Rows are n×d, dense, in float32 or sparse; a pass costs 2·n·d
// flops, and the products of a working set up to 2²¹·d. A stream is read into memory.
//
// Fit ignores targets. It returns an error for a categorical column, a missing or infinite value,
// weights that are not numbers ≥ 0 or all 0, and no rows. (Schölkopf, Platt, Shawe-Taylor, Smola &
// Williamson, Neural Computation 2001.) Use [NewOneClass]: the zero value is invalid.
type OneClass struct {
	Nu      float64
	Tol     float64
	MaxIter int
}

// NewOneClass returns a OneClass with nu 0.1, tolerance 1e-4 and at most 1000 passes over the rows.
func NewOneClass() OneClass { return OneClass{Nu: 0.1, Tol: 1e-4, MaxIter: 1000} }

var (
	_ estimator.Estimator    = OneClass{}
	_ datasets.Tagger        = OneClass{}
	_ datasets.CostEstimator = OneClass{}
	_ datasets.Requirer      = OneClass{}
	_ param.Declarer         = (*OneClass)(nil)
)

// Params declares the hyperparameters.
func (s *OneClass) Params(l *param.List) {
	l.Float(&s.Nu, "nu", "upper bound on the share of training "+
		"rows that are anomalies", param.Range{Low: 0, High: 1, LowOpen: true})
	l.Float(&s.Tol, "tol", "tolerance: duality gap, relative to the objective", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of passes over the rows", param.AtLeast(1))
}

// Tags returns the task.
func (OneClass) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Anomaly} }

// Requirements declares that all inputs must be numeric and have no missing values.
func (OneClass) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Numeric: true}, {NoMissing: true}}
}

// Cost estimates a fit to rows of a shape.
func (OneClass) Cost(shape datasets.Shape) datasets.Cost {
	const entry = 650 // flops that an entry of the rows takes in all steps, measured
	working := min(float64(shape.Rows), 1<<10)
	flops := entry * float64(shape.Rows) * shape.Entries()
	return datasets.Cost{Flops: flops,
		Bytes: design.Float64Bytes(5*float64(shape.Rows) + 2*float64(shape.Cols) + working*(working+float64(shape.Cols)))}
}

// Fit fits the separating hyperplane; the result has the methods Weights and Rho.
func (s OneClass) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	f, err := s.fit(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("anomaly: one_class: %w", err)
	}
	return f, nil
}

func (s OneClass) fit(ctx context.Context, data datasets.Set) (*fittedOneClass, error) {
	if err := specs.CheckFit(s); err != nil {
		return nil, err
	}
	r, err := design.FromSet(data)
	if err != nil {
		return nil, err
	}
	if err := memory.Check(s.Cost(r.Shape(r.N, 1)).Bytes); err != nil {
		return nil, err
	}
	weights, err := design.BlockWeights(0, data)
	if err != nil {
		return nil, err
	}
	if weights != nil && !(kern.Sum(weights) > 0) {
		return nil, fmt.Errorf("all weights are 0")
	}
	data.X = design.Native(data.X)
	if err := checkRows(ctx, data); err != nil {
		return nil, err
	}
	p, err := oneclass.Task(s).Fit(ctx, data.X, weights)
	if err != nil {
		return nil, err
	}
	f := &fittedOneClass{weights: p.W, rho: p.Rho,
		report: estimator.Report{Solver: "dual", Iterations: p.Iterations, Converged: p.Converged, Gap: p.Gap,
			Objective: p.Objective}}
	if !kern.AllFinite(append(slices.Clone(p.W), p.Rho)) {
		return nil, design.NonFiniteError(0, data)
	}
	if !p.Converged {
		f.report.Warnings = append(f.report.Warnings,
			fmt.Sprintf("the duality gap is still %.2g of the objective after %d passes over the rows; raise max_iter or tol",
				p.Gap, p.Iterations))
	}
	if p.Flat {
		f.report.Warnings = append(f.report.Warnings,
			"the origin lies among the rows, so that no plane parts them from it; put rff or nystroem before one_class")
	}
	return f, nil
}

// checkRows returns an error for rows of positive weight with a value that is not finite.
func checkRows(ctx context.Context, data datasets.Set) error {
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	n, d := data.X.Dims()
	sums, ones := make([]float64, n), make([]float64, d)
	for j := range ones {
		ones[j] = 1
	}
	if err := oneclass.Margins(ctx, sums, data.X, ones); err != nil {
		return err
	}
	if !kern.AllFinite(sums) {
		return design.NonFiniteError(0, data)
	}
	return nil
}

// fittedOneClass is a fitted [OneClass]: a hyperplane that separates the inliers from the origin.
type fittedOneClass struct {
	weights []float64
	rho     float64
	report  estimator.Report
}

var (
	_ estimator.FullPredictor = (*fittedOneClass)(nil)
	_ estimator.Reporter      = (*fittedOneClass)(nil)
	_ graph.ModelExporter     = (*fittedOneClass)(nil)
	_ model.Stateful          = (*fittedOneClass)(nil)
)

// Predict returns 1 for each anomalous row of X, else 0.
func (f *fittedOneClass) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out, err := f.PredictFull(ctx, X, estimator.Request{})
	return out.Values, err
}

// Outputs returns values and anomaly scores.
func (f *fittedOneClass) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputAnomalyScores}
}

// PredictFull returns the anomaly score ρ − w'z of each row of X, and 1 if it is positive, else 0.
func (f *fittedOneClass) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	if out.Anomaly, err = f.scores(ctx, X); err != nil {
		return out, err
	}
	out.Values = make([]float64, len(out.Anomaly))
	for i, v := range out.Anomaly {
		if v > 0 {
			out.Values[i] = 1
		}
	}
	return out, nil
}

func (f *fittedOneClass) scores(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	out := make([]float64, n)
	if n == 0 {
		return out, nil
	}
	if err := datasets.CheckInput(ctx, X, len(f.weights)); err != nil {
		return nil, fmt.Errorf("anomaly: %w", err)
	}
	if err := oneclass.Margins(ctx, out, design.Native(X), f.weights); err != nil {
		return nil, err
	}
	for i, v := range out {
		out[i] = f.rho - v
	}
	if !kern.AllFinite(out) {
		return nil, fmt.Errorf("anomaly: %w", estimator.ErrTooLarge)
	}
	return out, nil
}

// ExportModel adds to g ρ − w'z, and whether that is above 0.
func (f *fittedOneClass) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	margin := g.MatMul(rows, g.Matrix(mat.NewVecDense(len(f.weights), f.weights)))
	score := g.Sub(g.Scalar(f.rho), margin)
	return graph.Prediction{Values: g.Less(g.Scalar(0), score), Anomaly: score}, nil
}

// Weights returns a copy of w, one number for each input.
func (f *fittedOneClass) Weights() []float64 { return slices.Clone(f.weights) }

// Rho returns ρ.
func (f *fittedOneClass) Rho() float64 { return f.rho }

// Report returns the report of the fit.
func (f *fittedOneClass) Report() estimator.Report {
	r := f.report
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// Tags returns the number of input columns.
func (f *fittedOneClass) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.weights)} }

// String describes the model in a line.
func (f *fittedOneClass) String() string {
	return fmt.Sprintf("plane in %d inputs, rho %.6g", len(f.weights), f.rho)
}

// State serializes the model.
func (f *fittedOneClass) State(s *model.State) {
	s.Floats("weights", &f.weights)
	s.Float("rho", &f.rho)
	f.report.State(s.Child("report"))
	if s.Restoring() && s.Err() == nil {
		s.Require(len(f.weights) > 0 && kern.AllFinite(f.weights) && f.rho-f.rho == 0, "the plane is not of finite numbers")
	}
}
