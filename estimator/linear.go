package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// FittedLinear is a fitted [Ridge], [SVR], [QuantileRegression] or similar: a linear regression of
// one or several targets, X·coefᵀ + intercept.
type FittedLinear struct{ linear }

// Predict returns the first target of each row of X.
func (f *FittedLinear) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	if f.outputs() == 1 {
		if err := f.score(ctx, out, X); err != nil {
			return nil, err
		}
		return out, nil
	}
	all, err := f.scores(ctx, X)
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return out, nil
	}
	return mat.Col(out, 0, all), nil
}

// Outputs returns values and targets.
func (f *FittedLinear) Outputs() Outputs { return Outputs{Has: OutputValues | OutputTargets} }

// PredictFull returns every target of each row of X.
func (f *FittedLinear) PredictFull(ctx context.Context, X mat.Matrix, _ Request) (Prediction, error) {
	scores, err := f.scores(ctx, X)
	return f.read(scores, err, Request{})
}

func (f *FittedLinear) read(scores *mat.Dense, err error, _ Request) (Prediction, error) {
	return predictTargets(scores, err)
}

// State serializes the model.
func (f *FittedLinear) State(s *model.State) { f.state(s) }

// FittedLinearClassifier is a fitted [RidgeClassifier] or [SVM]: a linear classifier with one row
// of coefficients per class; for two classes a single row, positive for the second class. Of several
// labels it has one row per label, and predicts those with a positive score.
type FittedLinearClassifier struct {
	linear
	classes []string
	labels  []string // nil for classes
}

// Outputs returns values and scores.
func (f *FittedLinearClassifier) Outputs() Outputs { return f.withLabels(OutputValues | OutputScores) }

// withLabels returns the outputs of the model, which include the targets if it has labels.
func (f *FittedLinearClassifier) withLabels(has Output) Outputs {
	if f.labels != nil {
		has |= OutputTargets
	}
	return Outputs{Has: has, Classes: slices.Clone(f.classes), Labels: slices.Clone(f.labels)}
}

// PredictFull returns class and scores of each row of X.
func (f *FittedLinearClassifier) PredictFull(ctx context.Context, X mat.Matrix, want Request) (Prediction, error) {
	scores, err := f.scores(ctx, X)
	return f.read(scores, err, want)
}

func (f *FittedLinearClassifier) read(scores *mat.Dense, err error, want Request) (Prediction, error) {
	if f.labels != nil {
		return predictLabels(scores, err, want, false)
	}
	return predictClasses(scores, err, want, nil)
}

// Predict returns the code of the class with the largest score for each row of X; of several labels
// the code of the first.
func (f *FittedLinearClassifier) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	if f.labels != nil {
		p, err := f.PredictFull(ctx, X, Request{})
		return p.Values, err
	}
	out := make([]float64, n)
	if f.outputs() == 1 {
		if err := f.score(ctx, out, X); err != nil {
			return nil, err
		}
		for i, v := range out {
			out[i] = 0
			if v > 0 {
				out[i] = 1
			}
		}
		return out, nil
	}
	scores, err := f.scores(ctx, X)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = float64(kern.ArgMax(scores.RawRowView(i)))
	}
	return out, nil
}

// State serializes the model.
func (f *FittedLinearClassifier) State(s *model.State) {
	f.state(s)
	if s.Restoring() && s.Has("labels") || f.labels != nil {
		s.Strings("labels", &f.labels)
		s.Require(len(f.labels) >= 2 && len(f.intercept) == len(f.labels), "the labels do not fit the coefficients")
		return
	}
	s.Strings("classes", &f.classes)
	want := len(f.classes)
	if want == 2 {
		want = 1
	}
	s.Require(len(f.classes) >= 2 && len(f.intercept) == want, "the classes do not fit the coefficients")
}

// linear contains the fields common to fitted linear models.
type linear struct {
	coef      *mat.Dense // outputs × inputs
	short     []float32  // coef divided by units, for float32 inputs
	units     []float64  // by output
	intercept []float64  // outputs
	scale     float64    // of the residuals, if the loss estimates it
	report    Report
}

// setFloat32 computes the float32 coefficients. If the largest coefficient of an output is far from 1,
// as with targets in small or large units, they are divided by a power of two to avoid overflow and
// underflow.
func (l *linear) setFloat32() {
	const far = 64 // powers of two
	k, d := l.coef.Dims()
	l.short, l.units = make([]float32, k*d), make([]float64, k)
	for j := range k {
		row, largest := l.coef.RawRowView(j), 0.0
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
		_, power := math.Frexp(largest)
		if -far <= power && power <= far {
			power = 0
		}
		l.units[j] = math.Ldexp(1, power)
		for i, v := range row {
			l.short[j*d+i] = float32(math.Ldexp(v, -power))
		}
	}
}

