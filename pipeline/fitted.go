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
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// FittedPipeline is a fitted [Pipeline]: fitted steps and a fitted model. It has the outputs of the
// model.
type FittedPipeline struct {
	spec      Pipeline // spec of the fit
	chain     *FittedChain
	in        datasets.Schema
	precision string // of the pipeline
	name      string // of the model
	model     estimator.Predictor
}

// Spec returns the pipeline that was fitted: after a search the one with the parameters it chose, after
// loading the one in the file.
func (p *FittedPipeline) Spec() Pipeline { return p.spec.clone() }

// Chain returns the fitted steps.
func (p *FittedPipeline) Chain() *FittedChain { return p.chain }

// Model returns the name of the fitted model after the steps, and the model.
func (p *FittedPipeline) Model() (name string, fitted estimator.Predictor) { return p.name, p.model }

// InputSchema returns the schema of the rows the pipeline was fitted to.
func (p *FittedPipeline) InputSchema() datasets.Schema { return p.in }

// Precision returns the precision of the pipeline, [Float64] or [Float32].
func (p *FittedPipeline) Precision() string { return p.precision }

// InputWidth returns the number of input columns.
func (p *FittedPipeline) InputWidth() int { return p.chain.cols }

// Tags returns those of the model that do not concern its inputs.
func (p *FittedPipeline) Tags() datasets.Tags {
	out := estimator.FittedTags(p.model)
	out.InputWidth, out.Relevance, out.Terms = p.chain.cols, nil, nil
	return out
}

// Unwrap returns the model after the steps, whose input is their output.
func (p *FittedPipeline) Unwrap() (within estimator.Predictor, sameRows bool) { return p.model, false }

// WithoutThreshold returns the steps with the model without its threshold.
func (p *FittedPipeline) WithoutThreshold() (inner estimator.Predictor, threshold float64, ofProbabilities, ok bool) {
	model, is := p.model.(*meta.FittedThreshold)
	if !is {
		return p, 0, false, false
	}
	out := *p
	out.model, threshold, ofProbabilities, ok = model.WithoutThreshold()
	return &out, threshold, ofProbabilities, ok
}

// Find returns the FittedPipeline that p is or wraps, as the result of a search does; nil if there
// is none.
func Find(p estimator.Predictor) *FittedPipeline {
	var f *FittedPipeline
	estimator.As(p, &f)
	return f
}

// Predict returns the model's prediction for each row of X. Rows are mapped block by block on all
// cores. For a single row only the result is allocated, unless the steps or the model allocate.
func (p *FittedPipeline) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if X == nil {
		return nil, place.Here(errors.New("no matrix"))
	}
	if n, _ := X.Dims(); n == 1 {
		var out []float64
		err := p.mapBlock(ctx, X, 0, 1, func(_ int, Z mat.Matrix) (err error) {
			out, err = predictValues(ctx, p.model, Z)
			return err
		})
		return out, err
	}
	var out results
	err := p.each(ctx, X, &out, func(Z mat.Matrix) (block estimator.Prediction, err error) {
		block.Values, err = predictValues(ctx, p.model, Z)
		return block, err
	})
	if err != nil {
		return nil, err
	}
	if out.Values == nil {
		out.Values = []float64{}
	}
	return out.Values, nil
}

// predictValues returns the values of a model, one for each row of Z.
func predictValues(ctx context.Context, p estimator.Predictor, Z mat.Matrix) (out []float64, err error) {
	defer guard.Recover(&err, p, "Predict")
	out, err = p.Predict(ctx, Z)
	if n, _ := Z.Dims(); err == nil && len(out) != n {
		return nil, fmt.Errorf("%T.Predict must return a value for each of %d rows, got %d", p, n, len(out))
	}
	return out, err
}

// PredictSet is Predict for the rows of data, whose columns must have the names, kinds and
// categories of those of the fit: codes of other categories would give wrong predictions without an
// error. Predict of a modelfile.Model aligns the rows first.
func (p *FittedPipeline) PredictSet(ctx context.Context, data datasets.Set) ([]float64, error) {
	if err := p.in.CheckColumns(data.Schema); err != nil {
		return nil, place.Here(err)
	}
	return p.Predict(ctx, data.X)
}

// Outputs returns the outputs of the model.
func (p *FittedPipeline) Outputs() estimator.Outputs { return estimator.OutputsOf(p.model) }

// PredictFull returns the requested outputs of the model for the rows of X. It maps each row once.
func (p *FittedPipeline) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	var out results
	err := p.each(ctx, X, &out, func(Z mat.Matrix) (estimator.Prediction, error) {
		return estimator.Predict(ctx, p.model, Z, want)
	})
	if err == nil && out.rows == 0 {
		return estimator.Predict(ctx, p.model, &mat.Dense{}, want)
	}
	return out.Prediction, err
}

// results is a prediction that blocks of rows are copied into.
type results struct {
	estimator.Prediction
	mu   sync.Mutex
	rows int
}

// each predicts all rows of X, block by block, into out.
func (p *FittedPipeline) each(ctx context.Context, X mat.Matrix, out *results,
	predict func(Z mat.Matrix) (estimator.Prediction, error)) error {
	if X == nil {
		return place.Here(errors.New("no matrix"))
	}
	if out.rows, _ = X.Dims(); out.rows == 0 {
		return nil
	}
	return inBlocks(ctx, out.rows, blockRows(p.chain.widest()), func(lo, hi int) error {
		return p.mapBlock(ctx, X, lo, hi, func(_ int, Z mat.Matrix) error {
			block, err := predict(Z)
			if err == nil {
				out.mu.Lock()
				defer out.mu.Unlock()
				out.Put(block, out.rows, func(k int) int { return lo + k })
			}
			return err
		})
	})
}

