// Package textfeatures maps documents to sparse rows of weighted term counts, tf-idf, as
// scikit-learn's TfidfVectorizer.
//
//	documents ─▶ [Analyzer]    terms: n-grams of words or characters
//	      ─▶ [Counter]     numbers of documents and occurrences of each term, mergeable
//	      ─▶ [Vectorizer]  a column for each term, in lexical order, or hashed columns
//
// The entry of a term t in the row of a text x is
//
//	tf(t, x)·idf(t),  idf(t) = ln((1 + n)/(1 + df(t))) + 1
//
// divided by the norm of the row, where tf is the number of occurrences, n the number of training documents and df that
// of documents with the term.
package textfeatures

import (
	"cmp"
	"context"
	_ "embed" // stop words
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/features/murmur"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/matrices"
)

// Options select the terms and their weights.
type Options struct {
	// Analyzer is what terms are made of: "word", words of two or more letters, digits or underscores; "char",
	// characters; "char_wb", characters of one word with a space on either side.
	Analyzer   string
	MinN, MaxN int // lengths of n-grams, both included
	Lowercase  bool
	StopWords  []string // words that are left out, in lower case if Lowercase; only "english" for those of scikit-learn

	MinCount    int     // training documents that a term must be in
	MaxShare    float64 // largest share of training documents that a term may be in
	MaxFeatures int     // only the most frequent terms; 0 for all
	Hashing     int     // number of columns that terms are hashed to, without signs; 0 for one column per term

	Indicator bool   // a last column that is 1 in rows without a known term, 0 in others
	Sublinear bool   // 1 + ln tf instead of tf
	IDF       bool   // whether to multiply by idf
	SmoothIDF bool   // as if one more text had every term; otherwise idf(t) = ln(n/df(t)) + 1
	Norm      string // of rows: "l2", "l1" or "none"
}

// Defaults returns the options of TfidfVectorizer.
func Defaults() Options {
	return Options{Analyzer: "word", MinN: 1, MaxN: 1, Lowercase: true, MinCount: 1, MaxShare: 1, IDF: true,
		SmoothIDF: true, Norm: "l2"}
}

// maxColumns is the largest number of columns of a sparse matrix.
const maxColumns = math.MaxUint32

// Check reports all options that are not valid.
func (o Options) Check() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("textfeatures: "+format, args...))
		}
	}
	require(slices.Contains([]string{"word", "char", "char_wb"}, o.Analyzer),
		"analyzer must be word, char or char_wb, got %q", o.Analyzer)
	require(o.MinN >= 1 && o.MaxN >= o.MinN, "n-grams must have lengths from 1 on, ascending, got %d to %d", o.MinN,
		o.MaxN)
	require(o.MinCount >= 1, "minimum count must be ≥ 1, got %d", o.MinCount)
	require(o.MaxShare > 0 && o.MaxShare <= 1, "maximum share must be above 0 and ≤ 1, got %v", o.MaxShare)
	require(o.MaxFeatures >= 0, "maximum number of features must be ≥ 0, got %d", o.MaxFeatures)
	require(o.Hashing >= 0 && int64(o.Hashing) < maxColumns, "number of hashed columns must be ≥ 0, got %d", o.Hashing)
	require(o.Hashing == 0 || o.MinCount == 1 && o.MaxShare == 1 && o.MaxFeatures == 0,
		"hashed columns cannot be selected by count")
	require(slices.Contains([]string{"l1", "l2", "none"}, o.Norm), "norm must be l1, l2 or none, got %q", o.Norm)
	return errors.Join(errs...)
}

// analyzer returns the analyzer of valid options.
func (o Options) analyzer() *Analyzer {
	a := &Analyzer{kind: o.Analyzer, minN: o.MinN, maxN: o.MaxN, lowercase: o.Lowercase, stopWords: map[string]bool{}}
	words := o.StopWords
	if slices.Equal(words, []string{"english"}) {
		words = strings.Fields(english)
	}
	for _, word := range words {
		a.stopWords[word] = true
	}
	return a
}

//go:embed english.txt
var english string // the stop words of scikit-learn

// Counter counts the terms of documents. It must not be used concurrently.
type Counter struct {
	options   Options
	analyzer  *Analyzer
	documents int
	terms     map[string]int32 // numbers of the terms; nil for hashed columns
	counts    []termCount      // of each term, or hashed column
	bytes     float64          // of terms and counts
	scan      scan
	one       func(term []byte)
}

type termCount struct {
	documents, occurrences, last int // last is the number of the last text with the term, from 1
}

