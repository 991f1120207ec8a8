package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// TargetEncode replaces each category, also each name ([datasets.Format]), by the mean target of its
// training rows, shrunk towards the mean target ȳ of all rows:
//
//	z(c) = λ_c·ȳ_c + (1 − λ_c)·ȳ
//
// For Smooth = m, λ_c = n_c/(n_c + m), where n_c is the number of rows of the category.
// autoSmooth uses the empirical Bayes estimate λ_c = n_c·σ²/(n_c·σ² + σ_c²), where σ² is the
// variance of the targets and σ_c² that within the category. A category that is not in the schema
// ([datasets.Unknown]), or has no training rows, becomes ȳ. Missing values form a separate
// category.
//
// With two classes the target is 1 for the second class. With more classes or several targets, each
// input has one output per class (1 for rows of the class) or per target.
//
// A row's own target must not enter its encoding (target leakage): categories with few rows would
// fit the training rows well and generalize badly. Training rows are therefore cross-fitted: they
// are divided at random into Folds folds, and each fold is encoded by the rows of the other folds.
// Pipelines and searches do so, see [TrainingTransformer]; without a pipeline, use FitTransform.
// The fold of a row depends on Seed and the index of the row. A fit over several parts numbers the
// rows of each part from 0, so its folds depend on the partition; those of "bochner shard" do not
// depend on the number of shards.
//
// Shapes: n×d → n×d, dense, or n×(d·k) with k > 2 classes or targets, grouped by input. Cost: one
// pass of O(n·d) with O(Folds·k) numbers per category; O(n·d·k) to encode. Sample weights are
// ignored, except that rows of weight 0 are excluded.
//
// Sources: Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes",
// SIGKDD Explorations 2001; scikit-learn's TargetEncoder, whose folds differ.
//
// Fit returns an error for a numeric column, a number that is not a category code, rows without
// targets, a missing target, and if every weight is 0.
// Use [NewTargetEncode]: the zero value is invalid.
type TargetEncode struct {
	Smooth float64 // m ≥ 0, or -1: estimated for each category
	Folds  int
	Seed   uint64
}

// autoSmooth estimates the shrinkage of [TargetEncode] for each category.
const autoSmooth = -1

// NewTargetEncode returns the spec with automatic shrinkage and 5 folds.
func NewTargetEncode() TargetEncode { return TargetEncode{Smooth: autoSmooth, Folds: 5} }

// targetSmooth adapts [TargetEncode].Smooth to a parameter.
type targetSmooth struct{ value *float64 }

func (p targetSmooth) Set(plain any) error {
	*p.value = math.NaN()
	switch v := plain.(type) {
	case string:
		if v == "auto" {
			*p.value = autoSmooth
		}
	case int:
		*p.value = fixedSmooth(float64(v))
	case float64:
		*p.value = fixedSmooth(v)
	}
	return p.Check()
}

// fixedSmooth maps autoSmooth, which is no valid number m, to NaN.
func fixedSmooth(v float64) float64 {
	if v == autoSmooth {
		return math.NaN()
	}
	return v
}

func (p targetSmooth) Get() any {
	if *p.value == autoSmooth {
		return "auto"
	}
	return *p.value
}

func (p targetSmooth) Constraint() string { return "auto, or a number ≥ 0" }

func (p targetSmooth) Check() error {
	if *p.value == autoSmooth || param.AtLeast(0).Contains(*p.value) {
		return nil
	}
	return errors.New(p.Constraint())
}

// Params declares smooth, folds and seed.
func (s *TargetEncode) Params(l *param.List) {
	l.Value(targetSmooth{&s.Smooth}, "smooth",
		"weight of the overall mean, as a number of rows; auto estimates it for each category")
	l.MorePenalty("smooth")
	l.Int(&s.Folds, "folds", "number of cross-fitting folds: the training rows of a fold are encoded by those of "+
		"the other folds", param.Between(2, 100))
	l.Seed(&s.Seed, "seed", "seed of the folds")
}

// Fit computes the encodings.
func (s TargetEncode) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "target_encode", s, data)
}

