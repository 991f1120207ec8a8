package datasets

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/rows/structrows"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// New returns a set of numeric columns: n×d inputs with d distinct column names, or without names.
// Every fit returns the error of a repeated name, and so does [Set.Check]. Add the target by
// [Set.WithClasses] or [Set.WithTarget]:
//
//	data := datasets.New(X, "length", "width").WithClasses("species", species)
func New(X mat.Matrix, names ...string) Set {
	s := Set{X: X}
	if err := checkDistinct(names); err != nil {
		s.problem = fmt.Errorf("datasets: %w", err)
	}
	for _, name := range names {
		s.Schema.Columns = append(s.Schema.Columns, Column{Name: name})
	}
	return s
}

// checkDistinct returns an error if a name other than "" is repeated.
func checkDistinct(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] && name != "" {
			return fmt.Errorf("column names must be distinct, got %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// WithClasses returns the set with a target of class names, one for each row. Classes have codes in
// the order of their sorted names. For names that are integers it is numeric order.
func (s Set) WithClasses(name string, labels []string) Set {
	classes, codes := encode(labels)
	s.Y, s.Targets = codes, nil // NaN for an empty name, which Check rejects
	s.Schema.Targets = []Column{{Name: name, Kind: Categorical, Categories: classes}}
	return s
}

// WithText returns the set with one more input column, of strings, one for each row; "" is a missing value. X is
// copied, dense; a set without X gets the rows of the strings.
func (s Set) WithText(name string, values []string) (Set, error) {
	n, d := s.Rows(), s.Cols()
	if s.X == nil {
		n = len(values)
	}
	if n == 0 || len(values) != n {
		return Set{}, fmt.Errorf("datasets: text column %s must have %d rows as X, got %d", name, n, len(values))
	}
	X, table := mat.NewDense(n, d+1, nil), &textrows.Strings{}
	var columns []int
	m := textrows.Of(s.X)
	for i, text := range values {
		row := X.RawRowView(i)
		for j := range d {
			if m == nil || !m.IsText(j) {
				row[j] = s.X.At(i, j)
			} else if own, ok := m.Text(i, j); ok {
				row[j] = table.Add(own)
			} else {
				row[j] = math.NaN()
			}
		}
		if row[d] = math.NaN(); text != "" {
			row[d] = table.Add(text)
		}
	}
	if m != nil {
		columns = m.TextColumns()
	}
	all := make([]Column, 0, d+1)
	for j := range d {
		all = append(all, s.Schema.Column(j))
	}
	for _, c := range all {
		if c.Name == name && name != "" {
			return Set{}, fmt.Errorf("datasets: column names must be distinct, got %q twice", name)
		}
	}
	s.Schema.Columns = append(all, Column{Name: name, Kind: Text})
	s.X = textrows.New(X, append(columns, d), table)
	return s, nil
}

// WithTarget returns the set with a numeric target, one value for each row.
func (s Set) WithTarget(name string, values []float64) Set {
	s.Y, s.Targets = values, nil
	s.Schema.Targets = []Column{{Name: name}}
	return s
}

// sortedNames returns the different names that are not empty in order, numeric if all are integers.
func sortedNames(names []string) []string {
	out := slices.Compact(slices.Sorted(slices.Values(names)))
	if len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	numbers := make(map[string]*big.Int, len(out))
	for _, name := range out {
		v, ok := new(big.Int).SetString(name, 10)
		if !ok {
			return out
		}
		numbers[name] = v
	}
	slices.SortStableFunc(out, func(a, b string) int { return numbers[a].Cmp(numbers[b]) })
	return out
}

// FromStructs converts a slice of structs, or of pointers to structs, to a set with a column for
// each exported field:
//
//	type Flat struct {
//		Size     float64
//		District string
//		Floor    *int           // nil is missing
//		Built    time.Time      // year, month, day, weekday and hour
//		Zip      int            `bochner:"zip,categorical"`
//		Comment  sql.NullString `bochner:"-"`
//		Rent     float64
//	}
//	data, err := datasets.FromStructs(flats, "Rent")
//
// Numbers and bools are numeric columns. Strings are categorical, or text if they have several
// words and are mostly distinct. Times become numeric columns of their parts in UTC, see [Date].
// Integers are formatted exactly as classes, categories and groups. A nil pointer, NaN,
// an empty string, the zero time and an invalid value of a type such as sql.NullInt64 are missing.
// Columns have the names of the fields. A tag sets another name and options after a comma:
// categorical, numeric, text, target, class, weight, group. The option class is target and categorical in one.
//
// target names the column to predict; "" means the column with the option target or class, or none. Its kind follows
// from the tag or the type, not from the values: strings, bools and columns with the option class or categorical are
// classes; numbers, integers too, are numeric, and so are strings with the option numeric.
//
// It returns an error that joins one for each invalid field or value. [modelfile.Model.PredictRows]
// takes structs of the same type.
func FromStructs(rows any, target string) (Set, error) {
	list, err := structrows.Of(rows)
	if err != nil {
		return Set{}, fmt.Errorf("datasets: %w", err)
	}
	var b tableBuilder
	for _, f := range list.Fields {
		c := b.column(f.Name)
		c.options = f.Options
		for i := range list.Len() {
			c.addValue(list.Value(i, f))
		}
	}
	return b.set(target)
}

// FromSeq is [FromStructs] for the rows of an iterator, such as those of a database cursor. It ends with the first error
// of the iterator. Programs that interpret Go, such as gophernotes, lack generic functions: they collect a slice for
// FromStructs.
func FromSeq[T any](rows iter.Seq2[T, error], target string) (Set, error) {
	var list []T
	for row, err := range rows {
		if err != nil {
			return Set{}, fmt.Errorf("datasets: row %d: %w", len(list), err)
		}
		list = append(list, row)
	}
	return FromStructs(list, target)
}

// FromMaps returns rows of values by column name as a set, with the columns in the order of their
// names. Values and the target are as in [FromStructs]; a row without a name has a missing value.
// Without tags, integers that are classes must be strings or bools, or set by [Set.WithClasses].
func FromMaps(rows []map[string]any, target string) (Set, error) {
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	var b tableBuilder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := b.column(name)
		for _, row := range rows {
			c.addValue(reflect.ValueOf(row[name]))
		}
	}
	return b.set(target)
}

// FromSlices returns columns of equal length by name, such as []float64, []string or []time.Time,
// as a set, in the order of their names. Values and the target are as in [FromMaps].
func FromSlices(columns map[string]any, target string) (Set, error) {
	var b tableBuilder
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		c, list := b.column(name), reflect.ValueOf(columns[name])
		if list.Kind() != reflect.Slice {
			c.fail(fmt.Errorf("column %s must be a slice, got %T", name, columns[name]))
			continue
		}
		for i := range list.Len() {
			c.addValue(list.Index(i))
		}
	}
	return b.set(target)
}

