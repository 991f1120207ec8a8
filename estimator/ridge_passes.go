package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pass"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// A ridge regression by the Gram matrix is one pass of sums. Where the solution of these is not right
// enough (see refine.go) other passes follow: one in double precision, where products were summed in
// single; up to three that sharpen the factor of the system; up to four that refine the weights.
const (
	summing = iota
	sharpening
	refining
)

// ridgeSums are the sums of one of these passes. What earlier passes have found is not changed by later
// ones, and may be shared.
type ridgeSums struct {
	Ridge
	cols  int
	block blockOf
	stage int
	round int  // of sharpening or refining
	wide  bool // whether rows of single precision are summed in double

	classes []string  // whose codes are the targets; nil for a regression
	mass    []float64 // the weight of each in the first pass over the rows, nil where that is known

	sums  *moments // of this or an earlier pass; nil before the first rows
	given *moments // the sums in single precision, where wide takes their place

	seen int       // rows of a pass that is not the first over them
	f    *factor   // so far
	gram []float64 // Σ of what sharpens the factor
	w    []float64 // to be refined
	g    *gradient // there

	step *ridgeStep // what follows, once it is known
}

// blockOf returns the targets, rows × count, and weights, nil for ones, of a block that begins at row first.
type blockOf func(first int, block datasets.Set) (y []float64, count int, weights []float64, err error)

// ridgeStep is what follows a pass: another one, or the solution.
type ridgeStep struct {
	next   *ridgeSums
	w      []float64
	f      *factor // nil where the system is singular
	report Report
}

func (s Ridge) sums(cols int, block blockOf) *ridgeSums {
	return &ridgeSums{Ridge: s, cols: cols, block: block}
}

func (r *ridgeSums) add(ctx context.Context, first int, block datasets.Set) error {
	r.step = nil
	if r.wide {
		return whileWide(block.X, func(X mat.Matrix) error {
			block.X = X
			return r.addRows(ctx, first, block)
		})
	}
	return r.addRows(ctx, first, block)
}

func (r *ridgeSums) addRows(ctx context.Context, first int, block datasets.Set) error {
	y, count, weights, err := r.block(first, block)
	if err != nil {
		return err
	}
	if r.stage == summing && r.sums == nil {
		r.sums = newMoments(r.cols, count, r.Intercept)
	}
	if count != r.sums.targets {
		return fmt.Errorf("rows from %d: %d targets, wanted %d", first, count, r.sums.targets)
	}
	switch r.stage {
	case summing:
		if err := r.countClasses(first, block); err != nil {
			return err
		}
		if r.sums.add(ctx, block.X, y, weights) != nil {
			return orEnded(ctx, nameFault(first, block))
		}
	case sharpening:
		r.seen += block.Rows()
		return r.addTiles(ctx, block.X, weights)
	case refining:
		r.seen += block.Rows()
		return whileWide(block.X, func(X mat.Matrix) error {
			r.g.add(X, slices.Clone(y), r.w, intercepts(r.w, r.sums.mean(), r.sums.targetMean()), weights)
			return ctx.Err()
		})
	}
	return nil
}

// countClasses adds the weights of the rows to those of their classes.
func (r *ridgeSums) countClasses(first int, block datasets.Set) error {
	if r.mass == nil || r.wide {
		return nil
	}
	c := &counts{named: r.classes, mass: r.mass}
	return c.add(first, block)
}