// FitTransform returns the fitted step and the cross-fitted encodings of the rows of data.
func (s TargetEncode) FitTransform(ctx context.Context, data datasets.Set) (Transformer, mat.Matrix, error) {
	f, err := s.Fit(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	Z, err := f.(*fittedTargetEncode).Training(0).Transform(ctx, data.X)
	if err != nil {
		return nil, nil, err
	}
	return f, Z, nil
}

// FitSource is Fit over a source. It makes one pass.
func (s TargetEncode) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the only pass, which sums the targets of every category in each fold.
func (s TargetEncode) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := checkSpec("target_encode", s); err != nil {
		return nil, err
	}
	if len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, fmt.Errorf("transformer: target_encode: the schema names %d columns, the rows have %d",
			len(schema.Columns), cols)
	}
	levels, err := categoricalLevels("target_encode", schema, cols, false)
	if err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	sums := &targetSums{spec: s, schema: schema, levels: levels, first: firstTargetCells(levels),
		labels: labelColumns(schema, cols), classes: schema.Classes()}
	if err := memory.Check(s.bytes(sums.cells(), schema.Outputs())); err != nil {
		return nil, fmt.Errorf("transformer: target_encode: %w", err)
	}
	return pass.Begin(pass.Config{Name: "transformer: target_encode", Spec: s, Schema: schema, Cols: cols}, sums), nil
}

// Finish returns the fitted step.
func (s TargetEncode) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	all, _, err := pass.Last(ctx, "transformer: target_encode", s, last)
	if err != nil {
		return nil, err
	}
	return all.(*targetSums).fitted()
}

// firstTargetCells returns the offset of each column's cells: one for each category, one for
// missing values, and one for unknown values.
func firstTargetCells(levels []int) []int {
	padded := slices.Clone(levels)
	for j := range padded {
		padded[j] += 2
	}
	return firstCodes(padded)
}

// targetCell returns the index of a code among the cells of its column.
func targetCell(code, levels int) int {
	switch code {
	case missingCode:
		return levels
	case datasets.Unknown:
		return levels + 1
	}
	return code
}

// targetSums accumulates moments of the targets per fold and cell; the last cell of a fold contains
// all rows. Element (fold·cells + cell)·outputs + output belongs to an output.
type targetSums struct {
	spec          TargetEncode
	schema        datasets.Schema
	levels, first []int
	labels        []labelColumn // of names; nil if there are none
	classes       []string      // nil for numeric targets

	outputs int       // 0 before the first block
	count   []float64 // number of rows of each cell
	mean    []float64 // mean of numeric targets, or number of rows of a class
	squares []float64 // Σ(y − mean)² of numeric targets
}

// cells returns the number of cells of a fold, including the cell of all rows.
func (t *targetSums) cells() int { return t.first[len(t.levels)] + 1 }

// allocate allocates the sums for the given number of targets.
func (t *targetSums) allocate(targets int) {
	t.outputs = targets
	if k := len(t.classes); k > 0 {
		t.outputs = (&design.Labels{Classes: t.classes}).Outputs()
	}
	n := t.spec.Folds * t.cells()
	t.count, t.mean = make([]float64, n), make([]float64, n*t.outputs)
	if len(t.classes) == 0 {
		t.squares = make([]float64, n*t.outputs)
	}
}

// Add adds the targets of a block.
func (t *targetSums) Add(ctx context.Context, first int, block datasets.Set) error {
	own := block
	var err error
	if own.X, err = codeRows(ctx, "target_encode", block.X, t.labels, t.levels); err != nil {
		return block.Locate(err, first)
	}
	X, err := checkInputs("target_encode", own, t.schema, len(t.levels), first, true)
	if err != nil {
		return err
	}
	y, targets, weights, err := design.BlockTargetsAndWeights(first, block)
	if err == nil && len(t.classes) > 0 {
		_, err = design.BlockLabels(first, block, t.classes)
	}
	if err != nil {
		return fmt.Errorf("transformer: target_encode: %w", block.Locate(err, first))
	}
	if t.outputs == 0 {
		t.allocate(targets)
	}
	if len(t.classes) == 0 && targets != t.outputs {
		return fmt.Errorf("transformer: target_encode: rows from %d: must have %d targets, got %d", first, t.outputs, targets)
	}
	fold, cells := datasets.HashKFold{Folds: t.spec.Folds, Seed: t.spec.Seed}, t.cells()
	base := 0
	err = eachCode(ctx, "target_encode", X, first, t.levels, t.schema, func(i, j, code int) {
		if weights != nil && weights[i] == 0 {
			return
		}
		target := y[i*targets : (i+1)*targets]
		if j == 0 {
			base = fold.Of(first+i) * cells
			t.addRow(base+cells-1, target)
		}
		t.addRow(base+t.first[j]+targetCell(code, t.levels[j]), target)
	})
	return block.Locate(err, first)
}