// Coef returns a copy of the coefficients, outputs × inputs.
func (l *linear) Coef() *mat.Dense { return mat.DenseCopyOf(l.coef) }

// Intercept returns a copy of the intercepts, one per output; zeros for a model without.
func (l *linear) Intercept() []float64 { return slices.Clone(l.intercept) }

// Report returns the report of the fit.
func (l *linear) Report() Report {
	r := l.report
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// Tags returns the number of input columns and the coefficients.
func (l *linear) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: l.coef.RawMatrix().Cols, Coef: l.Coef}
}

func (l *linear) outputs() int { return len(l.intercept) }

func (l *linear) state(s *model.State) {
	s.Matrix("coef", &l.coef)
	s.Floats("intercept", &l.intercept)
	s.Require(l.coef != nil && kern.AllFinite(l.intercept) && kern.AllFinite(l.coef.RawMatrix().Data),
		"coefficients are missing or not finite")
	s.Require(l.coef != nil && len(l.intercept) == l.coef.RawMatrix().Rows, "coefficients and intercept differ in length")
	l.report.State(s.Child("report"))
	if s.Restoring() && s.Err() == nil {
		l.setFloat32()
	}
}

// scores returns X·coefᵀ + intercept, rows × outputs.
func (l *linear) scores(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	n, _ := X.Dims()
	if n == 0 {
		return &mat.Dense{}, l.score(ctx, nil, X)
	}
	out := mat.NewDense(n, l.outputs(), nil)
	if err := l.score(ctx, out.RawMatrix().Data, X); err != nil {
		return nil, err
	}
	return out, nil
}

// score writes X·coefᵀ + intercept to dst, rows × outputs. The scores of a row do not depend on the
// other rows, bit for bit; a single row is scored without goroutines or allocation.
func (l *linear) score(ctx context.Context, dst []float64, X mat.Matrix) error {
	n, d := X.Dims()
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	if d != l.coef.RawMatrix().Cols && n > 0 {
		return fmt.Errorf("estimator: X has %[2]d columns, but the model was fitted with %[1]d columns",
			l.coef.RawMatrix().Cols, d)
	}
	if n > 0 {
		X = design.Native(X)
	}
	if n == 1 {
		l.scoreRows(dst, X, 0, 1)
	} else if err := l.scoreChunks(ctx, dst, X, n); err != nil {
		return err
	}
	if !kern.AllFinite(dst) {
		if err := (datasets.Set{X: X}).CheckFinite(); err != nil {
			return fmt.Errorf("estimator: %w", err)
		}
		return errTooLarge
	}
	return nil
}

func (l *linear) scoreChunks(ctx context.Context, dst []float64, X mat.Matrix, n int) error {
	// Limit the work between checks of the context.
	chunk := min(1<<14, max(256, 1<<28/(l.coef.RawMatrix().Cols*l.outputs())))
	grain := max(1, 1<<15/l.coef.RawMatrix().Cols)
	for lo := 0; lo < n; lo += chunk {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		kern.Parallel(min(chunk, n-lo), grain, func(a, b int) { l.scoreRows(dst, X, lo+a, lo+b) })
	}
	return nil
}

func (l *linear) scoreRows(dst []float64, X mat.Matrix, lo, hi int) {
	k := l.outputs()
	switch m := X.(type) {
	case *mat.Dense:
		for i := lo; i < hi; i++ {
			row := m.RawRowView(i)
			for j, b := range l.intercept {
				dst[i*k+j] = kern.Dot(row, l.coef.RawRowView(j)) + b
			}
		}
	case *matrices.Dense32:
		for i := lo; i < hi; i++ {
			row := m.Row(i)
			for j, b := range l.intercept {
				dst[i*k+j] = l.units[j]*design.DotFloat32(row, l.short[j*len(row):(j+1)*len(row)]) + b
			}
		}
	case *matrices.CSR:
		scale, shared := m.Shared()
		if !shared {
			scale = 1
		}
		for i := lo; i < hi; i++ {
			columns, values := m.Row(i)
			for j, b := range l.intercept {
				dst[i*k+j] = scale*design.SparseDot(columns, values, l.coef.RawRowView(j)) + b
			}
		}
	}
}

// String describes the model in a line.
func (l *linear) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "linear model of %d inputs and %d outputs", l.coef.RawMatrix().Cols, l.outputs())
	if l.report.Solver != "" {
		fmt.Fprintf(&b, " by %s", l.report.Solver)
	}
	return b.String()
}

// newLinear returns the model of a solution.
func newLinear(m solve.Linear) linear {
	k := len(m.Intercept)
	d := len(m.Weights) / k
	coef := mat.NewDense(k, d, nil)
	for i := range d {
		for j := range k {
			coef.Set(j, i, m.Weights[i*k+j])
		}
	}
	out := linear{coef: coef, intercept: m.Intercept, scale: m.Scale, report: m.Report}
	out.setFloat32()
	return out
}
