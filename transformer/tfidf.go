package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer/internal/textfeatures"
)

// TFIDF maps text columns to weighted counts of terms, n-grams of words or characters. A column of
// the output corresponds to a term t of an input column, with
//
//	z_t(x) = tf(t, x)·idf(t) / ‖z(x)‖₂,  idf(t) = ln((1 + n)/(1 + df(t))) + 1
//
// where tf is the number of occurrences of t in x, or 1 + ln tf with Sublinear, n the number of
// training rows and df that of training rows with t. Each input column has separate terms, and is
// normalized separately. A missing value has no terms, like an empty string.
//
// With Hashing, terms share a fixed number of columns by their hash, and a fit over a stream stores
// no terms.
//
// With Indicator, each input column gets a last column that is 1 in rows without a known term and 0
// in others. All rows then have norm 1 and ‖u − v‖²/2 is 1 − u'v, also for rows without a known term:
// 1 to every row with terms, 0 to each other. Kernels of differences need this.
//
// Shapes: n×d → n×D, sparse. Fit makes one pass over the rows, in time linear in the length of the
// text, and stores the distinct terms. It uses neither targets nor weights.
//
// Source: Salton and Buckley, "Term-weighting approaches in automatic text retrieval", Information
// Processing & Management 24, 1988. The entries are those of scikit-learn's TfidfVectorizer, with
// Hashing those of a HashingVectorizer without signs and a TfidfTransformer; tokenization and order
// of terms are the same.
//
// Fit returns an error for a column that is not text, and if no term is left.
// Use [NewTFIDF]: the zero value is invalid.
type TFIDF struct {
	Analyzer    string   // kind of terms: "word", "char" or "char_wb", characters within words
	MinN, MaxN  int      // lengths of n-grams
	MinCount    int      // minimum number of training rows with a term
	MaxFeatures int      // only that number of the most frequent terms of each column; 0 for all
	Hashing     int      // number of columns that terms are hashed to; 0 for one column per term
	Indicator   bool     // whether a column of each input indicates rows without a known term
	Sublinear   bool     // whether tf is replaced by 1 + ln tf
	Lowercase   bool     // whether the text is converted to lower case
	StopWords   []string // words that are left out; only "english" for the list of scikit-learn
}

// NewTFIDF returns the spec of single words in lower case.
func NewTFIDF() TFIDF {
	o := textfeatures.Defaults()
	return TFIDF{Analyzer: o.Analyzer, MinN: o.MinN, MaxN: o.MaxN, MinCount: o.MinCount, Lowercase: o.Lowercase}
}

// maxNGram bounds the length of n-grams.
const maxNGram = 100

// ngramRange is the lengths of n-grams as a parameter.
type ngramRange struct{ low, high *int }

func (p ngramRange) Set(plain any) error {
	*p.low, *p.high = 0, 0
	switch v := plain.(type) {
	case int:
		*p.low, *p.high = v, v
	case []any:
		if len(v) == 2 {
			*p.low, _ = v[0].(int)
			*p.high, _ = v[1].(int)
		}
	}
	return p.Check()
}

func (p ngramRange) Get() any { return []any{*p.low, *p.high} }

func (p ngramRange) Constraint() string {
	return "a length from 1 to " + strconv.Itoa(maxNGram) + ", or the shortest and the longest one, as [1, 2]"
}

func (p ngramRange) Check() error {
	if 1 <= *p.low && *p.low <= *p.high && *p.high <= maxNGram {
		return nil
	}
	return errors.New(p.Constraint())
}

// stopWords are words as a parameter.
type stopWords struct{ list *[]string }

func (p stopWords) Set(plain any) error {
	values, isList := plain.([]any)
	if !isList {
		values = []any{plain}
	}
	*p.list = make([]string, len(values))
	for i, v := range values {
		word, ok := v.(string)
		if !ok || !isList && word != "english" {
			return errors.New(p.Constraint())
		}
		(*p.list)[i] = word
	}
	return nil
}

func (p stopWords) Get() any {
	if slices.Equal(*p.list, []string{"english"}) {
		return "english"
	}
	out := make([]any, len(*p.list))
	for i, word := range *p.list {
		out[i] = word
	}
	return out
}

