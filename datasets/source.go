// Package datasets represents tabular data: in memory as a [Set], or as a stream of blocks as a
// [Source]. Both have a [Schema], which describes the columns.
//
// A reader encodes strings as numbers according to the schema; everything downstream uses matrices.
// A value of a categorical column is the code of its category, from 0. The code of a category that
// the schema does not list is [Unknown]; a missing value is NaN. A model stores the schema of its
// training rows, so that new rows are encoded in the same way.
//
// Subpackages read CSV, ARFF, svmlight, JSON lines, npy, Parquet, Arrow and SQL queries. Package
// sourcetest checks that a type implements Source correctly.
package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
)

// Source is a stream of blocks of rows that can be read repeatedly.
type Source interface {
	// Schema returns the schema. It is known before the first block.
	Schema() Schema
	// Dims returns the numbers of rows and columns; rows is -1 if it is unknown before a pass.
	Dims() (rows, cols int)
	// Blocks makes a pass: it calls yield with consecutive blocks from the first row, and returns
	// the first error. Blocks are read-only, and their arrays are reused after yield returns.
	Blocks(ctx context.Context, yield func(block Set) error) error
}

// Float32Source is a source that also provides its inputs in single precision, at half the memory
// traffic. Iterative solvers read the float32 rows for search directions and the float64 rows for
// sums that must be accurate.
type Float32Source interface {
	Source
	// Float32 returns the same rows with inputs in single precision.
	Float32() Source
}

// Schema describes the columns and targets of a set. Without Columns, all columns are numeric and
// unnamed.
type Schema struct {
	Columns []Column
	Targets []Column // categorical targets have codes as values
	Missing []string // strings that denoted a missing value in the file; nil for the defaults of the reader
}

// Column describes a column.
type Column struct {
	Name        string
	Kind        Kind
	Categories  []string // categories of a categorical column; category i has code i
	Format      Format   // how the values are written; a text column of labels or names has Categories too
	EncodedFrom string   // name of the column that a step encoded, or the dates of which this is a part; "" if none
	EncodedKind Kind     // kind of that column; Numeric for dates
	EncodedBy   string   // name of the group of columns or the part of a union that this column is from; "" if none
}

// CheckColumns returns an error if the columns of now have other names, kinds or categories than
// those of s. If either schema has no columns, there is nothing to compare.
func (s Schema) CheckColumns(now Schema) error {
	if len(s.Columns) == 0 || len(now.Columns) == 0 {
		return nil
	}
	if len(s.Columns) != len(now.Columns) {
		return fmt.Errorf("must have %d columns as in the fit, got %d", len(s.Columns), len(now.Columns))
	}
	for j, fitted := range s.Columns {
		c := now.Columns[j]
		if fitted.Name != c.Name || fitted.Kind != c.Kind || fitted.Format != c.Format ||
			!slices.Equal(fitted.Categories, c.Categories) {
			return fmt.Errorf("column %s must be as in the fit (%s), got %s", fitted.Name, fitted.describe(), c.describe())
		}
	}
	return nil
}

// describe formats the kind, the name and the first categories of a column.
func (c Column) describe() string {
	const shown = 4
	text := fmt.Sprintf("%s, named %s", c.Kind, c.Name)
	if c.Format != (Format{}) {
		text = fmt.Sprintf("%s (%s), named %s", c.Kind, c.Format, c.Name)
	}
	switch {
	case c.Kind != Categorical:
	case len(c.Categories) > shown:
		text += fmt.Sprintf(", %d categories: %s, …", len(c.Categories), strings.Join(c.Categories[:shown], ", "))
	default:
		text += fmt.Sprintf(", %d categories: %s", len(c.Categories), strings.Join(c.Categories, ", "))
	}
	return text
}

// Kind is the kind of a column.
type Kind int

const (
	// Numeric columns contain real numbers.
	Numeric Kind = iota
	// Categorical columns contain codes of categories.
	Categorical
	// Text columns contain strings, which step tfidf encodes. Only sets of readers, and of FromStructs and the like,
	// have them: their X refers to strings that are stored with it.
	Text
)

// String returns "numeric", "categorical" or "text".
func (k Kind) String() string {
	switch k {
	case Categorical:
		return "categorical"
	case Text:
		return "text"
	}
	return "numeric"
}