// NewCounter returns a counter without documents.
func NewCounter(o Options) (*Counter, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c := &Counter{options: o, analyzer: o.analyzer()}
	if o.Hashing > 0 {
		c.bytes = hashedBytes * float64(o.Hashing)
		if err := memory.Check(int64(c.bytes)); err != nil {
			return nil, fmt.Errorf("textfeatures: %d hashed columns: %w", o.Hashing, err)
		}
		c.counts = make([]termCount, o.Hashing)
	} else {
		c.terms = map[string]int32{}
	}
	c.one = c.add // bound once: a method value allocates
	return c, nil
}

// Bytes returns the approximate memory of the counts.
func (c *Counter) Bytes() int64 { return int64(c.bytes) }

// Documents returns the number of documents.
func (c *Counter) Documents() int { return c.documents }

// Add counts the terms of a text.
func (c *Counter) Add(text string) {
	c.documents++
	c.analyzer.terms(&c.scan, text, c.one)
}

// add counts one occurrence of a term.
func (c *Counter) add(term []byte) {
	var at int
	if c.terms == nil {
		at, _ = murmur.Column(murmur.Sum32(term), c.options.Hashing)
	} else {
		at = c.number(term)
	}
	n := &c.counts[at]
	n.occurrences++
	if n.last != c.documents {
		n.last = c.documents
		n.documents++
	}
}

// number returns that of a term, a new one if necessary.
func (c *Counter) number(term []byte) int {
	if at, known := c.terms[string(term)]; known {
		return int(at)
	}
	at := len(c.counts)
	c.terms[string(term)] = int32(at)
	c.counts = append(c.counts, termCount{})
	c.bytes += termBytes(len(term))
	return at
}

// Merge adds the counts of other documents, counted with the same options.
func (c *Counter) Merge(other *Counter) {
	c.documents += other.documents
	sum := func(at int, n termCount) {
		c.counts[at].documents += n.documents
		c.counts[at].occurrences += n.occurrences
	}
	if c.terms == nil {
		for at, n := range other.counts {
			sum(at, n)
		}
	}
	for term, at := range other.terms { // the order, which is random, matters for no result
		sum(c.number([]byte(term)), other.counts[at])
	}
}

// Vectorizer returns the map of documents that the counts give. It is an error if no term is left.
func (c *Counter) Vectorizer() (*Vectorizer, error) {
	if c.documents == 0 {
		return nil, errors.New("textfeatures: no documents")
	}
	v := &Vectorizer{options: c.options, analyzer: c.analyzer, terms: c.options.Hashing}
	counts := c.counts
	if c.terms != nil {
		v.vocabulary = c.selected()
		if v.terms = len(v.vocabulary); v.terms == 0 {
			return nil, fmt.Errorf("textfeatures: cannot select terms: none of %d is in %d to %v of %d documents; "+
				"lower the minimum count, or leave out fewer stop words", len(c.terms), c.options.MinCount,
				math.Floor(c.options.MaxShare*float64(c.documents)), c.documents)
		}
		counts = make([]termCount, v.terms)
		for k, term := range v.vocabulary {
			counts[k] = c.counts[c.terms[term]]
		}
	}
	if c.options.IDF {
		v.idf = make([]float64, v.terms)
		n, extra := float64(c.documents), 0.0
		if c.options.SmoothIDF {
			extra = 1
		}
		for k := range v.idf {
			v.idf[k] = math.Log((n+extra)/max(float64(counts[k].documents)+extra, 1)) + 1 // a hashed column may have no text
		}
	}
	v.index()
	return v, nil
}

// selected returns the terms that get a column, in lexical order.
func (c *Counter) selected() []string {
	var terms []string
	for term, at := range c.terms {
		n := c.counts[at].documents
		if n >= c.options.MinCount && float64(n) <= c.options.MaxShare*float64(c.documents) {
			terms = append(terms, term)
		}
	}
	slices.Sort(terms)
	if limit := c.options.MaxFeatures; limit > 0 && len(terms) > limit {
		slices.SortStableFunc(terms, func(a, b string) int {
			return cmp.Compare(c.counts[c.terms[b]].occurrences, c.counts[c.terms[a]].occurrences)
		})
		terms = terms[:limit]
		slices.Sort(terms)
	}
	return terms
}

// Vectorizer maps documents to sparse rows. It is immutable and safe for concurrent use, with a [Workspace] for each
// goroutine.
type Vectorizer struct {
	options    Options
	analyzer   *Analyzer
	vocabulary []string          // in lexical order; nil for hashed columns
	idf        []float64         // nil without
	terms      int               // number of columns of terms
	columns    map[string]uint32 // of the terms
}

// index makes the columns of the terms.
func (v *Vectorizer) index() {
	if v.options.Hashing > 0 {
		return
	}
	v.columns = make(map[string]uint32, len(v.vocabulary))
	for k, term := range v.vocabulary {
		v.columns[term] = uint32(k)
	}
}