func (p stopWords) Constraint() string { return "english, or a list of words" }

func (p stopWords) Check() error { return nil }

// Params declares the options of terms and weights.
func (s *TFIDF) Params(l *param.List) {
	l.Choice(&s.Analyzer, "analyzer", "unit of n-grams: words, characters, or characters within words", "word",
		"char", "char_wb")
	l.Value(ngramRange{&s.MinN, &s.MaxN}, "ngrams", "minimum and maximum length of n-grams")
	l.Int(&s.MinCount, "min_count", "minimum number of training rows with a term", param.AtLeast(1))
	l.FewerUnits("min_count")
	l.Int(&s.MaxFeatures, "max_features", "maximum number of terms per column, the most frequent ones; 0 for all",
		param.Between(0, maxFeatures))
	l.Int(&s.Hashing, "hashing", "number of columns that terms are hashed into; 0: one column per term",
		param.Between(0, maxFeatures))
	l.Bool(&s.Indicator, "indicator", "whether to add, for each input, an indicator of rows without a known term")
	l.Bool(&s.Sublinear, "sublinear", "whether to replace counts tf by 1 + ln tf")
	l.Bool(&s.Lowercase, "lowercase", "whether to convert the text to lower case")
	l.Value(stopWords{&s.StopWords}, "stop_words", "words to exclude; english is scikit-learn's list")
	l.Check("hashing", func() error {
		if s.Hashing > 0 && (s.MinCount > 1 || s.MaxFeatures > 0) {
			return errors.New("must be 0 with min_count or max_features: hashed terms are not counted individually")
		}
		return nil
	})
}

// options returns those of package textfeatures.
func (s TFIDF) options() textfeatures.Options {
	o := textfeatures.Defaults()
	o.Analyzer, o.MinN, o.MaxN, o.Lowercase, o.StopWords = s.Analyzer, s.MinN, s.MaxN, s.Lowercase, s.StopWords
	o.MinCount, o.MaxFeatures, o.Hashing, o.Sublinear = s.MinCount, s.MaxFeatures, s.Hashing, s.Sublinear
	o.Indicator = s.Indicator
	return o
}

// Fit counts the terms; it returns a [*FittedTFIDF].
func (s TFIDF) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "tfidf", s, data)
}

// FitSource is Fit over a source, which it reads once.
func (s TFIDF) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start begins the one pass, which counts terms.
func (s TFIDF) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := checkSpec("tfidf", s); err != nil {
		return nil, err
	}
	if len(schema.Columns) != 0 && len(schema.Columns) != cols {
		return nil, fmt.Errorf("transformer: tfidf: the schema names %d columns, the rows have %d", len(schema.Columns), cols)
	}
	sums := &termSums{schema: schema, limit: memory.Budget(ctx)}
	for j := range cols {
		if kind := schema.Column(j).Kind; kind != datasets.Text {
			return nil, fmt.Errorf("transformer: tfidf: column %s must be text, got %s; select the text columns with a columns "+
				"step, or declare the column by data.kinds", schema.Name(j), kind)
		}
		c, err := textfeatures.NewCounter(s.options())
		if err != nil {
			return nil, fmt.Errorf("transformer: tfidf: %w", err)
		}
		sums.counters = append(sums.counters, c)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	return pass.Begin(pass.Config{Name: "transformer: tfidf", Spec: s, Schema: schema, Cols: cols}, sums), nil
}

// Finish returns the [*FittedTFIDF] of the counts.
func (s TFIDF) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	all, _, err := pass.Last(ctx, "transformer: tfidf", s, last)
	if err != nil {
		return nil, err
	}
	sums, f := all.(*termSums), &FittedTFIDF{}
	for j, c := range sums.counters {
		v, err := c.Vectorizer()
		if err != nil {
			return nil, fmt.Errorf("transformer: tfidf: column %s: %w", sums.schema.Name(j), err)
		}
		f.columns = append(f.columns, v)
		f.width += v.Width()
	}
	return f, nil
}

// termSums count the terms of each column.
type termSums struct {
	schema   datasets.Schema
	counters []*textfeatures.Counter
	limit    int64 // bytes of the counters
}