// addTiles adds the Gram matrix of the centred rows, each times the root of its weight and solved by the
// factor.
func (r *ridgeSums) addTiles(ctx context.Context, X mat.Matrix, weights []float64) error {
	const size = 512
	d, mean := r.cols, r.sums.mean()
	n, _ := X.Dims()
	hold := borrow[float64](min(n, size) * d)
	defer hold.release()
	for lo := 0; lo < n; lo += size {
		hi := min(lo+size, n)
		tile := kern.Dense(hi-lo, d, d, hold.list)
		for i := range hi - lo {
			row := tile.Row(i)
			writeRow(row, X, lo+i)
			kern.Axpy(-1, mean, row)
			if weights != nil {
				kern.Scale(math.Sqrt(weights[lo+i]), row)
			}
		}
		kern.SolveLower(ctx, kern.Dense(d, d, d, r.f.lower), tile.T())
		kern.Gram(ctx, kern.Dense(d, d, d, r.gram), tile, nil)
	}
	return ctx.Err()
}

func (r *ridgeSums) merge(_ context.Context, other rowSums) error {
	o := other.(*ridgeSums)
	r.step = nil
	if r.stage != o.stage || r.round != o.round || r.wide != o.wide {
		return errOtherRows
	}
	if r.stage == summing {
		if o.sums == nil {
			return nil
		}
		if r.sums == nil {
			r.sums = newMoments(r.cols, o.sums.targets, r.Intercept)
		}
		if r.sums.targets != o.sums.targets {
			return fmt.Errorf("%d targets, wanted %d", o.sums.targets, r.sums.targets)
		}
		r.sums.merge(o.sums)
		if r.mass != nil && !r.wide {
			kern.Axpy(1, o.mass, r.mass)
		}
		return nil
	}
	if r.sums.rows != o.sums.rows || r.sums.weight != o.sums.weight || !slices.Equal(r.w, o.w) {
		return errOtherRows
	}
	r.seen += o.seen
	if r.stage == sharpening {
		kern.Axpy(1, o.gram, r.gram)
		return nil
	}
	kern.Axpy(1, o.g.inputs, r.g.inputs)
	kern.Axpy(1, o.g.sum, r.g.sum)
	kern.Axpy(1, o.g.squares, r.g.squares)
	return nil
}

func (r *ridgeSums) next(ctx context.Context) (rowSums, error) {
	step, err := r.follow(ctx)
	if err != nil || step.next == nil {
		return nil, err
	}
	return step.next.fresh(), nil
}

// fresh returns a pass that is begun like this one, which has no rows, with sums of its own.
func (r *ridgeSums) fresh() *ridgeSums {
	next := *r
	switch r.stage {
	case sharpening:
		next.gram = make([]float64, r.cols*r.cols)
	case refining:
		next.g = newGradient(r.cols, r.sums.targets)
	}
	return &next
}

// follow returns what follows the pass.
func (r *ridgeSums) follow(ctx context.Context) (*ridgeStep, error) {
	if r.step != nil {
		return r.step, ctx.Err()
	}
	if r.sums == nil {
		return nil, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	}
	if r.stage != summing && r.seen != r.sums.rows {
		return nil, fmt.Errorf("%w: %d rows when read before, %d now", errOtherRows, r.sums.rows, r.seen)
	}
	if r.sums.weight == 0 {
		return nil, errors.New("every weight is 0")
	}
	if r.mass != nil {
		if err := severalClasses(r.classes, r.mass); err != nil {
			return nil, err
		}
	}
	var step *ridgeStep
	var err error
	switch r.stage {
	case summing:
		step, err = r.afterSums(ctx)
	case sharpening:
		step, err = r.afterSharpening(ctx)
	default:
		step, err = r.afterRefining(ctx)
	}
	if err = orEnded(ctx, err); err != nil {
		return nil, err
	}
	r.step = step
	return step, nil
}

// precision is what is to be expected of the sums.
func (r *ridgeSums) precision() precision { return precisionOf(r.sums.single) }

