package estimator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// fittedKernelRidge is a fitted [KernelRidge]: a kernel expansion in the training rows for each
// target.
type fittedKernelRidge struct{ kernelRegressor }

// kernelRegressor contains the methods common to fitted kernel regressions.
type kernelRegressor struct{ kernelModel }

// Predict returns the first target of each row of X.
func (f *kernelRegressor) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	all, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	return firstColumn(all), nil
}

// Outputs returns values and targets.
func (f *kernelRegressor) Outputs() Outputs { return Outputs{Has: OutputValues | OutputTargets} }

// PredictFull returns every target of each row of X.
func (f *kernelRegressor) PredictFull(ctx context.Context, X mat.Matrix, _ Request) (Prediction, error) {
	return predictTargets(f.scores(ctx, X))
}

// State serializes the model.
func (f *kernelRegressor) State(s *model.State) { f.state(s) }

// fittedKernelRidgeClassifier is a fitted [KernelRidgeClassifier]: a kernel expansion for each
// class; for two classes a single one, positive for the second class.
type fittedKernelRidgeClassifier struct{ kernelClassifier }

// kernelClassifier contains the methods common to fitted kernel classifiers.
type kernelClassifier struct {
	kernelModel
	classes []string
}

// Outputs returns values and scores.
func (f *kernelClassifier) Outputs() Outputs {
	return Outputs{Has: OutputValues | OutputScores, Classes: slices.Clone(f.classes)}
}

// PredictFull returns class and scores of each row of X.
func (f *kernelClassifier) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	scores, err := f.scores(ctx, X)
	return predictClasses(scores, err, want, nil)
}

// Predict returns the code of the class with the largest score for each row of X.
func (f *kernelClassifier) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	scores, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	return codesOf(scores), nil
}

// codesOf returns the code of the class with the largest score in each row; with a single score,
// the second class if it is positive.
func codesOf(scores *mat.Dense) []float64 {
	out := firstColumn(scores)
	for i, v := range out {
		switch {
		case scores.RawMatrix().Cols > 1:
			out[i] = float64(kern.ArgMax(scores.RawRowView(i)))
		case v > 0:
			out[i] = 1
		default:
			out[i] = 0
		}
	}
	return out
}

// State serializes the model.
func (f *kernelClassifier) State(s *model.State) {
	f.state(s)
	s.Strings("classes", &f.classes)
	want := len(f.classes)
	if want == 2 {
		want = 1
	}
	s.Require(len(f.classes) >= 2 && f.m != nil && len(f.m.Intercept) == want, "the classes do not fit the dual weights")
}

// firstColumn returns the first number of each row.
func firstColumn(m *mat.Dense) []float64 {
	if m.IsEmpty() {
		return []float64{}
	}
	return mat.Col(nil, 0, m)
}

// kernelModel contains the methods common to fitted kernel models.
type kernelModel struct{ m *kernelridge.Model }

// Rows returns the number of training rows that the model keeps.
func (f *kernelModel) Rows() int { n, _ := f.m.X.Dims(); return n }

// Gamma returns γ of each input.
func (f *kernelModel) Gamma() []float64 { return slices.Clone(f.m.Gamma) }

// Dual returns a copy of the weights of the training rows that the model keeps, rows × outputs.
func (f *kernelModel) Dual() *mat.Dense {
	return mat.NewDense(f.Rows(), len(f.m.Intercept), slices.Clone(f.m.Dual))
}

// Intercept returns a copy of the intercepts, one per output; zeros for a model without.
func (f *kernelModel) Intercept() []float64 { return slices.Clone(f.m.Intercept) }

// Report returns the report of the fit. Its Gradient is the residual relative to the standard
// deviation of the targets.
func (f *kernelModel) Report() Report {
	r := f.m.Report
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// InputWidth returns the number of input columns.
func (f *kernelModel) InputWidth() int { return len(f.m.Gamma) }

// Tags returns the number of input columns and of stored rows, and the terms of a kernel of columns.
func (f *kernelModel) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: f.InputWidth(), StoredRows: f.Rows(), Terms: f.terms}
}

// terms returns the products of a sum of kernels of columns ([kernel.Sum]), and the share of each in the
// variance of the predictions, or of the scores, of the stored rows. The shares add up to 1; one is
// negative if the term counteracts the others. Other kernels have no terms.
func (f *kernelModel) terms(ctx context.Context, in datasets.Schema) (names []string, shares []float64, err error) {
	terms, shares, err := f.m.Terms(ctx)
	for _, s := range terms {
		names = append(names, nameOfTerm(in, s))
	}
	return names, shares, err
}