// check returns an error if the terms exceed the memory, which would end the process.
func (c *termSums) check() error {
	bytes := int64(0)
	for _, counter := range c.counters {
		bytes += counter.Bytes()
	}
	if bytes <= c.limit {
		return nil
	}
	return fmt.Errorf("transformer: tfidf: %w: the terms take more than %s; use shorter n-grams, or hashing",
		memory.ErrTooLarge, memory.Size(c.limit))
}

// Add counts the terms of a block.
func (c *termSums) Add(ctx context.Context, _ int, block datasets.Set) error {
	X, err := checkTexts("tfidf", block.X, len(c.counters))
	if err != nil {
		return err
	}
	for i := range block.Rows() {
		if i%256 == 0 {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
		}
		for j, counter := range c.counters {
			text, _ := X.Text(i, j)
			counter.Add(text)
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// Merge adds the counts of other rows.
func (c *termSums) Merge(_ context.Context, other pass.Sums) error {
	for j, counter := range other.(*termSums).counters {
		c.counters[j].Merge(counter)
	}
	return c.check()
}

// Next returns nil: one pass suffices.
func (c *termSums) Next(context.Context) (pass.Sums, error) { return nil, nil }

// State saves or restores the counts.
func (c *termSums) State(s *model.State) {
	for j, counter := range c.counters {
		counter.State(s.Child("column" + strconv.Itoa(j)))
	}
}

// checkTexts returns X as rows of text columns only, or an error if a step fitted to width of them cannot use it.
func checkTexts(step string, X mat.Matrix, width int) (*textrows.Matrix, error) {
	if X == nil {
		return nil, fmt.Errorf("transformer: %s: no rows: %w", step, datasets.ErrEmpty)
	}
	n, cols := X.Dims()
	switch m := textrows.Of(X); {
	case n == 0:
		return nil, fmt.Errorf("transformer: %s: no rows: %w", step, datasets.ErrEmpty)
	case cols != width:
		return nil, fmt.Errorf("transformer: %s: %d columns at fit, %d now", step, width, cols)
	case m == nil || len(m.TextColumns()) != width:
		return nil, fmt.Errorf("transformer: %s: all columns must be text, got numbers; the rows come from a reader or from "+
			"datasets.FromStructs", step)
	default:
		return m, nil
	}
}

// Cost returns the cost of counting and mapping the terms of the rows, by a sketch of shape.Documents if
// it is known.
func (s TFIDF) Cost(shape datasets.Shape) datasets.Cost {
	const terms = 20 // of a typical text
	n, d := float64(shape.Rows), float64(shape.Cols)
	per := terms * float64(s.MaxN-s.MinN+1)
	cost := datasets.Cost{Flops: 200 * n * d * per, Bytes: int64(12 * d * per * float64(shape.RowsInMemory())),
		OutputWidth: -1, NonZeros: d * per}
	if limit := max(s.Hashing, s.MaxFeatures); limit > 0 {
		cost.OutputWidth, cost.WidthEstimated = limit*shape.Cols, s.Hashing == 0
		cost.NonZeros = min(cost.NonZeros, float64(cost.OutputWidth))
	}
	if s.Indicator && cost.OutputWidth > 0 {
		cost.OutputWidth += shape.Cols
	}
	cost.Bytes += int64(32 * max(s.Hashing, 0) * shape.Cols)
	if terms, ok := s.terms(shape); ok {
		const entry = 24 // twice, while the rows are collected
		cost = datasets.Cost{Flops: 200 * n * terms.Entries, OutputWidth: int(terms.Columns),
			WidthEstimated: s.Hashing == 0, NonZeros: max(terms.Entries, 1e-9),
			Bytes: int64(terms.Bytes + entry*terms.Entries*float64(shape.RowsInMemory()))}
	}
	return cost
}

// terms estimates the terms of the documents of a shape.
func (s TFIDF) terms(shape datasets.Shape) (sum textfeatures.Estimate, ok bool) {
	if shape.Documents == nil || len(shape.Columns) != shape.Cols {
		return sum, false
	}
	for _, c := range shape.Columns {
		o := s.options()
		sketch, ok := shape.Documents.Once(fmt.Sprintf("%q %v", c.Name, o), func() any {
			sketch, err := textfeatures.NewSketch(o)
			if err != nil || shape.Documents.Each(c.Name, sketch.Add) != nil {
				return nil // Fit reports the error
			}
			return sketch
		}).(*textfeatures.Sketch)
		if !ok {
			return sum, false
		}
		sum = sum.Plus(sketch.Estimate(shape.Rows))
		if s.Indicator {
			sum.Columns++
		}
	}
	sum.Columns = min(sum.Columns, math.MaxUint32)
	return sum, true
}

// FittedTFIDF is a fitted [TFIDF].
type FittedTFIDF struct {
	columns []*textfeatures.Vectorizer // of each input
	width   int
}

// Vocabulary returns the terms of an input in the order of their columns, nil for hashed ones.
func (f *FittedTFIDF) Vocabulary(input int) []string { return f.columns[input].Vocabulary() }

// IDF returns the weights of the terms of an input.
func (f *FittedTFIDF) IDF(input int) []float64 { return f.columns[input].IDF() }

// Transform returns the weighted counts of the rows, a *matrices.CSR.
func (f *FittedTFIDF) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	m, err := checkTexts("tfidf", X, len(f.columns))
	if err != nil {
		return nil, err
	}
	n, _ := m.Dims()
	docs, blocks := make([]string, n), make([]*matrices.CSR, len(f.columns))
	for j, v := range f.columns {
		for i := range docs {
			docs[i], _ = m.Text(i, j)
		}
		if blocks[j], err = v.Transform(ctx, docs); err != nil {
			return nil, wrapError(ctx, "tfidf", err)
		}
	}
	if len(blocks) == 1 {
		return blocks[0], nil
	}
	return rowblock.ConcatColumns(n, blocks, slices.Repeat([]float64{1}, len(blocks)))
}

// Export refuses: a graph has no operations on strings.
func (f *FittedTFIDF) Export(*graph.Graph, graph.Value) (graph.Value, error) {
	return graph.Value{}, errors.New("terms of documents are found by operations on strings, which exports do not have; " +
		"serve the model file itself")
}

// Tags returns the number of input columns.
func (f *FittedTFIDF) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.columns)} }

