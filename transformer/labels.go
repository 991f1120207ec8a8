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
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// labelColumn is a text column whose strings are categories, or lists of them; the zero value is a column of codes.
type labelColumn struct {
	format datasets.Format
	names  []string
	codes  map[string]int
}

// labelColumns returns the columns of a schema by number, nil if none is text with categories.
func labelColumns(schema datasets.Schema, width int) []labelColumn {
	var out []labelColumn
	for j := range width {
		if c := schema.Column(j); c.Kind == datasets.Text && c.Format.HasCategories() {
			if out == nil {
				out = make([]labelColumn, width)
			}
			out[j] = newLabelColumn(c.Format, c.Categories)
		}
	}
	return out
}

func newLabelColumn(format datasets.Format, names []string) labelColumn {
	c := labelColumn{format: format, names: names, codes: make(map[string]int, len(names))}
	for code, name := range names {
		c.codes[name] = code
	}
	return c
}

// each calls f with the code of every category in a string, in ascending order; [datasets.Unknown] comes first.
func (c labelColumn) each(text string, f func(code int)) {
	var codes []int
	for _, label := range c.format.Labels(text) {
		code, ok := c.codes[label]
		if !ok {
			code = datasets.Unknown
		}
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		f(code)
	}
}

// eachLabel is eachCode for rows in which some columns are strings.
func eachLabel(ctx context.Context, step string, X mat.Matrix, first int, labels []labelColumn, levels []int,
	schema datasets.Schema, f func(i, j, code int)) error {
	rows := textrows.Of(X)
	n, cols := X.Dims()
	if cols != len(levels) {
		return fmt.Errorf("transformer: %s: %d columns at fit, %d now", step, len(levels), cols)
	}
	if n == 0 {
		return fmt.Errorf("transformer: %s: no rows: %w", step, datasets.ErrEmpty)
	}
	for j := range labels {
		if text := rows != nil && rows.IsText(j); text != (labels[j].codes != nil) {
			return fmt.Errorf("transformer: %s: column %s must be as in the fit, which is text: %t", step, schema.Name(j), !text)
		}
	}
	for i := range n {
		if i%tileRows == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		for j, c := range labels {
			if c.codes == nil {
				code, err := codeOf(step, X.At(i, j), first+i, j, levels[j], schema)
				if err != nil {
					return err
				}
				f(i, j, code)
			} else if text, ok := rows.Text(i, j); ok {
				c.each(text, func(code int) { f(i, j, code) })
			} else {
				f(i, j, missingCode)
			}
		}
	}
	return nil
}

// codeRows returns rows with the codes of names instead of strings, and other rows as they are, for the method
// Transform of a step that takes both.
func codeRows(ctx context.Context, step string, X mat.Matrix, labels []labelColumn, levels []int) (mat.Matrix, error) {
	n := rowsOf(X)
	if labels == nil || n == 0 {
		return checkRows(step, X, len(levels))
	}
	codes := mat.NewDense(n, len(levels), nil)
	err := eachLabel(ctx, step, X, 0, labels, levels, datasets.Schema{}, func(i, j, code int) {
		v := float64(code)
		if code == missingCode {
			v = math.NaN()
		}
		codes.Set(i, j, v)
	})
	return codes, err
}

// errLabelExport is the error of the export of a step of strings.
var errLabelExport = errors.New("names and lists of labels are strings, for which exports have no operations; serve " +
	"the model file itself")

// labelCounts count the categories of rows in which some columns are strings.
type labelCounts struct {
	*codeCounts
	labels []labelColumn
}

// Add counts the categories of a block.
func (c *labelCounts) Add(ctx context.Context, first int, block datasets.Set) error {
	err := eachLabel(ctx, c.step, block.X, first, c.labels, c.levels, c.schema, func(_, j, code int) {
		if code >= 0 {
			c.counts[c.first[j]+code]++
		}
	})
	return block.Locate(err, first)
}

// Merge adds the counts of other rows.
func (c *labelCounts) Merge(_ context.Context, other pass.Sums) error {
	return c.merge(other.(*labelCounts).codeCounts)
}

// Next returns nil: one pass suffices.
func (c *labelCounts) Next(context.Context) (pass.Sums, error) { return nil, nil }

// State saves or restores the counts.
func (c *labelCounts) State(s *model.State) { c.state(s) }

// labelState serializes the columns of strings.
func labelState(s *model.State, labels *[]labelColumn, levels []int) {
	var formats, names []string
	for _, c := range *labels {
		formats, names = append(formats, c.format.String()), append(names, c.names...)
	}
	if !s.Restoring() && *labels == nil || s.Restoring() && !s.Has("formats") {
		return
	}
	s.Strings("formats", &formats)
	s.Strings("names", &names)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if s.Require(len(formats) == len(levels), "formats and columns differ in number"); s.Err() != nil {
		return
	}
	for j, text := range formats {
		format, err := datasets.Format{}.Parse(text)
		c := labelColumn{}
		if err == nil && format.HasCategories() && levels[j] >= 0 && levels[j] <= len(names) {
			c, names = newLabelColumn(format, names[:levels[j]:levels[j]]), names[levels[j]:]
		} else if s.Require(text == "", "a format is not known, or names are missing"); s.Err() != nil {
			return
		}
		*labels = append(*labels, c)
	}
	s.Require(len(names) == 0, "there are more names than columns have")
}
