package transformertest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// record stores whether a check failed or was skipped.
type record struct{ failed, skipped bool }

func (r *record) Helper()               {}
func (r *record) Error(...any)          { r.failed = true }
func (r *record) Errorf(string, ...any) { r.failed = true }
func (r *record) Fatal(...any)          { r.failed = true; runtime.Goexit() }
func (r *record) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }
func (r *record) Skip(...any)           { r.skipped = true; runtime.Goexit() }

// holds runs one check on spec.
func holds(l invariant, spec transformer.Fitter, o Options) *record {
	r := &record{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.check(&suite{reporter: r, Options: o.complete(), spec: spec})
	}()
	<-done
	return r
}

// double is a step that doubles its inputs and satisfies all invariants, except for the one it is
// configured to break.
type double struct {
	breaks string
	calls  *int // number of fits, for violations that need state
}

func (s double) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: true, SparseOutput: s.breaks == "tags are true"}
}

func (s double) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if data.X == nil {
		return nil, datasets.ErrEmpty
	}
	if err := data.Check(); err != nil && s.breaks != "invalid data are errors" {
		return nil, err
	}
	if err := data.CheckFinite(); err != nil && s.breaks != "invalid data are errors" {
		return nil, err
	}
	if _, ok := data.X.(mat.Untransposer); ok && s.breaks == "any mat.Matrix equals dense rows" {
		return nil, errors.New("double: a view")
	}
	*s.calls++
	f := &doubled{Factor: 2, width: data.Cols(), breaks: s.breaks}
	switch s.breaks {
	case "does not modify spec and data":
		data.X.(*mat.Dense).Set(0, 0, data.X.At(0, 0)+1)
	case "fits are reproducible":
		f.Factor += float64(*s.calls)
	case "weights are used as declared":
		if data.Weights != nil {
			f.Factor = 3
		}
	case "data-independent fits are equal":
		f.Factor = float64(data.Rows())
	case "sparse rows equal dense rows":
		if _, ok := data.X.(*matrices.CSR); ok {
			f.Factor = 5
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.breaks == "cancellation" && ctx.Err() != nil { // looks, and makes do with what there is
		return f, nil
	}
	return f, nil
}

func (s double) FitTransform(ctx context.Context, data datasets.Set) (transformer.Transformer, mat.Matrix, error) {
	f, err := s.Fit(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	if s.breaks == "FitTransform equals Fit and Transform" {
		return f, data.X, nil
	}
	Z, err := f.Transform(ctx, data.X)
	return f, Z, err
}

func (s double) SameFamily(other transformer.Fitter) bool {
	_, ok := other.(double)
	return ok || s.breaks == "family members equal separate fits: relation"
}

func (s double) FamilyMembers(_ datasets.Shape, specs []transformer.Fitter) []transformer.FamilyMember {
	return make([]transformer.FamilyMember, len(specs))
}

func (s double) FitFamily(ctx context.Context, data datasets.Set, specs []transformer.Fitter) (*transformer.Family,
	error) {
	for _, spec := range specs {
		if _, ok := spec.(double); !ok {
			return nil, errors.New("double: a stranger")
		}
	}
	if err := ctx.Err(); err != nil && s.breaks != "family members equal separate fits: cancelling" {
		return nil, err
	}
	f := family{width: data.Cols(), members: len(specs), breaks: s.breaks}
	out := &transformer.Family{Maps: f, Members: f.list()}
	if s.breaks == "family members equal separate fits: fitted rows" {
		out.Fitted = []mat.Matrix{mat.NewDense(60, f.width, nil)}
	}
	return out, nil
}

// family contains multiples of the same rows: the rows themselves, and twice those for each member.
type family struct {
	width, members int
	breaks         string
}

func (f family) list() []transformer.FamilyMember {
	out := make([]transformer.FamilyMember, f.members)
	for k := range out {
		out[k] = transformer.FamilyMember{Width: f.width, Scale: 2}
		switch {
		case f.breaks == "family members equal separate fits",
			f.breaks == "family members equal separate fits: the last" && k == f.members-1:
			out[k].Scale = 3
		case f.breaks == "family members equal separate fits: width":
			out[k].Width--
		case f.breaks == "family members equal separate fits: no such map":
			out[k].Map = 1
		}
	}
	return out
}

func (f family) Widths() []int { return []int{f.width} }

func (f family) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	for _, i := range which {
		if err := yield(i, X); err != nil {
			return err
		}
		if f.breaks == "family members equal separate fits: twice" {
			return yield(i, X)
		}
	}
	return ctx.Err()
}

// The check of families finds each violation that a search relies on.
func TestFamilyCheck(t *testing.T) {
	for _, what := range []string{"the last", "width", "relation", "cancelling", "no such map", "fitted rows", "twice"} {
		spec := double{breaks: "family members equal separate fits: " + what, calls: new(int)}
		if r := holds(invariant{"", memberIsLoneFit}, spec, Options{Related: []transformer.Fitter{spec}}); !r.failed {
			t.Errorf("%s: a family that violates the invariant passes", what)
		}
	}
}

func (s double) FirstStage() transformer.Fitter {
	switch {
	case s.breaks == "FinishFit equals Fit: another type":
		return stranger{}
	case strings.HasPrefix(s.breaks, "FinishFit equals Fit: another learner"):
		s.breaks += "'s learner"
	}
	return s
}

func (s double) FinishFit(learned transformer.Transformer) (transformer.Transformer, error) {
	f, ok := learned.(*doubled)
	switch {
	case learned == nil && s.breaks == "FinishFit equals Fit: nil", learned != nil && !ok &&
		s.breaks == "FinishFit equals Fit: strange":
		return &doubled{Factor: 2}, nil
	case !ok:
		return nil, errors.New("double: derived from a stranger")
	}
	derived := &doubled{Factor: f.Factor, width: f.width, breaks: f.breaks}
	switch s.breaks {
	case "FinishFit equals Fit":
		derived.Factor = 3
	case "FinishFit equals Fit: state":
		derived.width++
	case "FinishFit equals Fit: what was learned":
		f.Factor = 3
	case "FinishFit equals Fit: an error":
		return nil, errors.New("double: no")
	}
	return derived, nil
}

// The check of two-stage fits finds each violation that a search relies on.
func TestDeriveCheck(t *testing.T) {
	for _, what := range []string{"another type", "another learner", "nil", "strange", "state", "what was learned",
		"an error"} {
		spec := double{breaks: "FinishFit equals Fit: " + what, calls: new(int)}
		if r := holds(invariant{"", derivedIsFitted}, spec, Options{}); !r.failed {
			t.Errorf("%s: a step that violates the invariant passes", what)
		}
	}
}

func (s double) FeatureBytes(rows, cols int) int64 { return 8 * int64(rows) * int64(cols) }

func (s double) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	_, width := data.Dims()
	f := &doubled{Factor: 2, width: width, breaks: s.breaks}
	if s.breaks == "blocks equal rows in memory" {
		err := data.Blocks(ctx, func(block datasets.Set) error {
			f.Factor = float64(block.Rows())
			return nil
		})
		return f, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Start starts the pass of a step that learns its factor from the number of rows; the factor is 2
// without rows.
func (s double) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &counting{cols: cols, name: schema.Name(0), breaks: s.breaks}, nil
}

func (s double) Finish(ctx context.Context, last datasets.Pass) (transformer.Transformer, error) {
	p, ok := last.(*counting)
	if !ok || p.failed || p.cols != 5 {
		return nil, errors.New("double: a pass of another spec")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.rows != 60 {
		return &doubled{Factor: 3, width: p.cols}, nil
	}
	return &doubled{Factor: 2, width: p.cols}, nil
}

// counting is the pass of double.
type counting struct {
	rows, cols int
	name       string
	failed     bool
	breaks     string
}

func (p *counting) Add(ctx context.Context, block datasets.Set) error {
	if p.breaks == "passes can be canceled" {
		ctx = context.Background()
	}
	if p.failed = p.failed || block.Cols() != p.cols; p.failed {
		return errors.New("double: another width")
	}
	p.rows += block.Rows()
	return ctx.Err()
}

func (p *counting) Merge(ctx context.Context, other datasets.Pass) error {
	o, ok := other.(*counting)
	if p.breaks == "only compatible passes merge" {
		return nil
	}
	if !ok || o == p || o.failed || o.cols != p.cols || o.name != p.name {
		return errors.New("double: a pass of another spec")
	}
	p.rows += o.rows
	if p.breaks == "merged parts equal all rows" {
		p.rows--
	}
	return ctx.Err()
}

func (p *counting) Next(ctx context.Context) (datasets.Pass, error) { return nil, ctx.Err() }

func (p *counting) State(s *model.State) {
	cols, failed := p.cols, true
	s.Int("rows", &p.rows)
	s.Int("cols", &cols)
	if p.breaks == "a damaged pass does not panic" && s.Restoring() && p.rows < 0 {
		panic("rows")
	}
	s.Require(cols == p.cols && p.rows >= 0, "double: a pass of another spec")
	if failed = s.Err() != nil; failed {
		p.failed = true
	}
}

type doubled struct {
	Factor float64
	width  int
	breaks string

	mu    sync.Mutex
	calls int
}

func (f *doubled) Training(first int) transformer.Transformer {
	t := &doubled{Factor: f.Factor, width: f.width}
	if f.breaks == "training rows are cross-fitted" {
		t.Factor += float64(first)
	}
	return t
}

func (f *doubled) Inference() transformer.Transformer { return inferring{f} }

// inferring hides Training.
type inferring struct{ transformer.Transformer }

func (f *doubled) OutputWidth() int {
	if f.breaks == "width and schema are correct" {
		return f.width + 1
	}
	return f.width
}

func (f *doubled) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if X == nil {
		return nil, datasets.ErrEmpty
	}
	n, d := X.Dims()
	if n == 0 {
		return nil, datasets.ErrEmpty
	}
	dst := mat.NewDense(n, d, nil)
	if err := f.TransformTo(ctx, dst, X); err != nil {
		return nil, err
	}
	if n == 1 && f.breaks == "a single row equals a row of a batch" {
		dst.Set(0, 0, -1)
	}
	return dst, nil
}

func (f *doubled) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	n, d := X.Dims()
	if d != f.width && f.breaks != "rows of another width are errors" {
		return errors.New("double: 5 columns at fit")
	}
	if dst == nil || dst.IsEmpty() {
		return errors.New("double: no tile")
	}
	if r, c := dst.Dims(); r != n || c != d {
		return errors.New("double: a tile of the wrong size")
	}
	if err := (datasets.Set{X: X}).CheckFinite(); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls++
	third := f.calls == 3
	f.mu.Unlock()
	for i := range n {
		for j := range d {
			v := f.Factor * X.At(i, j)
			if f.breaks == "TransformTo overwrites the destination" {
				v += dst.At(i, j)
			}
			if f.breaks == "concurrent use" && third {
				v = math.Pi
			}
			dst.Set(i, j, v)
		}
	}
	return ctx.Err()
}