// tableBuilder collects columns of Go values.
type tableBuilder struct{ columns []*memoryColumn }

func (b *tableBuilder) column(name string) *memoryColumn {
	c := &memoryColumn{name: name}
	b.columns = append(b.columns, c)
	return c
}

// memoryColumn is a column of values of one type; the first value determines it.
type memoryColumn struct {
	name    string
	options []string
	example any            // the first value that is not missing
	rows    int            // number of values
	numbers []float64      // numbers and bools; NaN is missing
	digits  map[int]string // by row, of integers that numbers may round
	strings []string       // "" is missing
	times   []time.Time    // the zero time is missing
	err     error          // the first one
}

func (c *memoryColumn) has(option string) bool { return slices.Contains(c.options, option) }

func (c *memoryColumn) fail(err error) { c.err = errors.Join(c.err, err) }

func (c *memoryColumn) addValue(v reflect.Value) {
	plain, err := structrows.Value(v)
	if err != nil && c.err == nil {
		c.fail(&RowError{Row: c.rows, Column: c.name, Err: err})
	}
	c.add(plain)
}

// add appends a value that [structrows.Value] has returned.
func (c *memoryColumn) add(v any) {
	if number, digits, ok := structrows.Number(v); ok {
		if v = number; digits != "" {
			if c.digits == nil {
				c.digits = map[int]string{}
			}
			c.digits[c.rows] = digits
		}
	}
	if c.example == nil {
		c.example = v
	}
	if v != nil && reflect.TypeOf(v) != reflect.TypeOf(c.example) && c.err == nil {
		c.fail(&RowError{Row: c.rows, Column: c.name,
			Err: fmt.Errorf("must be a %T as in the rows before, got a %T", c.example, v)})
	}
	number, text, at := math.NaN(), "", time.Time{}
	switch v := v.(type) {
	case float64:
		number = v
	case bool:
		number = 0
		if v {
			number = 1
		}
	case string:
		text = v
	case time.Time:
		at = v
	}
	switch c.example.(type) {
	case string:
		c.strings = append(pad(c.strings, c.rows), text)
	case time.Time:
		c.times = append(pad(c.times, c.rows), at)
	default:
		c.numbers = append(c.numbers, number)
	}
	c.rows++
}

