package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
)

// FittedPipeline is fitted steps and a fitted model. [Pipeline.Fit] returns it within a predictor
// that has the further methods of the model; [Unwrap] finds it there.
type FittedPipeline struct {
	spec      Pipeline // what was fitted
	chain     *FittedChain
	in        datasets.Schema
	precision string // of the pipeline
	name      string // of the model
	model     estimator.Predictor
}

var (
	_ estimator.WholePredictor = (*FittedPipeline)(nil)
	_ model.Stateful           = (*FittedPipeline)(nil)
)

// Spec returns the pipeline that was fitted: after a search the one with the settings it chose, after
// loading the one in the file.
func (p *FittedPipeline) Spec() Pipeline { return p.spec.clone() }

// Chain returns the fitted steps.
func (p *FittedPipeline) Chain() *FittedChain { return p.chain }

// Model returns the fitted model behind the steps and the name it has.
func (p *FittedPipeline) Model() (name string, fitted estimator.Predictor) { return p.name, p.model }

// InputSchema returns the schema of the rows the pipeline was fitted to.
func (p *FittedPipeline) InputSchema() datasets.Schema { return p.in }

// Precision returns [Float64] or [Float32], as the pipeline said.
func (p *FittedPipeline) Precision() string { return p.precision }

// InputWidth returns the number of columns that go in.
func (p *FittedPipeline) InputWidth() int { return p.chain.cols }

// Unwrap returns the FittedPipeline that a predictor made by a [Pipeline] is, or a search over
// pipelines has chosen, or nil where it is another.
func Unwrap(p estimator.Predictor) *FittedPipeline {
	if f, ok := Chosen(p).(interface{ fittedPipeline() *FittedPipeline }); ok {
		return f.fittedPipeline()
	}
	return nil
}

// Chosen returns the model that a search has refitted, p itself where it is not from a search.
func Chosen(p estimator.Predictor) estimator.Predictor {
	for {
		search, ok := p.(interface{ Refitted() estimator.Predictor })
		if !ok {
			return p
		}
		p = search.Refitted()
	}
}

func (p *FittedPipeline) fittedPipeline() *FittedPipeline { return p }

// Predict returns the model's prediction for each row of X. Rows are mapped block by block on all
// cores; a single row makes no garbage beyond the result, as far as its steps and its model make
// none.
func (p *FittedPipeline) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if X == nil {
		return nil, here(errors.New("no matrix"))
	}
	if n, _ := X.Dims(); n == 1 {
		var out []float64
		err := p.mapBlock(ctx, X, 0, 1, func(_ int, Z mat.Matrix) (err error) {
			out, err = p.model.Predict(ctx, Z)
			return err
		})
		return out, err
	}
	var out results
	if err := p.each(ctx, X, &out, whatValues); err != nil {
		return nil, err
	}
	return out.Values, nil
}

// PredictAll returns everything the model says about the rows of X, and maps them once for all of
// it.
func (p *FittedPipeline) PredictAll(ctx context.Context, X mat.Matrix) (estimator.Prediction, error) {
	var out results
	err := p.each(ctx, X, &out, whatAll)
	if err != nil {
		return estimator.Prediction{}, err
	}
	return out.Prediction, nil
}

// what says which parts of a prediction are asked for.
type what int

const (
	whatValues what = 1 << iota
	whatTargets
	whatScores
	whatProbabilities
	whatAll = whatValues | whatTargets | whatScores | whatProbabilities
)

// results is a prediction that blocks of rows are copied into.
type results struct {
	estimator.Prediction
	mu   sync.Mutex
	rows int
}

// each predicts all rows of X, block by block, into out.
func (p *FittedPipeline) each(ctx context.Context, X mat.Matrix, out *results, ask what) error {
	if X == nil {
		return here(errors.New("no matrix"))
	}
	n, _ := X.Dims()
	out.rows = n
	if ask&whatValues != 0 {
		out.Values = make([]float64, n)
	}
	if n == 0 {
		p.nothing(out, ask)
		return nil
	}
	return inBlocks(ctx, n, blockRows(p.chain.widest()), func(lo, hi int) error {
		return p.mapBlock(ctx, X, lo, hi, func(_ int, Z mat.Matrix) error {
			return p.predictBlock(ctx, Z, lo, out, ask)
		})
	})
}

// nothing is the prediction for no rows: what the model has, empty.
func (p *FittedPipeline) nothing(out *results, ask what) {
	_, classifies := p.model.(estimator.Classifier)
	if _, ok := p.model.(estimator.MultiPredictor); ok && !classifies && ask&whatTargets != 0 {
		out.Targets = &mat.Dense{}
	}
	if classifies && ask&whatScores != 0 {
		out.Scores = &mat.Dense{}
	}
	if _, ok := p.model.(estimator.Probabilistic); ok && ask&whatProbabilities != 0 {
		out.Probabilities = &mat.Dense{}
	}
}

