// Package transformertest is a conformance test for transformers: it checks the invariants that
// pipelines, searches and model files rely on. It supports any implementation of
// transformer.Fitter:
//
//	func TestLaws(t *testing.T) {
//		transformertest.Run(t, transformer.NewStandardize(), transformertest.Options{Missing: true, DenseOnly: true})
//	}
//
// Every invariant is a subtest with its own name; its error message explains what depends on it.
// With -short, tests of damaged files are skipped.
package transformertest

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/testing/panictest"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// Options describe the transformer under test. The zero value describes a transformer of numeric
// columns that supports sparse rows and rejects missing values.
type Options struct {
	// Data to fit and map; left out, 60 rows of 5 numeric columns, one of them constant and two
	// mostly zero. It has more than 8 rows.
	Data datasets.Set
	// Missing reports that missing values (NaN) are supported.
	Missing bool
	// DenseOnly reports that sparse rows are rejected.
	DenseOnly bool
	// Uncentered reports that sparse rows are fitted without centering, unlike dense ones.
	Uncentered bool
	// Weighted reports that sample weights matter; otherwise they must not.
	Weighted bool
	// Related are specs of the same feature family, for a [transformer.FamilyFitter].
	Related []transformer.Fitter
	// Tolerance is the difference allowed between equivalent computations, relative for numbers
	// above 1; 0 means 1e-9.
	Tolerance float64
	// Float32Tolerance is the difference allowed between float32 and float64 features, relative for
	// numbers above 1; 0 means 1e-4.
	Float32Tolerance float64
	// ExportTolerance is the difference allowed between the exported graph ([graph.StepExporter])
	// and the transformer, relative for numbers above 1; 0 means 1e-12.
	ExportTolerance float64
	// Unexported reports that Export returns an error with the reason.
	Unexported bool
}

// An invariant holds for every transformer.
type invariant struct {
	name  string
	check func(s *suite)
}

var invariants = []invariant{
	{"does not modify spec and data", leavesSpecAndData},
	{"fits are reproducible", fitsTheSameTwice},
	{"width and schema are correct", widthIsOutputWidth},
	{"sparse rows equal dense rows", sparseIsDense},
	{"any mat.Matrix equals dense rows", otherMatricesAreDense},
	{"blocks equal rows in memory", blocksAreOneSet},
	{"a single row equals a row of a batch", rowIsRowOfBatch},
	{"TransformTo overwrites the destination", writesIntoTile},
	{"float32 features match", writesFloat32},
	{"FitTransform equals Fit and Transform", fitsAndMapsAtOnce},
	{"training rows are cross-fitted", mapsTrainingRows},
	{"family members equal separate fits", memberIsLoneFit},
	{"FinishFit equals Fit", derivedIsFitted},
	{"the exported graph equals the map", exportsWhatItComputes},
	{"concurrent use", worksConcurrently},
	{"cancellation", stopsWhenCanceled},
	{"invalid data are errors", refusesBadData},
	{"rows of another width are errors", refusesAnotherWidth},
	{"weights are used as declared", treatsWeights},
	{"data-independent fits are equal", rowlessFitsAreAlike},
	{"tags are true", tagsAreTrue},
	{"a restored map is bit-identical", comesBackFromFile},
	{"a damaged file does not panic", survivesDamagedFile},
	{"merged parts equal all rows", partsAreTheWhole},
	{"only compatible passes merge", mergesItsOwn},
	{"passes can be canceled", passesStop},
	{"a damaged pass does not panic", passesSurviveDamage},
}

// Run checks every property of spec, each in a subtest. A panic of the tested code is a failure of the subtest.
func Run(t *testing.T, spec transformer.Fitter, o Options) {
	t.Helper()
	o = o.complete()
	for _, l := range invariants {
		t.Run(l.name, func(t *testing.T) {
			defer panictest.Report(t)
			l.check(&suite{reporter: t, Options: o, spec: spec})
		})
	}
}