func (f *doubled) TransformSingle(ctx context.Context, dst *matrices.Dense32, X mat.Matrix) error {
	Z, err := f.Transform(ctx, X)
	if err != nil {
		return err
	}
	n, d := Z.Dims()
	if dst == nil {
		return errors.New("double: no tile")
	}
	if r, c := dst.Dims(); r != n || c != d {
		return errors.New("double: a tile of the wrong size")
	}
	for i := range n {
		for j := range dst.Row(i) {
			if v := Z.At(i, j); v != 0 || f.breaks != "float32 features match" { // which it takes for written
				dst.Row(i)[j] = float32(v)
			}
		}
	}
	return nil
}

func (f *doubled) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	switch f.breaks {
	case "the exported graph equals the map":
		return g.Mul(rows, g.Scalar(f.Factor+1e-11)), nil
	case "the exported graph equals the map: width":
		return g.Columns(rows, []int{0}), nil
	case "the exported graph equals the map: nothing":
		return graph.Value{}, nil
	case "the exported graph equals the map: refusal":
		return rows, errors.New("double: no")
	}
	return g.Mul(rows, g.Scalar(f.Factor)), nil
}

func (f *doubled) State(s *model.State) {
	if f.breaks != "a restored map is bit-identical" {
		s.Float("factor", &f.Factor)
	}
	s.Int("width", &f.width)
	s.String("breaks", &f.breaks)
	if f.breaks == "a damaged file does not panic" && s.Restoring() && f.width != 5 {
		panic("width")
	}
	s.Require(f.Factor-f.Factor == 0, "factor is not finite")
}