// mapBlock hands rows lo to hi of X, mapped into tiles, to use.
func (p *FittedPipeline) mapBlock(ctx context.Context, X mat.Matrix, lo, hi int, use func(lo int, Z mat.Matrix) error) error {
	if _, cols := X.Dims(); cols != p.chain.cols {
		return here(fmt.Errorf("%d columns at fit, %d now", p.chain.cols, cols))
	}
	if n, _ := X.Dims(); lo != 0 || hi != n {
		X = datasets.SliceRows(X, lo, hi)
	}
	work := p.chain.work()
	defer p.chain.pool.Put(work)
	Z, err := p.chain.apply(ctx, nil, X, *work)
	if err == nil {
		err = at("step", p.name, use(lo, Z))
	}
	if err != nil && ctx.Err() == nil {
		return p.diagnose(ctx, err, X, lo)
	}
	return err
}

// diagnose maps X, which begins at row lo, once more to see what made err, and returns err with the
// row and the column where that is a value of X or of what a step made of it.
func (p *FittedPipeline) diagnose(ctx context.Context, err error, X mat.Matrix, lo int) error {
	schema := p.in
	for _, s := range p.chain.steps {
		Z, failed := s.apply(ctx, nil, X)
		if failed != nil {
			break
		}
		X, schema = Z, describe(s.fit, schema)
	}
	return explain(err, datasets.Set{X: X}, schema, lo)
}

// predictBlock puts what the model says about the rows Z, the first of which is row lo, into out.
func (p *FittedPipeline) predictBlock(ctx context.Context, Z mat.Matrix, lo int, out *results, ask what) error {
	if ask&whatValues != 0 {
		values, err := p.model.Predict(ctx, Z)
		if err != nil {
			return err
		}
		copy(out.Values[lo:], values)
	}
	m, ok := p.model.(estimator.MultiPredictor)
	if _, classifies := p.model.(estimator.Classifier); ok && !classifies && ask&whatTargets != 0 {
		block, err := m.PredictTargets(ctx, Z)
		if err := out.put(&out.Targets, lo, block, err); err != nil {
			return err
		}
	}
	if m, ok := p.model.(estimator.Classifier); ok && ask&whatScores != 0 {
		block, err := m.Decision(ctx, Z)
		if err := out.put(&out.Scores, lo, block, err); err != nil {
			return err
		}
	}
	if m, ok := p.model.(estimator.Probabilistic); ok && ask&whatProbabilities != 0 {
		block, err := m.Probabilities(ctx, Z)
		if err := out.put(&out.Probabilities, lo, block, err); err != nil {
			return err
		}
	}
	return nil
}

// put copies a block into rows lo … of *whole, which the first block to come makes.
func (r *results) put(whole **mat.Dense, lo int, block *mat.Dense, err error) error {
	if err != nil {
		return err
	}
	n, k := block.Dims()
	r.mu.Lock()
	if *whole == nil {
		*whole = mat.NewDense(r.rows, k, nil)
	}
	to := *whole
	r.mu.Unlock()
	for i := range n {
		copy(to.RawRowView(lo+i), block.RawRowView(i))
	}
	return nil
}

// blockRows is how many rows of the given width are predicted at once: tiles that stay near a core.
func blockRows(width int) int { return min(max(1<<19/max(width, 1), 128), 2048) }

// inBlocks calls f on consecutive blocks of n rows, on all cores, and returns the first error in
// the order of the rows.
func inBlocks(ctx context.Context, n, size int, f func(lo, hi int) error) error {
	blocks := (n + size - 1) / size
	errs := make([]error, blocks)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			b := int(next.Add(1)) - 1
			if b >= blocks {
				return
			}
			if errs[b] = ctx.Err(); errs[b] == nil {
				errs[b] = f(b*size, min((b+1)*size, n))
			}
			if errs[b] != nil {
				failed.Store(true)
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), blocks) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// dress returns the fitted pipeline as a predictor with the further methods of the fitted model.
func dress(bare FittedPipeline) estimator.Predictor {
	out, inside := suit(bare.model)
	*inside = bare
	return out
}

// suit returns an empty pipeline of the type that has the further methods of fitted.
func suit(fitted estimator.Predictor) (out estimator.Predictor, inside *FittedPipeline) {
	_, multi := fitted.(estimator.MultiPredictor)
	_, classifies := fitted.(estimator.Classifier)
	_, probable := fitted.(estimator.Probabilistic)
	_, reports := fitted.(estimator.Reporter)
	switch {
	case classifies && probable && reports:
		p := &fittedProbabilisticReporter{}
		return p, &p.FittedPipeline
	case classifies && probable:
		p := &fittedProbabilistic{}
		return p, &p.FittedPipeline
	case classifies && reports:
		p := &fittedClassifierReporter{}
		return p, &p.FittedPipeline
	case classifies:
		p := &fittedClassifier{}
		return p, &p.FittedPipeline
	case multi && reports:
		p := &fittedMultiReporter{}
		return p, &p.FittedPipeline
	case multi:
		p := &fittedMulti{}
		return p, &p.FittedPipeline
	case reports:
		p := &fittedReporter{}
		return p, &p.FittedPipeline
	}
	p := &FittedPipeline{}
	return p, p
}