// addRow adds the targets of a row to a cell by Welford's algorithm; plain sums of squares would
// cancel for targets far from 0.
func (t *targetSums) addRow(cell int, target []float64) {
	t.count[cell]++
	at := cell * t.outputs
	if len(t.classes) > 0 {
		switch c := int(target[0]); {
		case t.outputs > 1:
			t.mean[at+c]++
		case c == 1:
			t.mean[at]++
		}
		return
	}
	for k, y := range target {
		change := y - t.mean[at+k]
		t.mean[at+k] += change / t.count[cell]
		t.squares[at+k] += change * (y - t.mean[at+k])
	}
}

// Merge adds the sums of another part of the rows.
func (t *targetSums) Merge(_ context.Context, other pass.Sums) error {
	o := other.(*targetSums)
	if t.outputs == 0 {
		t.allocate(o.outputs)
	}
	if t.outputs != o.outputs {
		return fmt.Errorf("transformer: target_encode: the rows have %d targets, others %d", t.outputs, o.outputs)
	}
	for cell := range t.count {
		t.merge(cell, o, cell)
	}
	return nil
}

// merge adds cell from of o to cell.
func (t *targetSums) merge(cell int, o *targetSums, from int) {
	n, m := t.count[cell], o.count[from]
	if m == 0 {
		return
	}
	t.count[cell] = n + m
	for k := range t.outputs {
		at, other := cell*t.outputs+k, from*t.outputs+k
		switch {
		case len(t.classes) > 0:
			t.mean[at] += o.mean[other]
		case n == 0:
			t.mean[at], t.squares[at] = o.mean[other], o.squares[other]
		default:
			change := o.mean[other] - t.mean[at]
			t.mean[at] += change * (m / (n + m))
			t.squares[at] += o.squares[other] + change*change*(n*m/(n+m))
		}
	}
}

// Next returns nil, or an error if every weight is 0.
func (t *targetSums) Next(context.Context) (pass.Sums, error) {
	if t.outputs == 0 || !slices.ContainsFunc(t.count, func(n float64) bool { return n > 0 }) {
		return nil, errors.New("transformer: target_encode: every weight is 0")
	}
	return nil, nil
}

// State serializes the sums.
func (t *targetSums) State(s *model.State) {
	outputs := t.outputs
	s.Count("outputs", &outputs)
	if s.Restoring() && s.Err() == nil {
		if k := len(t.classes); k > 0 && outputs != 0 && outputs != (&design.Labels{Classes: t.classes}).Outputs() {
			s.Fail("the outputs are not those of %d classes", k)
			return
		}
		t.outputs = outputs
	}
	n := t.spec.Folds * t.cells()
	if t.outputs == 0 {
		n = 0
	}
	pass.Floats(s, "count", &t.count, n, pass.NonNegative)
	pass.Floats(s, "mean", &t.mean, n*t.outputs, pass.Finite)
	if len(t.classes) == 0 {
		pass.Floats(s, "squares", &t.squares, n*t.outputs, pass.NonNegative)
	}
}

// moments returns the number of rows of a cell, and the mean and Σ(y − mean)² of output k.
func (t *targetSums) moments(cell, k int) (n, mean, squares float64) {
	n, mean = t.count[cell], t.mean[cell*t.outputs+k]
	if len(t.classes) > 0 {
		mean /= max(n, 1)
		return n, mean, n * mean * (1 - mean)
	}
	return n, mean, t.squares[cell*t.outputs+k]
}

// without returns the sums of all folds except one, as a single fold. An invalid fold excludes
// none.
func (t *targetSums) without(fold int) *targetSums {
	out := *t
	out.spec.Folds = 1
	out.allocate(t.outputs)
	cells := t.cells()
	for f := range t.spec.Folds {
		for cell := range cells {
			if f != fold {
				out.merge(cell, t, f*cells+cell)
			}
		}
	}
	return &out
}

// encodings returns the encodings of a single fold, element cell·outputs + output. If it has no
// rows, all encodings are the given means.
func (t *targetSums) encodings(means []float64) []float64 {
	last := t.cells() - 1
	out := make([]float64, last*t.outputs)
	for k := range t.outputs {
		all, mean, squares := t.moments(last, k)
		if all == 0 {
			mean = means[k]
		}
		for cell := range last {
			out[cell*t.outputs+k] = mean
		}
		for j, levels := range t.levels {
			for cell := t.first[j]; cell <= t.first[j]+levels; cell++ {
				n, categoryMean, within := t.moments(cell, k)
				lambda := n / (n + t.spec.Smooth)
				if t.spec.Smooth == autoSmooth {
					variance := squares / all
					lambda = n * variance / (n*variance + within/n)
				}
				if n > 0 && lambda == lambda { // NaN (0/0) if all targets are equal
					out[cell*t.outputs+k] = lambda*categoryMean + (1-lambda)*mean
				}
			}
		}
	}
	return out
}