// Every property passes for correct code and fails for broken code.
func TestChecksDetectViolations(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("the invariants of damaged files take long")
	}
	options := Options{}
	for _, l := range invariants {
		if r := holds(l, double{calls: new(int)}, options); r.failed || r.skipped {
			t.Errorf("%s: a step that satisfies the invariant fails or is skipped", l.name)
		}
		if r := holds(l, double{breaks: l.name, calls: new(int)}, options); !r.failed {
			t.Errorf("%s: a step that violates the invariant passes", l.name)
		}
	}
}

// TestExportCheck checks that the check of exports detects each violation.
func TestExportCheck(t *testing.T) {
	invariant := invariants[slices.IndexFunc(invariants,
		func(l invariant) bool { return l.name == "the exported graph equals the map" })]
	for _, way := range []string{"", ": width", ": nothing", ": refusal"} {
		if r := holds(invariant, double{breaks: invariant.name + way, calls: new(int)}, Options{}); !r.failed {
			t.Errorf("%s%s: a step that violates the invariant passes", invariant.name, way)
		}
	}
	if r := holds(invariant, double{calls: new(int)}, Options{Unexported: true}); !r.failed {
		t.Error("a step that can be exported, and is to be refused, passes")
	}
	refusing := double{breaks: invariant.name + ": refusal", calls: new(int)}
	if r := holds(invariant, refusing, Options{Unexported: true}); r.failed {
		t.Error("a step with a reason not to be exported fails")
	}
}