// pad returns a list extended to n elements by zeros, for the missing values before the first value.
func pad[T any](list []T, n int) []T { return append(list, make([]T, n-len(list))...) }

// names returns the values as names of categories; "" is a missing value.
func (c *memoryColumn) names() []string {
	if c.strings != nil {
		return c.strings
	}
	out := make([]string, len(c.numbers))
	for i := range out {
		out[i] = c.numberName(i)
	}
	return out
}

// numberName returns the number or bool of row i as the name of a category.
func (c *memoryColumn) numberName(i int) string {
	v := c.numbers[i]
	if digits, ok := c.digits[i]; ok {
		return digits
	}
	if _, ok := c.example.(bool); ok && !math.IsNaN(v) {
		return strconv.FormatBool(v == 1)
	}
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// parse returns the values as numbers.
func (c *memoryColumn) parse() ([]float64, error) {
	if c.strings == nil {
		return c.numbers, nil
	}
	out := make([]float64, len(c.strings))
	for i, s := range c.strings {
		var err error
		if out[i] = math.NaN(); s == "" {
			continue
		}
		if out[i], err = strconv.ParseFloat(s, 64); err != nil {
			return nil, &RowError{Row: i, Column: c.name, Err: fmt.Errorf("must be a number, got %q", s)}
		}
	}
	return out, nil
}

// looksLikeText reports whether the kind of the column is not given and its values are text.
func (c *memoryColumn) looksLikeText() bool {
	return c.strings != nil && !c.isCategorical() && !c.has("numeric") && textrows.LooksLikeText(c.strings)
}

// isCategorical reports whether an option says that the values are categories, or classes.
func (c *memoryColumn) isCategorical() bool { return c.has("categorical") || c.has("class") }

// set returns the columns as a set with the given target.
func (b *tableBuilder) set(target string) (Set, error) {
	var out Set
	var errs []error
	var inputs [][]float64
	var textColumns []int // numbers of text columns
	table := &textrows.Strings{}
	rows, found := 0, target == ""
	for j, c := range b.columns {
		if j == 0 {
			rows = c.rows
		}
		if c.err != nil {
			errs = append(errs, c.err)
			continue
		}
		if c.rows != rows {
			errs = append(errs, fmt.Errorf("column %s must have %d values as %s, got %d", c.name, rows,
				b.columns[0].name, c.rows))
			continue
		}
		var err error
		switch {
		case c.name == target, target == "" && (c.has("target") || c.has("class")):
			if out.Schema.Targets != nil {
				err = fmt.Errorf("column %s: only one column can be the target, %s is one", c.name, out.Schema.Targets[0].Name)
				break
			}
			found, err = true, c.setTarget(&out)
		case c.has("weight"):
			out.Weights, err = c.parse()
		case c.has("group"):
			out.Groups = groupsOf(c.names())
		case c.times != nil:
			inputs = c.addDate(&out, inputs)
		case c.has("text"), c.looksLikeText():
			textColumns = append(textColumns, len(inputs))
			inputs = append(inputs, textrows.Numbers(c.names(), table))
			out.Schema.Columns = append(out.Schema.Columns, Column{Name: c.name, Kind: Text})
		case c.isCategorical(), c.strings != nil && !c.has("numeric"):
			categories, codes := encode(c.names())
			inputs = append(inputs, codes)
			out.Schema.Columns = append(out.Schema.Columns, Column{Name: c.name, Kind: Categorical, Categories: categories})
		default:
			var values []float64
			if values, err = c.parse(); err == nil {
				inputs = append(inputs, values)
				out.Schema.Columns = append(out.Schema.Columns, Column{Name: c.name})
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if !found {
		errs = append(errs, fmt.Errorf("target must be a column, got %q", target))
	}
	if len(errs) == 0 && (rows == 0 || len(inputs) == 0) {
		errs = append(errs, fmt.Errorf("%w: %d rows, %d columns", ErrEmpty, rows, len(inputs)))
	}
	if err := errors.Join(errs...); err != nil {
		return Set{}, fmt.Errorf("datasets: %w", err)
	}
	X := mat.NewDense(rows, len(inputs), nil)
	for j, values := range inputs {
		X.SetCol(j, values)
	}
	if out.X = X; textColumns != nil {
		out.X = textrows.New(X, textColumns, table)
	}
	return out, out.Check()
}

// setTarget makes the column the target of s.
func (c *memoryColumn) setTarget(s *Set) error {
	if i := slices.IndexFunc(c.names(), func(name string) bool { return name == "" }); i >= 0 && c.times == nil {
		return &RowError{Row: i, Column: c.name, Err: errors.New("target must not be missing")}
	}
	_, isBool := c.example.(bool)
	switch {
	case c.times != nil:
		return fmt.Errorf("column %s: target must be numbers or classes, got times", c.name)
	case c.isCategorical(), (isBool || c.strings != nil) && !c.has("numeric"):
		*s = s.WithClasses(c.name, c.names())
	default:
		values, err := c.parse()
		if err != nil {
			return err
		}
		*s = s.WithTarget(c.name, values)
	}
	return nil
}

// addDate appends the parts of dates to the columns.
func (c *memoryColumn) addDate(s *Set, inputs [][]float64) [][]float64 {
	names := Date{}.Names(c.name)
	parts := make([][]float64, len(names))
	for p, name := range names {
		parts[p] = make([]float64, len(c.times))
		s.Schema.Columns = append(s.Schema.Columns, Column{Name: name, EncodedFrom: c.name})
	}
	for i, t := range c.times {
		for p, v := range (Date{}).Values(t) {
			if parts[p][i] = v; t.IsZero() {
				parts[p][i] = math.NaN()
			}
		}
	}
	return append(inputs, parts...)
}

// encode returns the sorted categories of a column and the code of each row, NaN for missing.
func encode(names []string) (categories []string, codes []float64) {
	categories = sortedNames(names)
	index := make(map[string]float64, len(categories))
	for k, name := range categories {
		index[name] = float64(k)
	}
	codes = make([]float64, len(names))
	for i, name := range names {
		code, ok := index[name]
		if codes[i] = code; !ok {
			codes[i] = math.NaN()
		}
	}
	return categories, codes
}

// groupsOf numbers the groups in order of their names.
func groupsOf(names []string) []int {
	_, codes := encode(names)
	out := make([]int, len(codes))
	for i, code := range codes {
		if out[i] = -1; !math.IsNaN(code) {
			out[i] = int(code)
		}
	}
	return out
}
