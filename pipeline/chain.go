package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
	"github.com/bochner-ml/bochner/transformer"
)

// Chain is a sequence of steps, itself a step: each step is fitted to the output of the previous
// one. The zero value has no steps and returns its input.
//
// In a document it is a list called steps: {name: scaled, steps: [impute, standardize]}.
type Chain struct {
	Steps []Step
}

// NewChain returns a chain of specs under their registered names.
func NewChain(fitters ...transformer.Fitter) Chain { return Chain{Steps: Steps(fitters...)} }

// Params declares the parameters of the steps, prefixed by the name of the step.
func (c *Chain) Params(l *param.List) {
	c.Steps = slices.Clone(c.Steps)
	DeclareSteps(l, c.Steps)
}

// Holds describes the list of steps.
func (Chain) Holds() ChildrenSpec {
	return ChildrenSpec{Key: "steps", What: "step", Doc: "the steps, one after the other",
		None: "passes the rows on as they are"}
}

// Children returns the steps.
func (c Chain) Children() []Step { return c.Steps }

// WithChildren returns a chain with other steps.
func (c Chain) WithChildren(steps []Step) transformer.Fitter { return Chain{Steps: steps} }

// Route infers the output of each step from the output of the previous one.
func (c Chain) Route(in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error) {
	return routeChain(c.Steps, in, child), nil
}

func routeChain(steps []Step, in datasets.InferredSchema, child func(i int,
	in datasets.InferredSchema) datasets.InferredSchema) datasets.InferredSchema {
	for i := range steps {
		in = child(i, in)
	}
	return in
}

// Fit fits each step to the rows mapped by the previous ones. Mapped rows are cached in memory up
// to 2 GiB, and recomputed in each pass above it.
func (c Chain) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := c.check(); err != nil {
		return nil, place.Here(err)
	}
	r, err := rows.Of(data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	return c.fit(ctx, r, data.Cols())
}

// FitSource is Fit over a source. Its memory does not grow with the number of rows if every step is
// a [transformer.BlockFitter]; for other steps, the rows are read into memory.
func (c Chain) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	if err := c.check(); err != nil {
		return nil, place.Here(err)
	}
	r, err := rows.From(ctx, data, defaultMemory)
	if err != nil {
		return nil, place.Here(err)
	}
	_, cols := data.Dims()
	return c.fit(ctx, r, cols)
}

func (c Chain) fit(ctx context.Context, r rows.Rows, cols int) (transformer.Transformer, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	fitted, _, err := rows.FitSteps(ctx, named(c.Steps), r, func(i int) rows.Cache {
		if i < len(c.Steps)-1 {
			return rows.Cached
		}
		return rows.NoCache
	})
	if err != nil {
		return nil, err
	}
	return &FittedChain{cols: cols, steps: fitted}, nil
}

func (c Chain) check() error {
	if err := c.Holds().Check(c.Children()); err != nil {
		return err
	}
	return specs.CheckFit(&c)
}

// Tags returns whether every step is data-independent, and whether the width is that of one of them.
func (c Chain) Tags() datasets.Tags {
	return datasets.Tags{DataIndependent: rows.FitWithoutRows(named(c.Steps)), FixedWidth: slices.ContainsFunc(c.Steps,
		func(s Step) bool { return datasets.TagsOf(s.Fitter).FixedWidth })}
}

// FittedChain is a fitted [Chain].
type FittedChain struct {
	cols  int
	steps []*rows.Step
	pool  sync.Pool // of *[]rows.Tile with one tile per step
}

// Training returns the chain for training rows, or nil if every step maps them like other rows.
func (c *FittedChain) Training(first int) transformer.Transformer {
	steps, differs := slices.Clone(c.steps), false
	for i, s := range steps {
		var own bool
		steps[i], own = s.Training(first)
		differs = differs || own
	}
	if !differs {
		return nil
	}
	return &FittedChain{cols: c.cols, steps: steps}
}