// afterSums solves for the sums, by the factor of their system, which is to be sharpened where refinements
// with the factor as it is would not do. Sums in single precision that do not do are made again in double.
func (r *ridgeSums) afterSums(ctx context.Context) (*ridgeStep, error) {
	m, w := r.sums, r.sums.rightSide()
	f, ok := m.factorise(ctx, r.Alpha)
	enough := r.precision()
	if ok {
		if err := f.solve(ctx, w, m.targets); err != nil {
			return nil, err
		}
		var size float64
		least := leastPivot(f.lower, f.cols)
		if size, f.left = enough.roughness(w, m.spreads(), m.trace(), least); size*m.reach(least) <= enough.visible {
			return &ridgeStep{w: w, f: f, report: Report{Solver: "cholesky", Converged: true}}, nil
		}
	}
	switch {
	case ok && f.left < contraction:
		return r.refineBy(f, w, 1), nil
	case m.single:
		return r.inDouble(), nil
	case !ok && r.Alpha == 0:
		return r.bySingular(ctx)
	}
	trace := 0.0
	f = &factor{cols: m.cols, lower: make([]float64, m.cols*m.cols), fixed: m.fixed(m.cols)}
	m.system(f.lower, 0)
	for i := range m.cols {
		trace += f.lower[i*m.cols+i]
	}
	addDiagonal(f.lower, m.cols, r.Alpha+float64(m.cols)*epsilon*trace)
	if !cholesky(ctx, f.lower, m.cols) {
		return r.bySingular(ctx)
	}
	return r.sharpenBy(f, 1), nil
}

// after returns a pass over the same rows without any yet.
func (r *ridgeSums) after(stage, round int) *ridgeSums {
	return &ridgeSums{Ridge: r.Ridge, cols: r.cols, block: r.block, stage: stage, round: round, wide: r.wide, classes: r.classes, mass: r.mass, sums: r.sums, given: r.given}
}

func (r *ridgeSums) inDouble() *ridgeStep {
	next := r.after(summing, 0)
	next.wide, next.given, next.sums = true, r.sums, nil
	return &ridgeStep{next: next}
}

func (r *ridgeSums) sharpenBy(f *factor, round int) *ridgeStep {
	next := r.after(sharpening, round)
	next.f = f
	return &ridgeStep{next: next}
}

func (r *ridgeSums) refineBy(f *factor, w []float64, round int) *ridgeStep {
	next := r.after(refining, round)
	next.f, next.w = f, w
	return &ridgeStep{next: next}
}

// bySingular solves a singular system.
func (r *ridgeSums) bySingular(ctx context.Context) (*ridgeStep, error) {
	m, w := r.sums, r.sums.rightSide()
	system := make([]float64, m.cols*m.cols)
	m.system(system, r.Alpha)
	clearFixed(m.fixed(m.cols), w, m.targets)
	rank, err := leastNorm(ctx, system, m.cols, w, m.targets)
	report := Report{Solver: "eigenvectors", Converged: true, Warnings: []string{singularWarning(r.Alpha, rank, m.cols)}}
	return &ridgeStep{w: w, report: report}, err
}

// afterSharpening multiplies the factor by that of what was added up, and refines with it where it is
// sharp.
func (r *ridgeSums) afterSharpening(ctx context.Context) (*ridgeStep, error) {
	k := r.cols
	rest := slices.Clone(r.gram)
	penalty := make([]float64, k*k)
	addDiagonal(penalty, k, math.Sqrt(r.Alpha))
	tile := kern.Dense(k, k, k, penalty)
	kern.SolveLower(ctx, kern.Dense(k, k, k, r.f.lower), tile.T())
	kern.Gram(ctx, kern.Dense(k, k, k, rest), tile, nil)
	if !cholesky(ctx, rest, k) {
		return r.bySingular(ctx)
	}
	f := &factor{cols: k, lower: make([]float64, k*k), fixed: r.f.fixed}
	kern.Mul(kern.Dense(k, k, k, f.lower), kern.Dense(k, k, k, r.f.lower), kern.Dense(k, k, k, rest), false)
	f.left = 4 * epsilon * float64(k) / leastPivot(rest, k)
	switch {
	case f.left <= sharp:
		w := r.sums.rightSide()
		if err := f.solve(ctx, w, r.sums.targets); err != nil {
			return nil, err
		}
		return r.refineBy(f, w, 1), nil
	case r.round < sharpenings:
		return r.sharpenBy(f, r.round+1), nil
	}
	return r.bySingular(ctx)
}

