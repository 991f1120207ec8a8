package rowencoding

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/internal/rows/structrows"
)

// maxSerialRows is the number of rows for which lookups need no index.
const maxSerialRows = 16

// Encode returns rows of values by the name of their column as a set: see modelfile.Model.Encode.
func (c *Coding) Encode(rows []map[string]any) (datasets.Set, error) {
	if len(rows) > maxSerialRows {
		c.Index()
	}
	c = c.ForRequest()
	var errs rowerrors.List
	var x, y []float64
	targets := slices.ContainsFunc(rows, func(row map[string]any) bool {
		return slices.ContainsFunc(c.schema.Targets, func(t datasets.Column) bool { _, has := row[t.Name]; return has })
	})
	for i, row := range rows {
		if !errs.Empty() { // after an error, rows are only validated
			x, y = x[:0], y[:0]
		}
		x = append(x, make([]float64, c.Width)...)
		if targets {
			y = append(y, slices.Repeat([]float64{math.NaN()}, len(c.schema.Targets))...)
		}
		c.encode(i, row, x[len(x)-c.Width:], y, &errs)
	}
	if err := errs.RowErrors(); err != nil {
		return datasets.Set{}, err
	}
	out := datasets.Set{X: c.Rows(x, len(rows)), Schema: c.schema}
	switch t := len(c.schema.Targets); {
	case !targets:
	case t == 1:
		out.Y = y
	default:
		out.Targets = mat.NewDense(len(rows), t, y)
	}
	return out, nil
}

// encode writes row i to x and its targets to the end of y.
func (c *Coding) encode(i int, row map[string]any, x, y []float64, errs *rowerrors.List) {
	given := make([]string, c.Width) // the field of each column
	for _, name := range slices.Sorted(maps.Keys(row)) {
		k, known := c.byName[name]
		if !known {
			errs.At(i, name, "the model has no such column; it has %s", c.Names())
			continue
		}
		f := &c.Fields[k]
		for _, j := range f.Columns {
			if given[j] != "" {
				errs.At(i, c.Fields[j].Name, "given twice: the date %s has it too", given[j])
			}
			given[j] = name
		}
		to := x
		if f.target >= 0 {
			target := *f // of which the codes are shared
			target.Columns, to = []int{f.target}, y[len(y)-len(c.schema.Targets):]
			f = &target
		}
		if f.Ignored() {
			continue
		}
		if want := c.put(to, f, plain(row[name])); want != "" {
			errs.At(i, name, "must be %s, got %s", want, show(row[name]))
		}
		if f.target >= 0 && to[f.target] == datasets.Unknown && f.Kind == datasets.Categorical {
			to[f.target] = math.NaN()
		}
	}
	if !slices.Contains(given, "") {
		return
	}
	for _, f := range c.Absent(func(j int) bool { return given[j] != "" }) {
		errs.At(i, f.Name, "no value; a missing one is nil")
	}
}

// put writes the value of a field into a row, or returns the violated constraint.
func (c *Coding) put(row []float64, f *Field, v any) (want string) {
	switch v.(type) {
	case nil:
		f.SetMissing(row)
		return ""
	case json.Number, int64, uint64, float64, bool:
		if f.Kind == datasets.Text || f.Unit != "" {
			return f.Constraint()
		}
	}
	switch v := v.(type) {
	case string:
		return c.Code(row, f, []byte(v))
	case json.Number:
		number, ok := decimal(string(v))
		if f.Date == nil && (ok || f.Kind == datasets.Categorical) {
			row[f.Columns[0]] = f.Number([]byte(v), number)
			return ""
		}
	case int64, uint64:
		if f.Date == nil {
			number, digits, _ := structrows.Number(v)
			row[f.Columns[0]] = f.Number([]byte(digits), number)
			return ""
		}
	case float64:
		if f.Date == nil && (!math.IsInf(v, 0) || f.Kind == datasets.Categorical) {
			row[f.Columns[0]] = f.Number(nil, v)
			return ""
		}
	case bool:
		if f.Date == nil {
			row[f.Columns[0]] = f.Truth(v)
			return ""
		}
	case time.Time:
		if f.Date != nil {
			f.setDate(row, v)
			return ""
		}
	}
	switch {
	case f.Date != nil:
		return "a time.Time or " + f.Constraint()
	case f.Kind == datasets.Categorical:
		return "a category"
	case f.IsString():
		return f.Constraint()
	}
	return "a number"
}

// plain converts a value to one of the types of [structrows.Value]. Other values are unchanged.
func plain(v any) any {
	if plain, err := structrows.Value(reflect.ValueOf(v)); err == nil {
		return plain
	}
	return v
}

// show returns a value as an error has it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64, bool, json.Number:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("a %T", v)
}