// fitted returns the step with the encodings by all rows and by the rows outside each fold.
func (t *targetSums) fitted() (Transformer, error) {
	all := t.without(-1)
	means := make([]float64, t.outputs)
	for k := range means {
		_, means[k], _ = all.moments(t.cells()-1, k)
	}
	f := &fittedTargetEncode{levels: t.levels, labels: t.labels, first: t.first, outputs: t.outputs,
		folds: t.spec.Folds, seed: t.spec.Seed, encodings: all.encodings(means)}
	for k := range f.folds {
		f.crossFitted = append(f.crossFitted, t.without(k).encodings(means)...)
	}
	if !allFinite(f.encodings, f.crossFitted) {
		return nil, errors.New("transformer: target_encode: the range of the targets overflows; scale them")
	}
	f.relevance = t.relevance(f.crossFitted, all)
	return f, nil
}

// relevance returns the R² of the cross-fitted encodings of each column as predictions of the
// targets, clipped at 0 and divided by the largest one.
func (t *targetSums) relevance(crossFitted []float64, all *targetSums) []float64 {
	out := make([]float64, len(t.levels))
	cells, total := t.cells(), 0.0
	for k := range t.outputs {
		_, _, squares := all.moments(cells-1, k)
		total += squares
	}
	for j := range out {
		residual := 0.0
		for f := range t.spec.Folds {
			for cell := t.first[j]; cell < t.first[j+1]; cell++ {
				for k := range t.outputs {
					n, mean, squares := t.moments(f*cells+cell, k)
					change := mean - crossFitted[(f*(cells-1)+cell)*t.outputs+k]
					residual += squares + n*change*change
				}
			}
		}
		if r := 1 - residual/total; r > 0 {
			out[j] = r
		}
	}
	if largest := slices.Max(out); largest > 0 {
		for j := range out {
			out[j] /= largest
		}
	}
	return out
}

// bytes returns the memory of a fit with the given number of cells.
func (s TargetEncode) bytes(cells, outputs int) int64 {
	return int64(min(float64(cells)*float64(outputs)*float64(32*s.Folds+40), math.MaxInt64/2))
}

// Cost returns the cost of one pass and of encoding the rows.
func (s TargetEncode) Cost(shape datasets.Shape) datasets.Cost {
	cells := 2*shape.Cols + 1
	for _, c := range shape.Columns {
		cells += len(c.Categories)
	}
	outputs := max(shape.Outputs, 1)
	cost := scalerCost(0, shape)
	cost.NonZeros, cost.CheapToRecompute, cost.Passes = 0, false, 1
	cost.OutputWidth, cost.WidthEstimated = shape.Cols*outputs, shape.Outputs == 0
	cost.Flops = float64(shape.Rows) * float64(shape.Cols) * float64(10+2*outputs)
	cost.Bytes = 8*int64(shape.RowsInMemory())*int64(cost.OutputWidth) + s.bytes(cells, outputs)
	return cost
}

// fittedTargetEncode is a fitted [TargetEncode].
type fittedTargetEncode struct {
	levels    []int
	labels    []labelColumn // of names; nil if there are none
	first     []int         // first cell of each input
	outputs   int
	encodings []float64 // by cell and output
	relevance []float64

	folds       int // 0 after Inference
	seed        uint64
	crossFitted []float64 // encodings by the rows outside each fold

	training bool // whether Transform maps training rows
	start    int  // index of the first training row
}

// Training returns the map of the training rows from row first on, which encodes each row by the
// rows of other folds.
func (f *fittedTargetEncode) Training(first int) Transformer {
	if f.folds == 0 {
		return nil
	}
	t := *f
	t.training, t.start = true, first
	return &t
}

// Inference returns the map without the encodings of the folds.
func (f *fittedTargetEncode) Inference() Transformer {
	if f.folds == 0 {
		return f
	}
	t := *f
	t.training, t.folds, t.seed, t.crossFitted = false, 0, 0, nil
	return &t
}

