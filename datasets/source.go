// Package datasets holds rows of data: in memory as a [Set], or as a stream of blocks as a [Source].
// Either has a [Schema], which names the columns.
//
// A reader turns texts into numbers once, by the schema; all that comes after it sees only matrices. A
// categorical column holds the code of its category, 0 for the first. [Unknown] stands for a category that
// the schema does not list, and NaN for a missing value. The schema goes with the data and then with the
// model, so that new rows get the codes that the training rows had.
//
// The readers are packages csv, arff, svmlight, npy, parquet and arrow below this one, and package sourcetest holds any Source
// to the laws that theirs obey.
package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/rowblock"
)

// Source is rows as a stream of blocks that can be read more than once.
type Source interface {
	// Schema says what the columns are. It is known before the first block.
	Schema() Schema
	// Dims returns the number of rows, -1 where only reading would tell, and of columns.
	Dims() (rows, cols int)
	// Blocks reads from the first row and hands consecutive blocks to yield, until the last row or
	// the first error, which it returns. A block is to be read only, and its arrays are reused
	// once yield has returned.
	Blocks(ctx context.Context, yield func(block Set) error) error
}

// Float32Source is a source whose rows can be had in single precision too, where they take half the memory and are read much
// faster. Who looks for a minimum reads those on the way, and the rows themselves where a sum must be right.
type Float32Source interface {
	Source
	// Float32Source returns the same rows with their inputs in single precision.
	Rounded() Source
}

// Schema says what the columns of a set are and what its target is. No columns named means that
// every column is numeric and has no name of its own.
type Schema struct {
	Columns []Column
	Targets []Column // none, one, or several, of which categorical ones have codes as values
	Missing []string // texts that stood for a missing value in the file; nil for the reader's own
}

// Column is the name and kind of a column.
type Column struct {
	Name        string
	Kind        Kind
	Categories  []string // the categories of a categorical column: number i has code i
	EncodedFrom string   // name of the categorical column that a step has encoded to this one and others; "" for none
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
		if fitted.Name != c.Name || fitted.Kind != c.Kind || !slices.Equal(fitted.Categories, c.Categories) {
			return fmt.Errorf("column %s must be as in the fit (%s), got %s", fitted.Name, fitted.describe(), c.describe())
		}
	}
	return nil
}

// describe returns the name, the kind and the first categories of a column.
func (c Column) describe() string {
	const shown = 4
	text := fmt.Sprintf("%s, named %s", c.Kind, c.Name)
	switch {
	case c.Kind != Categorical:
	case len(c.Categories) > shown:
		text += fmt.Sprintf(", %d categories: %s, …", len(c.Categories), strings.Join(c.Categories[:shown], ", "))
	default:
		text += fmt.Sprintf(", %d categories: %s", len(c.Categories), strings.Join(c.Categories, ", "))
	}
	return text
}

// Kind says what the numbers of a column mean.
type Kind int

const (
	// Numeric columns hold quantities.
	Numeric Kind = iota
	// Categorical columns hold codes of categories.
	Categorical
)

// String returns "numeric" or "categorical".
func (k Kind) String() string {
	if k == Categorical {
		return "categorical"
	}
	return "numeric"
}

// Classes returns the names of the classes, none where the target is not categorical.
func (s Schema) Classes() []string {
	if len(s.Targets) == 1 && s.Targets[0].Kind == Categorical {
		return s.Targets[0].Categories
	}
	return nil
}

// Name returns the name of column j, "x<j>" where it has none.
func (s Schema) Name(j int) string {
	if j < len(s.Columns) && s.Columns[j].Name != "" {
		return s.Columns[j].Name
	}
	return "x" + strconv.Itoa(j)
}

// Column returns column j, one of numeric kind where the schema names none.
func (s Schema) Column(j int) Column {
	if j < len(s.Columns) {
		return s.Columns[j]
	}
	return Column{Name: s.Name(j)}
}

// Index returns the number of the column called name, -1 where there is none.
func (s Schema) Index(name string) int {
	for j := range s.Columns {
		if s.Columns[j].Name == name {
			return j
		}
	}
	return -1
}

// WithColumns returns the schema with other columns and the same targets.
func (s Schema) WithColumns(columns []Column) Schema {
	s.Columns = columns
	return s
}

// Fold is one division of rows, by number, into those to train on and those held out.
type Fold struct {
	Train, Test []int
}

// Shape is what there is to know of rows before anything is fitted to them.
type Shape struct {
	Rows, Cols int
	// Outputs is how many numbers a model has for a row: one for each target, for each class where there
	// are more than two, else 1, for which 0 stands, too.
	Outputs int
	// Filled is how many entries of a row are not 0, in the mean, where the rows are sparse; 0 where
	// they are dense.
	Filled float64
	// Columns are those of the schema, nil where they are not known.
	Columns []Column
	// Streamed says that the rows come in blocks, and that nobody keeps what is made of one.
	Streamed bool
}

// InMemory is how many rows are in memory at once where a step maps them: all, of a stream some blocks.
func (s Shape) Held() int {
	const blocks = 4 // one that is read, one that is mapped, and what these are made of
	if s.Streamed {
		return min(s.Rows, blocks*rowblock.Size)
	}
	return s.Rows
}

// Entries is the number of entries of a row that count: those that are not 0, of a dense one all.
func (s Shape) Entries() float64 {
	if s.Filled > 0 {
		return s.Filled
	}
	return float64(s.Cols)
}

// After returns the shape of rows that a step of that cost has mapped. As many columns as before are
// taken for the same ones.
func (s Shape) After(c Cost) Shape {
	if c.OutputWidth < 0 || c.OutputWidth == s.Cols && c.NonZeros == 0 {
		return s
	}
	s.Cols, s.Filled, s.Columns = c.OutputWidth, c.NonZeros, nil
	return s
}

// Shape returns that of the rows.
func (s Set) Shape() Shape {
	out := Shape{Rows: s.Rows(), Cols: s.Cols(), Outputs: s.Schema.Outputs(), Columns: s.Schema.Columns}
	if s.Targets != nil {
		_, out.Outputs = s.Targets.Dims()
	}
	if m, ok := s.X.(interface{ NNZ() int }); ok && out.Rows > 0 {
		out.Filled = max(float64(m.NNZ())/float64(out.Rows), 1e-9)
	}
	return out
}

// Outputs is how many numbers a model has for a row: one for each target, for each class where there
// are more than two, else 1.
func (s Schema) Outputs() int {
	if k := len(s.Classes()); k > 2 {
		return k
	}
	return max(len(s.Targets), 1)
}

// ErrChanged is a file that is not what it was when it was first read.
var ErrChanged = errors.New("the file has changed since it was first read")