// OutputWidth returns the number of terms, or hashed columns, of all inputs.
func (f *FittedTFIDF) OutputWidth() int { return f.width }

// maxHashedNames is the maximum number of hashed columns with names.
const maxHashedNames = 1 << 16

// OutputSchema returns numeric columns called input=term, or input_0, input_1, … of hashed terms, and
// input_unknown of the indicator. More than 65,536 hashed columns are unnamed.
func (f *FittedTFIDF) OutputSchema(in datasets.Schema) datasets.Schema {
	columns := make([]datasets.Column, 0, f.width)
	for j, v := range f.columns {
		terms := v.Vocabulary()
		if terms == nil && f.width > maxHashedNames {
			return in.WithColumns(nil)
		}
		for _, term := range terms {
			columns = append(columns, encodedColumn(in, j, in.Name(j)+"="+term))
		}
		for k := len(terms); k < v.Terms(); k++ {
			columns = append(columns, encodedColumn(in, j, in.Name(j)+"_"+strconv.Itoa(k)))
		}
		if v.Width() > v.Terms() {
			columns = append(columns, encodedColumn(in, j, in.Name(j)+"_unknown"))
		}
	}
	return in.WithColumns(columns)
}

// State serializes the terms and weights.
func (f *FittedTFIDF) State(s *model.State) {
	inputs := len(f.columns)
	s.Count("inputs", &inputs)
	if s.Restoring() {
		s.Require(inputs > 0, "there are no inputs")
		f.columns, f.width = nil, 0
	}
	for j := 0; j < inputs && s.Err() == nil; j++ {
		if s.Restoring() {
			f.columns = append(f.columns, &textfeatures.Vectorizer{})
		}
		f.columns[j].State(s.Child("column" + strconv.Itoa(j)))
		if s.Restoring() {
			f.width += f.columns[j].Width()
			s.Require(int64(f.width) <= math.MaxUint32, "width is not a number of columns")
		}
	}
}