// afterRefining improves the weights by what was added up, and says what may be left of their error: where
// sums in single precision leave too much, they are made again in double.
func (r *ridgeSums) afterRefining(ctx context.Context) (*ridgeStep, error) {
	m, enough := r.sums, r.precision()
	least, floor := leastPivot(r.f.lower, r.cols), 0.0
	spreads := m.spreads()
	if m.short() {
		for j, spread := range spreads {
			if spread > 0 {
				floor = max(floor, epsilon*m.trace()/least*math.Sqrt(r.g.squares[j]/spread))
			}
		}
	}
	step, size := r.g.step(r.w, 0, spreads, m.mean(), r.Alpha, func(b []float64) { r.f.solve(ctx, b, m.targets) })
	w := slices.Clone(r.w)
	kern.Axpy(1, step, w)
	left := r.f.left * size * m.reach(least)
	switch {
	case !refined(left, enough.visible) && r.round < refinements:
		return r.refineBy(r.f, w, r.round+1), nil
	case left > enough.visible && m.single:
		return r.inDouble(), nil
	}
	report := Report{Solver: "cholesky", Converged: true}
	report.warnOfRounding(r.Alpha, left, floor, enough.visible)
	return &ridgeStep{w: w, f: r.f, report: report}, nil
}

// first returns the sums of the first pass.
func (r *ridgeSums) first() *moments {
	if r.given != nil {
		return r.given
	}
	return r.sums
}

// model returns the solution of the last pass as a model.
func (r *ridgeSums) model(ctx context.Context) (linear, error) {
	step, err := r.follow(ctx)
	if err != nil {
		return linear{}, err
	}
	m, w, report := r.first(), step.w, step.report
	report.Warnings = slices.Clone(report.Warnings)
	if m.single {
		report.warnOfBlur(r.Alpha, blur(w, m.meanSquares(m.cols), m.spreads(), m.weight))
	}
	report.Objective = max(0, m.spread()-kern.Dot(w, m.rightSide()))
	return newLinear(w, intercepts(w, m.mean(), m.targetMean()), report)
}

func (r *ridgeSums) state(s *model.State) {
	r.step = nil
	empty, twice := r.sums == nil, r.given != nil
	s.Int("stage", &r.stage)
	s.Int("round", &r.round)
	s.Bool("wide", &r.wide)
	s.Bool("empty", &empty)
	s.Bool("twice", &twice)
	s.Require(r.stage >= summing && r.stage <= refining && r.round >= 0 && r.round <= refinements, "there is no such pass")
	if r.mass != nil {
		pass.Floats(s, "mass", &r.mass, len(r.mass), pass.Count)
	}
	s.Require(r.wide == twice && (!empty || r.stage == summing), "the pass and its sums do not fit")
	if s.Err() != nil {
		return
	}
	if s.Reading() {
		r.sums, r.given, r.f, r.g = nil, nil, nil, nil
	}
	if !empty {
		r.sums = r.stateOf(s.Child("moments"), r.sums)
	}
	if twice {
		r.given = r.stateOf(s.Child("given"), r.given)
		s.Require(s.Err() != nil || r.given.single && (empty || r.given.targets == r.sums.targets), "the sums in single precision do not fit")
	}
	if r.stage == summing || s.Err() != nil {
		return
	}
	s.Int("seen", &r.seen)
	s.Require(r.seen >= 0, "less than no rows were read")
	if r.f == nil {
		r.f = &factor{}
	}
	r.f.state(s.Child("factor"), r.cols)
	if r.stage == sharpening {
		pass.Floats(s, "gram", &r.gram, r.cols*r.cols, pass.Finite)
		return
	}
	if r.g == nil {
		r.g = newGradient(r.cols, r.sums.targets)
	}
	t := r.sums.targets
	pass.Floats(s, "weights", &r.w, r.cols*t, pass.Finite)
	pass.Floats(s, "inputs", &r.g.inputs, r.cols*t, pass.Finite)
	pass.Floats(s, "errors", &r.g.sum, t, pass.Finite)
	pass.Floats(s, "squares", &r.g.squares, t, pass.Count)
}