// Transform returns the encodings as a dense matrix.
func (f *fittedTargetEncode) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the encodings to dst.
func (f *fittedTargetEncode) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := codeRows(ctx, "target_encode", X, f.labels, f.levels)
	if err != nil {
		return err
	}
	n, _ := X.Dims()
	if err := checkTile("target_encode", dst, n, f.OutputWidth()); err != nil {
		return err
	}
	fold := datasets.HashKFold{Folds: f.folds, Seed: f.seed}
	encodings, k := f.encodings, f.outputs
	return eachCode(ctx, "target_encode", X, 0, f.levels, datasets.Schema{}, func(i, j, code int) {
		if f.training && j == 0 {
			at := fold.Of(f.start+i) * len(f.encodings)
			encodings = f.crossFitted[at : at+len(f.encodings)]
		}
		cell := f.first[j] + targetCell(code, f.levels[j])
		copy(dst.RawRowView(i)[j*k:(j+1)*k], encodings[cell*k:(cell+1)*k])
	})
}

// Export adds the encodings to g.
func (f *fittedTargetEncode) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	if f.labels != nil {
		return graph.Value{}, errLabelExport
	}
	var inputs []int
	var missing, unknown []float64
	var lists [][]float64
	for j, levels := range f.levels {
		for k := range f.outputs {
			list := make([]float64, levels+2)
			for c := range list {
				list[c] = f.encodings[(f.first[j]+c)*f.outputs+k]
			}
			inputs, lists = append(inputs, j), append(lists, list)
			missing, unknown = append(missing, float64(levels)), append(unknown, float64(levels+1))
		}
	}
	code := g.Columns(rows, inputs)
	cell := g.Where(g.Equal(code, g.Scalar(datasets.Unknown)), g.Row(unknown), code)
	return g.TakeAlong(g.Where(g.IsNaN(code), g.Row(missing), cell), lists), nil
}

// Tags returns the number of input columns and their relevance.
func (f *fittedTargetEncode) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: len(f.levels), Relevance: f.Relevance()}
}

// OutputWidth returns the number of input columns times the number of outputs per column.
func (f *fittedTargetEncode) OutputWidth() int { return len(f.levels) * f.outputs }

// OutputSchema returns numeric columns with the names of the inputs. With several outputs per
// input, they are named input_class or input_target.
func (f *fittedTargetEncode) OutputSchema(in datasets.Schema) datasets.Schema {
	classes, columns := in.Classes(), make([]datasets.Column, 0, f.OutputWidth())
	for j := range f.levels {
		for k := range f.outputs {
			name := in.Name(j)
			switch {
			case f.outputs == 1:
			case f.outputs == len(classes):
				name += "_" + classes[k]
			case f.outputs == len(in.Targets):
				name += "_" + in.Targets[k].Name
			default:
				name += fmt.Sprintf("_%d", k)
			}
			columns = append(columns, encodedColumn(in, j, name))
		}
	}
	return in.WithColumns(columns)
}

// Relevance returns the R² of the cross-fitted encodings of each column, divided by the largest
// one.
func (f *fittedTargetEncode) Relevance() []float64 { return slices.Clone(f.relevance) }

// State serializes the encodings. It includes those of the folds unless Inference has removed them.
func (f *fittedTargetEncode) State(s *model.State) {
	s.Ints("levels", &f.levels)
	s.Int("outputs", &f.outputs)
	labelState(s, &f.labels, f.levels)
	s.Floats("encodings", &f.encodings)
	s.Floats("relevance", &f.relevance)
	s.Int("folds", &f.folds)
	seeds := []uint64{f.seed}
	s.Uint64s("seed", &seeds)
	s.Floats("cross_fitted", &f.crossFitted)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	total := 0
	for _, n := range f.levels {
		if n < 0 || n > len(f.encodings)-total {
			s.Fail("levels and encodings do not fit")
			return
		}
		total += n + 2
	}
	f.first = firstTargetCells(f.levels)
	d := len(f.levels)
	s.Require(d > 0 && len(f.relevance) == d && len(seeds) == 1, "there are no columns, or relevance or seed do not fit")
	s.Require(f.outputs > 0 && len(f.encodings)%f.outputs == 0 && len(f.encodings)/f.outputs == total,
		"levels, outputs and encodings do not fit")
	s.Require(f.folds >= 0 && (f.folds == 0) == (len(f.crossFitted) == 0) && (f.folds == 0 ||
		len(f.crossFitted)%f.folds == 0 && len(f.crossFitted)/f.folds == len(f.encodings)),
		"the encodings of the folds do not fit")
	s.Require(allFinite(f.encodings, f.crossFitted, f.relevance), "an encoding is not finite")
	if s.Err() == nil {
		f.seed = seeds[0]
	}
}