// nameOfTerm names a product of kernels of columns after the columns before they were encoded.
func nameOfTerm(in datasets.Schema, s kernel.Summand) string {
	var factors []string
	for _, t := range s.Product {
		if t.Index == nil {
			factors = append(factors, "all columns ("+string(t.Kernel)+")")
			continue
		}
		// the column before it was encoded, or one of its encodings, if the term has all of it, else the column after
		labels := func(j int) [3]string {
			c := in.Column(j)
			origin := cmp.Or(c.EncodedFrom, in.Name(j))
			return [3]string{origin, origin + " (" + c.EncodedBy + ")", in.Name(j)}
		}
		elsewhere := map[string]bool{}
		for j := range in.Columns {
			if _, has := slices.BinarySearch(t.Index, j); !has {
				elsewhere[labels(j)[0]], elsewhere[labels(j)[1]] = true, true
			}
		}
		var names []string
		for _, j := range t.Index {
			all := labels(j)
			name := all[max(slices.IndexFunc(all[:2], func(l string) bool { return !elsewhere[l] }), 0)]
			if elsewhere[name] {
				name = all[2]
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		factors = append(factors, strings.Join(names, ", "))
	}
	return strings.Join(factors, " × ")
}

// String describes the model in a line.
func (f *kernelModel) String() string {
	return fmt.Sprintf("%s kernel at %d rows of %d inputs, %d outputs, by %s", kernel.Name(f.m.Kernel), f.Rows(),
		f.InputWidth(), len(f.m.Intercept), f.m.Report.Solver)
}

// scores returns the outputs of each row of X.
func (f *kernelModel) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	return scoresOf(ctx, X, f.InputWidth(), len(f.m.Intercept), f.m.Scores)
}

// state keeps the kernel with its numbers, the rows, which are dense or sparse, and their weights.
func (f *kernelModel) state(s *model.State) {
	if s.Restoring() || f.m == nil {
		f.m = &kernelridge.Model{}
	}
	m := f.m
	s.String("kernel", &m.Kernel)
	s.Floats("gamma", &m.Gamma)
	s.Float("nu", &m.Shape.Nu)
	s.Float("shape", &m.Shape.Alpha)
	m.Shape.State(s, m.Kernel)
	rowsState(s, &m.X)
	var dual *mat.Dense
	if !s.Restoring() && m.X != nil {
		dual = f.Dual()
	}
	s.Matrix("dual", &dual)
	s.Floats("intercept", &m.Intercept)
	m.Report.State(s.Child("report"))
	if !s.Restoring() || s.Err() != nil {
		return
	}
	err := checkKernelModel(m, dual)
	if err == nil {
		m.Dual = design.DenseData(dual)
		err = m.Prepare()
	}
	if err != nil {
		s.Fail("%v", err)
	}
}

// rowsState keeps rows that are a *mat.Dense or a *matrices.CSR.
func rowsState(s *model.State, X *mat.Matrix) {
	dense, _ := (*X).(*mat.Dense)
	csr, isSparse := (*X).(*matrices.CSR)
	s.Bool("sparse", &isSparse)
	if isSparse {
		s.Sparse("rows", &csr)
	} else {
		s.Matrix("rows", &dense)
	}
	switch {
	case !s.Restoring() || s.Err() != nil:
	case isSparse:
		*X = csr
	case dense == nil:
		s.Fail("there are no rows")
	default:
		*X = dense
	}
}

// checkKernelModel returns an error if a deserialized model is invalid.
func checkKernelModel(m *kernelridge.Model, dual *mat.Dense) error {
	n, d := m.X.Dims()
	positive := append([]float64{m.Shape.Nu, m.Shape.Alpha}, m.Gamma...)
	switch {
	case n == 0 || d == 0 || len(m.Gamma) != d:
		return fmt.Errorf("%d rows of %d inputs do not fit %d numbers of gamma", n, d, len(m.Gamma))
	case dual == nil || dual.RawMatrix().Rows != n || dual.RawMatrix().Cols != len(m.Intercept):
		return fmt.Errorf("the dual weights do not fit %d rows and %d intercepts", n, len(m.Intercept))
	case !kern.AllFinite(design.DenseData(dual)) || !kern.AllFinite(m.Intercept):
		return fmt.Errorf("dual weights or intercepts are not finite")
	case slices.ContainsFunc(positive, func(v float64) bool { return !param.Positive().Contains(v) }):
		return fmt.Errorf("gamma, nu and shape are not all positive")
	case m.Kernel == string(kernel.Precomputed) && !pairwise.IsUnits(m.X):
		return fmt.Errorf("the rows of a precomputed kernel must be unit vectors")
	case !spectral.IsResolved(m.Kernel, d):
		return fmt.Errorf("the columns of the kernel do not fit %d inputs", d)
	case m.Kernel == "powered_exponential" && !exponents.Contains(m.Shape.Exponent):
		return fmt.Errorf("exponent is out of range")
	case m.Kernel == "polynomial" &&
		(!degrees.Contains(float64(m.Shape.Degree)) || !param.AtLeast(0).Contains(m.Shape.Coef0)):
		return fmt.Errorf("degree or coef0 is out of range")
	case m.Kernel == "sigmoid" && !param.Any().Contains(m.Shape.Coef0):
		return fmt.Errorf("coef0 is not a finite number")
	}
	return (datasets.Set{X: m.X}).CheckFinite()
}