// Width returns the number of columns.
func (v *Vectorizer) Width() int {
	if v.options.Indicator {
		return v.terms + 1
	}
	return v.terms
}

// Terms returns the number of columns of terms, hashed or not.
func (v *Vectorizer) Terms() int { return v.terms }

// Vocabulary returns the terms in the order of their columns, without that of the indicator, nil for hashed columns.
func (v *Vectorizer) Vocabulary() []string { return slices.Clone(v.vocabulary) }

// IDF returns the weight of each column of terms, nil if there are none.
func (v *Vectorizer) IDF() []float64 { return slices.Clone(v.idf) }

// Workspace is the memory in which a row is made.
type Workspace struct {
	v     *Vectorizer
	scan  scan
	found []uint32 // columns of the terms of a text, as often as they occur
	one   func(term []byte)
}

// NewWorkspace returns a workspace.
func (v *Vectorizer) NewWorkspace() *Workspace {
	w := &Workspace{v: v}
	w.one = w.add
	return w
}

func (w *Workspace) add(term []byte) {
	if w.v.columns == nil {
		column, _ := murmur.Column(murmur.Sum32(term), w.v.terms)
		w.found = append(w.found, uint32(column))
	} else if column, known := w.v.columns[string(term)]; known {
		w.found = append(w.found, column)
	}
}

// AppendRow appends the entries of the row of a text, by column. It allocates nothing else than the lists need.
func (w *Workspace) AppendRow(columns []uint32, values []float64, text string) ([]uint32, []float64) {
	w.found = w.found[:0]
	w.v.analyzer.terms(&w.scan, text, w.one)
	slices.Sort(w.found)
	start := len(values)
	for i := 0; i < len(w.found); {
		k := i + 1
		for k < len(w.found) && w.found[k] == w.found[i] {
			k++
		}
		columns, values = append(columns, w.found[i]), append(values, w.v.weight(w.found[i], float64(k-i)))
		i = k
	}
	w.v.normalize(values[start:])
	if w.v.options.Indicator && len(w.found) == 0 {
		columns, values = append(columns, uint32(w.v.terms)), append(values, 1)
	}
	return columns, values
}

// weight returns the entry of a term with the given number of occurrences, before rows are normalized.
func (v *Vectorizer) weight(column uint32, tf float64) float64 {
	if v.options.Sublinear {
		tf = 1 + math.Log(tf)
	}
	if v.idf != nil {
		tf *= v.idf[column]
	}
	return tf
}

// normalize divides a row by its norm, unless it is empty.
func (v *Vectorizer) normalize(row []float64) {
	norm := 0.0
	switch v.options.Norm {
	case "l1":
		for _, x := range row {
			norm += x
		}
	case "l2":
		for _, x := range row {
			norm += x * x
		}
		norm = math.Sqrt(norm)
	}
	if norm > 0 {
		for k := range row {
			row[k] /= norm
		}
	}
}

// blockTexts is the number of documents that one core maps at a time.
const blockTexts = 256

// entryBytes is the memory of an entry of a sparse matrix.
const entryBytes = 12

// Transform returns the rows of documents, mapped on all cores.
func (v *Vectorizer) Transform(ctx context.Context, documents []string) (*matrices.CSR, error) {
	type block struct {
		lengths []int
		columns []uint32
		values  []float64
	}
	blocks := make([]block, (len(documents)+blockTexts-1)/blockTexts)
	budget := memory.Budget(ctx)
	var entries atomic.Int64 // of the rows, which are copied to a matrix
	kern.Parallel(len(blocks), 1, func(lo, hi int) {
		w := v.NewWorkspace()
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			b := &blocks[k]
			for _, text := range documents[k*blockTexts : min((k+1)*blockTexts, len(documents))] {
				before := len(b.columns)
				b.columns, b.values = w.AppendRow(b.columns, b.values, text)
				b.lengths = append(b.lengths, len(b.columns)-before)
				if entryBytes*entries.Add(int64(len(b.columns)-before)) > budget {
					return
				}
			}
		}
	})
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	if entryBytes*entries.Load() > budget {
		return nil, fmt.Errorf("textfeatures: %w: the rows have more than %d entries", memory.ErrTooLarge, entries.Load())
	}
	total := 0
	for _, b := range blocks {
		total += len(b.columns)
	}
	indptr, columns, values := make([]int, 1, len(documents)+1), make([]uint32, 0, total), make([]float64, 0, total)
	for _, b := range blocks {
		for _, n := range b.lengths {
			indptr = append(indptr, indptr[len(indptr)-1]+n)
		}
		columns, values = append(columns, b.columns...), append(values, b.values...)
	}
	return matrices.NewCSR(len(documents), v.Width(), indptr, columns, values)
}