// mapBlock maps rows lo to hi of X into tiles and passes them to use.
func (p *FittedPipeline) mapBlock(ctx context.Context, X mat.Matrix, lo, hi int,
	use func(lo int, Z mat.Matrix) error) error {
	if _, cols := X.Dims(); cols != p.chain.cols {
		return place.Here(fmt.Errorf("%d columns at fit, %d now", p.chain.cols, cols))
	}
	if n, _ := X.Dims(); lo != 0 || hi != n {
		X = rowblock.Slice(X, lo, hi)
	}
	work := p.chain.work()
	defer p.chain.pool.Put(work)
	Z, err := p.chain.apply(ctx, nil, X, *work)
	if err == nil {
		err = place.At("step", p.name, use(lo, Z))
	}
	if err != nil && ctx.Err() == nil {
		return p.diagnose(ctx, err, X, lo)
	}
	return err
}

// diagnose maps X, which begins at row lo, again to locate the cause of err, and returns err with
// the row and the column of the offending value.
func (p *FittedPipeline) diagnose(ctx context.Context, err error, X mat.Matrix, lo int) error {
	schema := p.in
	for _, s := range p.chain.steps {
		Z, failed := s.Apply(ctx, nil, X)
		if failed != nil {
			break
		}
		X, schema = Z, rows.Describe(s.Fitted, schema)
	}
	return rows.Explain(err, datasets.Set{X: X}, schema, lo)
}

// blockRows returns the number of rows of the given width that are predicted at a time, such that
// tiles fit in the cache of a core.
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
			if errs[b] = ctxerr.Check(ctx); errs[b] == nil {
				errs[b] = f(b*size, min((b+1)*size, n))
			}
			if errs[b] != nil {
				failed.Store(true)
			}
		}
	}
	var others guard.Group
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

// State keeps the steps, the schema of the inputs and the model.
func (p *FittedPipeline) State(s *model.State) {
	if s.Restoring() {
		p.chain = &FittedChain{}
	}
	p.chain.State(s.Child("steps"))
	s.String("name", &p.name)
	if s.Has("precision") {
		s.String("precision", &p.precision)
	} else { // files of earlier versions
		p.precision = Float64
	}
	schemaState(s.Child("input"), &p.in)
	if s.Err() == nil {
		KeepPredictor(s.Child(p.name), &p.model)
	}
	if s.Err() == nil && s.Restoring() {
		requireWidth(s.Child(p.name), p.model, p.chain.OutputWidth())
		n := len(p.in.Columns)
		s.Require(n == 0 || n == p.chain.cols, "the schema does not fit the columns")
		s.Require(suggest.ValidName(p.name), "the model has no name")
		s.Require(p.precision == Float64 || p.precision == Float32, "the precision is not known")
	}
}

// schemaState keeps a schema.
func schemaState(s *model.State, schema *datasets.Schema) {
	columnsState(s.Child("columns"), &schema.Columns)
	columnsState(s.Child("targets"), &schema.Targets)
}

func columnsState(s *model.State, columns *[]datasets.Column) {
	var names, levels, formats, origins []string
	var counts, originKinds []int
	plain, encoded := true, false
	for _, c := range *columns {
		names, formats = append(names, c.Name), append(formats, c.Format.String())
		plain = plain && c.Format == datasets.Format{}
		origins, originKinds = append(origins, c.EncodedFrom), append(originKinds, int(c.EncodedKind))
		encoded = encoded || c.EncodedFrom != ""
		levels = append(levels, c.Categories...)
		count := len(c.Categories)
		switch c.Kind {
		case datasets.Numeric:
			count = -1
		case datasets.Text:
			count = -2 - len(c.Categories)
		}
		counts = append(counts, count)
	}
	s.Strings("names", &names)
	s.Ints("levels", &counts) // of each column, -1 where it is numeric, -2-n where it is text
	s.Strings("level_names", &levels)
	if !s.Restoring() && !plain || s.Restoring() && s.Has("formats") {
		s.Strings("formats", &formats)
	} else {
		formats = make([]string, len(names))
	}
	if !s.Restoring() && encoded || s.Restoring() && s.Has("origins") {
		s.Strings("origins", &origins)
		s.Ints("origin_kinds", &originKinds)
	} else {
		origins, originKinds = make([]string, len(names)), make([]int, len(names))
	}
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if s.Require(len(names) == len(counts) && len(names) == len(formats) && len(names) == len(origins) &&
		len(names) == len(originKinds), "names and kinds of columns differ in number"); s.Err() != nil {
		return
	}
	var out []datasets.Column
	for i, name := range names {
		format, err := datasets.Format{}.Parse(formats[i])
		c, count := datasets.Column{Name: name, Format: format, EncodedFrom: origins[i]}, counts[i]
		c.EncodedKind = datasets.Kind(originKinds[i])
		if count >= 0 {
			c.Kind = datasets.Categorical
		} else if count < -1 {
			c.Kind, count = datasets.Text, -2-count
		}
		if s.Require(count <= len(levels) && err == nil && c.EncodedKind >= datasets.Numeric &&
			c.EncodedKind <= datasets.Text, "levels or formats are missing"); s.Err() != nil {
			return
		}
		if count > 0 {
			c.Categories, levels = levels[:count:count], levels[count:]
		}
		out = append(out, c)
	}
	s.Require(len(levels) == 0, "there are more levels than columns have")
	*columns = out
}