// Inference returns the chain without the data that only Training requires.
func (c *FittedChain) Inference() transformer.Transformer { return inference(c.cols, c.steps) }

// inference returns the chain of fitted steps that a model stores.
func inference(cols int, steps []*rows.Step) *FittedChain {
	c := &FittedChain{cols: cols, steps: make([]*rows.Step, len(steps))}
	for i, s := range steps {
		c.steps[i] = s.Inference()
	}
	return c
}

// Len returns the number of steps.
func (c *FittedChain) Len() int { return len(c.steps) }

// Step returns the name of step i and the fitted transformer.
func (c *FittedChain) Step(i int) (name string, fitted transformer.Transformer) {
	return c.steps[i].Name, c.steps[i].Fitted
}

// InputWidth returns the number of input columns.
func (c *FittedChain) InputWidth() int { return c.cols }

// Tags returns the number of input columns.
func (c *FittedChain) Tags() datasets.Tags { return datasets.Tags{InputWidth: c.InputWidth()} }

// OutputWidth returns the number of output columns.
func (c *FittedChain) OutputWidth() int {
	if len(c.steps) == 0 {
		return c.cols
	}
	return c.steps[len(c.steps)-1].Width
}

// OutputSchema returns the schema of the output for the input schema in.
func (c *FittedChain) OutputSchema(in datasets.Schema) datasets.Schema {
	for _, s := range c.steps {
		in = rows.Describe(s.Fitted, in)
	}
	return in
}

// Transform maps the rows of X by all steps.
func (c *FittedChain) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, err := checkInput(X, c.cols)
	if err != nil {
		return nil, err
	}
	var dst *mat.Dense
	if k := len(c.steps); k > 0 && c.steps[k-1].Dense && !c.steps[k-1].Float32 {
		dst = mat.NewDense(n, c.OutputWidth(), nil)
	}
	work := c.work()
	defer c.pool.Put(work)
	Z, err := c.apply(ctx, dst, X, *work)
	if err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	for i := range *work { // the result must not alias a pooled tile
		if own, ok := (*work)[i].CopyOf(Z); ok {
			return own, nil
		}
	}
	return Z, nil
}

// TransformTo overwrites dst, rows of X × OutputWidth, with the mapped rows of X. Sparse results
// are stored as dense ones.
func (c *FittedChain) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	n, err := checkInput(X, c.cols)
	if err != nil {
		return err
	}
	if err := checkTile(dst, n, c.OutputWidth()); err != nil {
		return err
	}
	work := c.work()
	defer c.pool.Put(work)
	Z, err := c.apply(ctx, dst, X, *work)
	if err != nil {
		return err
	}
	if Z != mat.Matrix(dst) {
		rows.Fill(dst, Z, 1)
	}
	return nil
}

// checkInput returns the number of rows of X, or an error if there are none or their number of
// columns is not cols.
func checkInput(X mat.Matrix, cols int) (rows int, err error) {
	if X == nil {
		return 0, place.Here(errors.New("no matrix"))
	}
	rows, now := X.Dims()
	switch {
	case rows == 0:
		return 0, place.Here(errors.New("no rows"))
	case now != cols:
		return 0, place.Here(fmt.Errorf("%d columns at fit, %d now", cols, now))
	}
	return rows, nil
}

func checkTile(dst *mat.Dense, rows, cols int) error {
	if dst == nil {
		return place.Here(fmt.Errorf("no tile for %d×%d features", rows, cols))
	}
	if r, w := dst.Dims(); r != rows || w != cols {
		return place.Here(fmt.Errorf("a tile of %d×%d for %d×%d features", r, w, rows, cols))
	}
	return nil
}

func (c *FittedChain) work() *[]rows.Tile {
	if w, ok := c.pool.Get().(*[]rows.Tile); ok {
		return w
	}
	w := make([]rows.Tile, len(c.steps))
	return &w
}