// complete returns the options with defaults filled in.
func (o Options) complete() Options {
	if o.Data.X == nil {
		o.Data = numeric()
	}
	if o.Float32Tolerance == 0 {
		o.Float32Tolerance = 1e-4
	}
	if o.ExportTolerance == 0 {
		o.ExportTolerance = 1e-12
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	return o
}

// reporter is the part of *testing.T that invariants use.
type reporter interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// suite is the context of one invariant.
type suite struct {
	reporter
	Options
	spec transformer.Fitter
}

// numeric is the data of Options.Data left out.
func numeric() datasets.Set {
	rng := rand.New(rand.NewPCG(7, 8))
	X := mat.NewDense(60, 5, nil)
	y := make([]float64, 60)
	for i := range y {
		X.SetRow(i, []float64{rng.NormFloat64(), 3 * rng.Float64(), 2.5, 0, 0})
		if i%4 == 0 {
			X.Set(i, 3, 1+rng.Float64())
		}
		if i%7 == 0 {
			X.Set(i, 4, -rng.ExpFloat64())
		}
		y[i] = rng.NormFloat64()
	}
	names := []string{"height", "width", "constant", "rare", "rarer"}
	columns := make([]datasets.Column, 5)
	for j := range columns {
		columns[j].Name = names[j]
	}
	return datasets.Set{X: X, Y: y, Schema: datasets.Schema{Columns: columns}}
}

// skipIfShort skips an invariant with -short: it tries thousands of files.
func (s *suite) skipIfShort() {
	if testing.Short() {
		s.Skip("takes long")
	}
}

func (s *suite) fit(data datasets.Set) transformer.Transformer {
	s.Helper()
	f, err := s.spec.Fit(context.Background(), data)
	if err != nil {
		s.Fatalf("Fit: %v", err)
	}
	if f == nil {
		s.Fatal("Fit returned neither a transformer nor an error")
	}
	return f
}

func (s *suite) transform(f transformer.Transformer, X mat.Matrix) mat.Matrix {
	s.Helper()
	out, err := f.Transform(context.Background(), X)
	if err != nil {
		s.Fatalf("Transform: %v", err)
	}
	return out
}

// equal fails with the given reason unless got and want agree; NaN equals NaN.
func (s *suite) equal(got, want mat.Matrix, tolerance float64, reason string) {
	s.Helper()
	n, d := want.Dims()
	if a, b := got.Dims(); a != n || b != d {
		s.Fatalf("got %d×%d, want %d×%d: %s", a, b, n, d, reason)
	}
	for i := range n {
		for j := range d {
			g, w := got.At(i, j), want.At(i, j)
			if math.IsNaN(g) != math.IsNaN(w) || math.Abs(g-w) > tolerance*max(1, math.Abs(w)) {
				s.Fatalf("entry (%d, %d) is %v, want %v: %s", i, j, g, w, reason)
			}
		}
	}
}

// dense returns a dense copy of the data's inputs.
func (s *suite) dense() *mat.Dense { return mat.DenseCopyOf(s.Data.X) }

// hasText reports whether the columns are text, whose rows are of one type, and neither sparse nor other matrices.
func (s *suite) hasText() bool { return textrows.Of(s.Data.X) != nil }

// rows returns a copy of the data's inputs, dense unless they are text.
func (s *suite) rows() mat.Matrix {
	if m := textrows.Of(s.Data.X); m != nil {
		return m.Clone()
	}
	return s.dense()
}

// with returns the data with other inputs.
func (s *suite) with(X mat.Matrix) datasets.Set {
	data := s.Data
	data.X = X
	return data
}

// bits returns every entry of a dense or sparse matrix, bit for bit.
func bits(X mat.Matrix) []uint64 {
	n, d := X.Dims()
	out := make([]uint64, 0, n*d)
	for i := range n {
		for j := range d {
			out = append(out, math.Float64bits(X.At(i, j)))
		}
	}
	return out
}

// sparseData returns the inputs as a CSR.
func (s *suite) sparseData() *matrices.CSR { return matrices.CSRFromDense(s.Data.X) }