// The types that add the further methods of a model. Their zero values can be restored, and refuse
// the state of a pipeline whose model lacks the methods.
type (
	fittedReporter              struct{ FittedPipeline }
	fittedMulti                 struct{ FittedPipeline }
	fittedMultiReporter         struct{ fittedMulti }
	fittedClassifier            struct{ FittedPipeline }
	fittedClassifierReporter    struct{ fittedClassifier }
	fittedProbabilistic         struct{ fittedClassifier }
	fittedProbabilisticReporter struct{ fittedProbabilistic }
)

func (p *FittedPipeline) report() estimator.Report {
	if r, ok := p.model.(estimator.Reporter); ok {
		return r.Report()
	}
	return estimator.Report{}
}

func (p *fittedReporter) Report() estimator.Report              { return p.report() }
func (p *fittedMultiReporter) Report() estimator.Report         { return p.report() }
func (p *fittedClassifierReporter) Report() estimator.Report    { return p.report() }
func (p *fittedProbabilisticReporter) Report() estimator.Report { return p.report() }

func (p *fittedMulti) PredictTargets(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	var out results
	err := p.each(ctx, X, &out, whatTargets)
	return out.Targets, err
}

func (p *fittedClassifier) Classes() []string {
	if c, ok := p.model.(estimator.Classifier); ok {
		return c.Classes()
	}
	return nil
}

func (p *fittedClassifier) Decision(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	var out results
	err := p.each(ctx, X, &out, whatScores)
	return out.Scores, err
}

func (p *fittedProbabilistic) Probabilities(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	var out results
	err := p.each(ctx, X, &out, whatProbabilities)
	return out.Probabilities, err
}

// State keeps the steps, the schema of the inputs and the model.
func (p *FittedPipeline) State(s *model.State) {
	if s.Reading() {
		p.chain = &FittedChain{}
	}
	p.chain.State(s.Child("steps"))
	s.String("name", &p.name)
	s.String("precision", &p.precision)
	schemaState(s.Child("input"), &p.in)
	if s.Err() == nil {
		partState(s.Child(p.name), &p.model)
	}
	if s.Err() == nil && s.Reading() {
		requireWidth(s.Child(p.name), p.model, p.chain.OutputWidth())
		n := len(p.in.Columns)
		s.Require(n == 0 || n == p.chain.cols, "the schema does not fit the columns")
		s.Require(ValidName(p.name), "the model has no name")
		s.Require(p.precision == Float64 || p.precision == Float32, "the precision is not known")
	}
}

func requireModel[T any](p *FittedPipeline, s *model.State, what string) {
	if s.Err() == nil && s.Reading() {
		_, ok := p.model.(T)
		s.Require(ok, "the model "+what)
	}
}

func (p *fittedReporter) State(s *model.State) {
	p.FittedPipeline.State(s)
	requireModel[estimator.Reporter](&p.FittedPipeline, s, "does not report")
}

func (p *fittedMulti) State(s *model.State) {
	p.FittedPipeline.State(s)
	requireModel[estimator.MultiPredictor](&p.FittedPipeline, s, "has one target")
}

func (p *fittedClassifier) State(s *model.State) {
	p.FittedPipeline.State(s)
	requireModel[estimator.Classifier](&p.FittedPipeline, s, "does not classify")
}

func (p *fittedProbabilistic) State(s *model.State) {
	p.FittedPipeline.State(s)
	requireModel[estimator.Probabilistic](&p.FittedPipeline, s, "has no probabilities")
}

// schemaState keeps a schema.
func schemaState(s *model.State, schema *datasets.Schema) {
	columnsState(s.Child("columns"), &schema.Columns)
	columnsState(s.Child("targets"), &schema.Targets)
}

func columnsState(s *model.State, columns *[]datasets.Column) {
	var names, levels []string
	var counts []int
	for _, c := range *columns {
		names = append(names, c.Name)
		levels = append(levels, c.Levels...)
		count := len(c.Levels)
		if c.Kind == datasets.Numeric {
			count = -1
		}
		counts = append(counts, count)
	}
	s.Strings("names", &names)
	s.Ints("levels", &counts) // of each column, -1 where it is numeric
	s.Strings("level_names", &levels)
	if !s.Reading() || s.Err() != nil {
		return
	}
	if s.Require(len(names) == len(counts), "names and kinds of columns differ in number"); s.Err() != nil {
		return
	}
	var out []datasets.Column
	for i, name := range names {
		c := datasets.Column{Name: name}
		if counts[i] >= 0 {
			if s.Require(counts[i] <= len(levels), "levels are missing"); s.Err() != nil {
				return
			}
			c.Kind = datasets.Categorical
			c.Levels, levels = levels[:counts[i]:counts[i]], levels[counts[i]:]
		}
		out = append(out, c)
	}
	s.Require(len(levels) == 0, "there are more levels than columns have")
	*columns = out
}
