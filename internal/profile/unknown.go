package profile

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/suggest"
)

// Unknown counts the categories of rows that are not in the training rows. It is not safe for concurrent use.
type Unknown struct {
	rows    int
	columns []*unknownCounter // nil if no column is categorical
}

// NewUnknown returns an empty count for rows with the schema of the training rows and the given number of columns.
func NewUnknown(schema datasets.Schema, cols int) *Unknown {
	last := -1
	for j := range cols {
		if schema.Column(j).Kind == datasets.Categorical {
			last = j
		}
	}
	u := &Unknown{}
	for j := range last + 1 {
		u.columns = append(u.columns, &unknownCounter{name: schema.Name(j),
			categorical: schema.Column(j).Kind == datasets.Categorical})
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
	rows        int
}

func (c *unknownCounter) add(v float64) {
	if c.categorical && v == datasets.Unknown {
		c.rows++
	}
}

func (c *unknownCounter) addZeros(int)   {}
func (c *unknownCounter) addText(string) {}