// apply maps X through all steps, into dst if it is not nil and the last step is dense.
// Intermediate results are stored in work.
func (c *FittedChain) apply(ctx context.Context, dst *mat.Dense, X mat.Matrix, work []rows.Tile) (mat.Matrix, error) {
	if _, err := checkInput(X, c.cols); err != nil {
		return nil, err
	}
	if len(c.steps) == 0 {
		return X, place.Here(checkFinite(X))
	}
	var err error
	for i, s := range c.steps {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		if dst != nil && i == len(c.steps)-1 && !s.Float32 {
			return s.Apply(ctx, dst, X)
		}
		if X, err = s.ApplyTile(ctx, &work[i], X); err != nil {
			return nil, err
		}
	}
	return X, nil
}

// checkFinite returns an error for an infinite value, which no step has checked.
func checkFinite(X mat.Matrix) error {
	if m := textrows.Of(X); m != nil {
		X = m.Dense() // the numbers of strings are finite
	}
	if set := (datasets.Set{X: X}); set.Rows() > 0 {
		return set.Check()
	}
	return nil
}

// widest returns the maximum number of columns of the input and all intermediate results.
func (c *FittedChain) widest() int {
	w := c.cols
	for _, s := range c.steps {
		w = max(w, s.Width)
	}
	return w
}

// State serializes every step under its name.
func (c *FittedChain) State(s *model.State) {
	var names []string
	for _, step := range c.steps {
		names = append(names, step.Name)
	}
	s.Int("columns", &c.cols)
	s.Strings("steps", &names)
	if s.Restoring() {
		s.Require(0 < c.cols && int64(c.cols) <= math.MaxUint32, "a chain has no columns, or more than can be numbered")
		if requireNames(s, names); s.Err() != nil {
			return
		}
		c.steps = make([]*rows.Step, len(names))
		for i := range c.steps {
			c.steps[i] = &rows.Step{Name: names[i]}
		}
	}
	width := c.cols
	for _, step := range c.steps {
		if s.Err() == nil {
			keepStep(s.Child(step.Name), step, width)
			width = step.Width
		}
	}
}

// requireNames requires valid and distinct names of parts.
func requireNames(s *model.State, names []string) {
	sorted := slices.Sorted(slices.Values(names))
	for i, name := range sorted {
		s.Require(suggest.ValidName(name) && (i == 0 || name != sorted[i-1]),
			"the names of the parts are none, or are not distinct")
	}
}

// requireWidth checks the input width of a part against cols. Parts with an unknown width are
// checked by a trial prediction.
func requireWidth(s *model.State, fit any, cols int) {
	if s.Restoring() && s.Err() == nil {
		if w := datasets.TagsOf(fit).InputWidth; w != 0 && w != cols {
			s.Fail("%d columns at fit, %d come to it", w, cols)
		}
	}
}

// keepStep serializes a step, its output width and its form.
func keepStep(st *model.State, s *rows.Step, cols int) {
	st.Int("width", &s.Width)
	st.Bool("dense", &s.Dense)
	if st.Has("single") { // absent in files of versions with float64 only
		st.Bool("single", &s.Float32)
	}
	partState(st, &s.Fitted)
	if st.Restoring() && st.Err() == nil {
		requireWidth(st, s.Fitted, cols)
		st.Require(0 <= s.Width && int64(s.Width) <= math.MaxUint32, "a width is not a number of columns")
		dense, writes := s.Fitted.(transformer.DenseTransformer)
		described, ok := s.Fitted.(transformer.Describer)
		st.Require(!s.Float32 || s.Dense, "features in single precision that are not dense")
		st.Require(!s.Dense || writes && s.Width > 0, "the step does not make dense features")
		st.Require((!ok || described.OutputWidth() == s.Width) && (!writes || dense.OutputWidth() == s.Width),
			"the width is not that of the step")
	}
	if s.Dense {
		st.CheckSize("width", s.Width)
	}
}

// defaultMemory is the default limit of cached mapped rows in bytes: 100,000 rows of 2,048 float64
// features. Reading cached features takes a fraction of the time of recomputing them.
const defaultMemory = 2 << 30