// stateOf carries moments, or reads them.
func (r *ridgeSums) stateOf(s *model.State, m *moments) *moments {
	if s.Reading() {
		m = readMoments(r.cols)
	}
	m.state(s)
	if r.classes != nil {
		want := len(r.classes)
		if want == 2 {
			want = 1
		}
		s.Require(m.targets == want, "the targets are not the classes")
	}
	s.Require(m.centred == r.Intercept && m.targets >= 1, "the moments are not those of the spec")
	return m
}

// byPasses solves by passes over the rows.
func (p *ridgeProblem) byPasses(ctx context.Context) (linear, error) {
	sums := &learning{schema: p.rows.schema, cols: p.rows.cols, sums: p.sums(p.rows.cols, p.block)}
	first := pass.Begin(pass.Begun{Spec: p.Ridge, Schema: p.rows.schema, Cols: p.rows.cols}, sums)
	last, err := datasets.Learn(ctx, first, blockSource{p.rows})
	switch {
	case errors.Is(err, datasets.ErrEmpty):
		return linear{}, fmt.Errorf("%w: no rows", datasets.ErrEmpty)
	case err != nil:
		return linear{}, err
	}
	r, err := finished[*ridgeSums](ctx, "", p.Ridge, last)
	if err != nil {
		return linear{}, err
	}
	return r.model(ctx)
}

// checkPasses reports what is wrong with spec, and a solver that does not go by passes of sums.
func (s Ridge) checkPasses(name string, spec any, schema datasets.Schema, cols int) error {
	if err := param.CheckFit(spec); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if way := s.way(-1, cols, false); way != "cholesky" {
		return fmt.Errorf("%s: %w: solver %s goes by %s for %d columns, which needs all rows at once; set solver: cholesky", name, datasets.ErrNoPasses, s.Solver, way, cols)
	}
	shape := datasets.Shape{Rows: 0, Cols: cols, Outputs: schema.Outputs(), Columns: schema.Columns}
	if err := room(Ridge{Alpha: s.Alpha, Intercept: s.Intercept, Solver: "cholesky"}, shape); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Start begins the pass of sums, for solver cholesky or, up to 16384 columns, auto. Others follow only
// where the solution has to be refined. More rows can be added to the first pass at any time: the model is
// then, but for rounding, the one of all rows, at no cost but that of their products.
func (s Ridge) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	const name = "estimator: ridge"
	if err := s.checkPasses(name, s, schema, cols); err != nil {
		return nil, err
	}
	if err := forNumbers(schema, "ridge"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return begin(ctx, name, s, schema, cols, s.sums(cols, givenTargets))
}

// givenTargets are the targets and weights of a block as they are.
func givenTargets(first int, block datasets.Set) (y []float64, count int, weights []float64, err error) {
	if y, count, err = blockTargets(first, block); err != nil {
		return nil, 0, nil, err
	}
	weights, err = blockWeights(first, block)
	return y, count, weights, err
}

// Finish returns the [*FittedLinear] that solves for the sums.
func (s Ridge) Finish(ctx context.Context, last datasets.Pass) (Predictor, error) {
	const name = "estimator: ridge"
	sums, err := finished[*ridgeSums](ctx, name, s, last)
	if err != nil {
		return nil, err
	}
	model, err := sums.model(ctx)
	if err = orEnded(ctx, err); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &FittedLinear{model}, nil
}