// Classes returns the class names, or nil unless the only target is categorical.
func (s Schema) Classes() []string {
	if len(s.Targets) == 1 && s.Targets[0].Kind == Categorical {
		return s.Targets[0].Categories
	}
	return nil
}

// Labels returns the names of the targets of the task MultiLabel, or nil unless there are several
// targets and all are categorical.
func (s Schema) Labels() []string {
	if len(s.Targets) < 2 {
		return nil
	}
	names := make([]string, len(s.Targets))
	for k, c := range s.Targets {
		if c.Kind != Categorical {
			return nil
		}
		names[k] = c.Name
	}
	return names
}

// Name returns the name of column j, or "x<j>" if it is unnamed.
func (s Schema) Name(j int) string {
	if j < len(s.Columns) && s.Columns[j].Name != "" {
		return s.Columns[j].Name
	}
	return "x" + strconv.Itoa(j)
}

// Column returns column j; it is numeric if the schema has no columns.
func (s Schema) Column(j int) Column {
	if j < len(s.Columns) {
		return s.Columns[j]
	}
	return Column{Name: s.Name(j)}
}

// Index returns the index of the column with the given name, or -1.
func (s Schema) Index(name string) int {
	for j := range s.Columns {
		if s.Columns[j].Name == name {
			return j
		}
	}
	return -1
}

// WithColumns returns s with the given columns and the same targets.
func (s Schema) WithColumns(columns []Column) Schema {
	s.Columns = columns
	return s
}

// Fold is a split of row numbers into training and test rows.
type Fold struct {
	Train, Test []int
}

// Shape describes rows before a fit, for estimates of cost.
type Shape struct {
	Rows, Cols int
	// Outputs is the number of outputs of a model; see [Schema.Outputs]. 0 means 1.
	Outputs int
	// NonZeros is the mean number of nonzeros of a sparse row; 0 for dense rows.
	NonZeros float64
	// Columns of the schema; nil if unknown.
	Columns []Column
	// Streamed reports that rows are read in blocks and mapped blocks are not stored.
	Streamed bool
	// Documents are the strings of the text columns; nil if unknown.
	Documents *Documents
}

// RowsInMemory returns the number of rows that a step stores at once: all, or some blocks of a
// stream.
func (s Shape) RowsInMemory() int {
	const blocks = 4 // an input block, its mapped block, and their sources
	if s.Streamed {
		return min(s.Rows, blocks*rowblock.Size)
	}
	return s.Rows
}

// Entries returns the number of stored entries per row: the nonzeros of a sparse row, else all.
func (s Shape) Entries() float64 {
	if s.NonZeros > 0 {
		return s.NonZeros
	}
	return float64(s.Cols)
}

// After returns the shape of the output of a step with the given cost. If the width is unchanged,
// so are the columns.
func (s Shape) After(c Cost) Shape {
	if c.OutputWidth < 0 || c.OutputWidth == s.Cols && c.NonZeros == 0 {
		return s
	}
	s.Cols, s.NonZeros, s.Columns, s.Documents = c.OutputWidth, c.NonZeros, nil, nil
	return s
}

// Shape returns the shape of the rows.
func (s Set) Shape() Shape {
	out := Shape{Rows: s.Rows(), Cols: s.Cols(), Outputs: s.Schema.Outputs(), Columns: s.Schema.Columns}
	if s.Targets != nil {
		_, out.Outputs = s.Targets.Dims()
	}
	entries := 0
	switch m := s.X.(type) {
	case *matrices.CSR:
		entries = max(m.NNZ(), 1)
	case rowblock.Placeholder:
		entries = m.NonZeros
		out.Documents, _ = m.Documents.(*Documents)
	}
	if entries > 0 && out.Rows > 0 {
		out.NonZeros = float64(entries) / float64(out.Rows)
	}
	return out
}

// Outputs returns the number of outputs of a model per row: the number of classes if it exceeds 2,
// else the number of targets, at least 1.
func (s Schema) Outputs() int {
	if k := len(s.Classes()); k > 2 {
		return k
	}
	return max(len(s.Targets), 1)
}

// ErrChanged is wrapped by the error of a reader whose file has changed between passes.
var ErrChanged = errors.New("the file has changed since it was first read")
