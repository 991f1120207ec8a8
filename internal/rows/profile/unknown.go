package profile

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Unknown counts the categories of rows that are not in the training rows, also those of names and of lists of labels
// ([datasets.Format]). It is not safe for concurrent use.
type Unknown struct {
	rows    int
	columns []*unknownCounter // nil if no column has categories
}

// NewUnknown returns an empty count for rows with the schema of the training rows and the given number of columns.
func NewUnknown(schema datasets.Schema, cols int) *Unknown {
	u := &Unknown{}
	last := -1
	for j := range cols {
		column := schema.Column(j)
		c := &unknownCounter{name: schema.Name(j), categorical: column.Kind == datasets.Categorical, format: column.Format}
		if column.Format.HasCategories() {
			c.known = make(map[string]bool, len(column.Categories))
			for _, name := range column.Categories {
				c.known[name] = true
			}
		}
		if u.columns = append(u.columns, c); c.categorical || c.known != nil {
			last = j
		}
	}
	if u.columns = u.columns[:last+1]; last < 0 {
		u.columns = nil
	}
	return u
}

// Add adds a block of rows.
func (u *Unknown) Add(ctx context.Context, X mat.Matrix) error {
	n, _ := X.Dims()
	u.rows += n
	if u.columns == nil {
		return nil
	}
	return addRows(ctx, u.columns, X)
}

// Counts returns the number of rows with an unknown category for each column that has one, nil for none.
func (u *Unknown) Counts() map[string]int {
	var out map[string]int
	for _, c := range u.columns {
		if c.rows > 0 && out == nil {
			out = map[string]int{}
		}
		if c.rows > 0 {
			out[c.name] = c.rows
		}
	}
	return out
}

// Warning returns a warning in one line, "" if all categories are known.
func (u *Unknown) Warning() string {
	var parts []string
	for _, c := range u.columns {
		if c.rows > 0 {
			parts = append(parts, fmt.Sprintf("%q in %d", c.name, c.rows))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("unknown categories, which the training rows do not have: %s of %d rows", suggest.List(parts),
		u.rows)
}

// unknownCounter counts the rows with an unknown category in a column.
type unknownCounter struct {
	name        string
	categorical bool
	format      datasets.Format
	known       map[string]bool // categories of strings; nil if the column has none
	rows        int
}

func (c *unknownCounter) add(v float64) {
	if c.categorical && v == datasets.Unknown {
		c.rows++
	}
}

func (c *unknownCounter) addZeros(int) {}

// addText counts a string with an unknown category, or with several, once.
func (c *unknownCounter) addText(text string) {
	if c.known != nil && slices.ContainsFunc(c.format.Labels(text), func(label string) bool { return !c.known[label] }) {
		c.rows++
	}
}
