package table

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/structrows"
	"github.com/bochner-ml/bochner/internal/textrows"
	"github.com/bochner-ml/bochner/sparse"
)

// block collects encoded rows until it is full.
type block struct {
	*source
	capacity      int
	rows          int
	x             []float64         // dense inputs and free capacity
	strings       *textrows.Strings // of the text columns; nil if there are none
	indptr        []int             // sparse inputs
	indices       []uint32
	values        []float64
	entries       []entry // sparse inputs of the current row
	targets       []float64
	weights       []float64
	groups        []int
	numbers       map[string]int // group numbers by name
	names         []string       // group names by number
	passthrough   [][]string
	unlabeled     []fieldPosition // first rows without a target
	moreUnlabeled int             // number of other rows without a target
}

// entry is one input of a sparse row.
type entry struct {
	column uint32
	value  float64
}

func (s *source) newBlock() *block {
	b := &block{source: s, capacity: rowblock.Size, indptr: []int{0}, numbers: map[string]int{}}
	if !s.layout.sparse {
		b.capacity = rowblock.SizeForWidth(len(s.schema.Columns))
	}
	b.newStrings()
	return b
}

// newStrings starts a table of strings: a selection of rows of an earlier set may refer to the last one.
func (b *block) newStrings() {
	if b.texts != nil {
		b.strings = &textrows.Strings{}
	}
}

// row returns the dense inputs of the next row, to be set.
func (b *block) row() []float64 {
	cols := len(b.schema.Columns)
	if from := b.rows * cols; from+cols <= len(b.x) {
		return b.x[from : from+cols]
	}
	return b.reserve(1)
}

// reserve returns the dense inputs of the next rows, to be set. A block starts small for small
// files.
func (b *block) reserve(rows int) []float64 {
	cols := len(b.schema.Columns)
	from, to := b.rows*cols, (b.rows+rows)*cols
	if to > len(b.x) {
		x := make([]float64, max(to, min(max(2*len(b.x), 16*cols), b.capacity*cols)))
		copy(x, b.x[:from])
		b.x = x
	}
	return b.x[from:to]
}

// reset empties the block and its group numbers.
func (b *block) reset() {
	b.clear()
	clear(b.numbers)
	b.names, b.unlabeled, b.moreUnlabeled = b.names[:0], nil, 0
}

// clear removes the rows of the block.
func (b *block) clear() {
	b.rows = 0
	b.newStrings()
	b.indptr, b.indices, b.values = b.indptr[:1], b.indices[:0], b.values[:0]
	b.targets, b.weights, b.groups, b.passthrough = b.targets[:0], b.weights[:0], b.groups[:0], b.passthrough[:0]
}

// begin appends default targets, weight, group and passthrough strings for the next row.
func (b *block) begin(rec *Record) {
	b.targets = append(b.targets, b.implicitTargets...)
	if b.weighted {
		b.weights = append(b.weights, rec.Weight)
	} else if b.layout.weight >= 0 {
		b.weights = append(b.weights, 1)
	}
	if b.layout.group >= 0 {
		b.groups = append(b.groups, 0)
	}
	if b.layout.passthrough != nil {
		b.passthrough = append(b.passthrough, b.passthroughOf(rec))
	}
}

// addNumbers encodes a record if the reader has parsed all its numbers, and reports whether it did.
func (b *block) addNumbers(rec *Record) bool {
	l, row := b.layout, b.row()
	for k, j := range l.inputs {
		v := rec.Numbers[j]
		if v != v {
			return false
		}
		row[k] = v
	}
	for _, j := range l.targets {
		if v := rec.Numbers[j]; v != v {
			return false
		}
	}
	b.begin(rec)
	for k, j := range l.targets {
		b.targets[b.rows*len(l.targets)+k] = rec.Numbers[j]
	}
	b.rows++
	return true
}

// add encodes one record.
func (b *block) add(rec *Record) error {
	if b.numericOnly && rec.Numbers != nil && b.addNumbers(rec) {
		return nil
	}
	b.begin(rec)
	var err error
	if b.layout.sparse {
		err = b.addSparse(rec)
	} else {
		err = b.addDense(rec)
	}
	b.rows++
	return err
}

// removeLast removes a row that add could not encode.
func (b *block) removeLast() {
	b.rows--
	b.targets = b.targets[:b.rows*len(b.layout.targets)]
	if len(b.weights) > b.rows {
		b.weights = b.weights[:b.rows]
	}
	if len(b.groups) > b.rows {
		b.groups = b.groups[:b.rows]
	}
	if len(b.passthrough) > b.rows {
		b.passthrough = b.passthrough[:b.rows]
	}
}

func (b *block) addDense(rec *Record) error {
	row := b.row()
	for j, field := range rec.Fields {
		c := &b.cells[j]
		if c.isText {
			if row[c.at] = math.NaN(); field != nil {
				row[c.at] = b.strings.Add(string(field))
			}
			continue
		}
		if c.use == input && c.codes == nil {
			v, ok := math.NaN(), true
			if field != nil {
				v, ok = b.layout.number(rec, j)
			}
			if !ok {
				return b.layout.notNumberError(rec.Line, j, field)
			}
			row[c.at] = v
			continue
		}
		if c.use == input {
			row[c.at] = c.lookup(field)
			continue
		}
		if err := b.addOther(rec.Line, j, c, field); err != nil {
			return err
		}
	}
	return nil
}

func (b *block) addSparse(rec *Record) error {
	b.entries = b.entries[:0]
	for k, field := range rec.Fields {
		j := rec.Columns[k]
		c := &b.cells[j]
		if c.use != input {
			if err := b.addOther(rec.Line, j, c, field); err != nil {
				return err
			}
			continue
		}
		v := c.lookup(field)
		if c.codes == nil && field != nil {
			var ok bool
			if v, ok = b.layout.notation.Number(field); !ok {
				return b.layout.notNumberError(rec.Line, j, field)
			}
		}
		if v != 0 {
			b.entries = append(b.entries, entry{uint32(c.at), v})
		}
	}
	slices.SortFunc(b.entries, func(x, y entry) int { return int(x.column) - int(y.column) })
	for _, e := range b.entries {
		b.indices = append(b.indices, e.column)
		b.values = append(b.values, e.value)
	}
	b.indptr = append(b.indptr, len(b.indices))
	if j := b.layout.weight; j >= 0 && !slices.Contains(rec.Columns, j) {
		b.weights[b.rows] = 0
	}
	if j := b.layout.group; j >= 0 && !slices.Contains(rec.Columns, j) {
		b.groups[b.rows] = b.groupNumber([]byte("0"))
	}
	return nil
}

// missingMarkers are strings that often denote a missing value.
var missingMarkers = []string{"?", "-", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "none"}

// notNumberError returns an error about a string in a numeric column.
func (l *layout) notNumberError(line, j int, field []byte) error {
	if slices.Contains(missingMarkers, string(field)) {
		return l.fieldError(line, j, "%q is not a number; if it denotes a missing value, add it to missing", field)
	}
	return l.fieldError(line, j, "%q is not a number", field)
}

// addOther encodes a field that is not an input.
func (b *block) addOther(line, j int, c *cell, field []byte) error {
	v, err := b.parseOther(j, c, field)
	if errors.Is(err, errNoTarget) { // reported at the end, with all such rows
		b.addUnlabeled(line, j)
		err = nil
	}
	if err != nil {
		return b.layout.fieldError(line, j, "%w", err)
	}
	switch c.use {
	case target:
		b.targets[b.rows*len(b.layout.targets)+c.at] = v
	case weight:
		if b.weighted {
			v *= b.weights[b.rows]
		}
		b.weights[b.rows] = v
	case group:
		b.groups[b.rows] = b.groupNumber(field)
	}
	return nil
}

// parseOther returns the value of a target or weight.
func (s *source) parseOther(j int, c *cell, field []byte) (float64, error) {
	if c.use == dropped {
		return 0, nil
	}
	if err := s.layout.checkRequired(j, field); err != nil || field == nil {
		return math.NaN(), err
	}
	switch c.use {
	case target:
		return s.parseTarget(c, bytes.TrimSuffix(field, s.layout.suffix))
	case weight:
		v, _ := s.layout.notation.Number(field)
		return v, nil
	}
	return 0, nil
}

// parseTarget returns the target in a field, NaN if it is invalid and Unlabeled is set.
func (s *source) parseTarget(c *cell, field []byte) (float64, error) {
	if c.codes == nil {
		if v, ok := s.layout.notation.Number(field); ok {
			return v, nil
		}
		if !s.layout.roles.Unlabeled {
			return 0, fmt.Errorf("%q is not a number", field)
		}
		return math.NaN(), nil
	}
	v := c.lookup(field)
	switch {
	case v != datasets.Unknown:
		return v, nil
	case s.layout.roles.Unlabeled:
		return math.NaN(), nil
	}
	return 0, fmt.Errorf("class must be one of the schema (%s), got %q", joinNames(s.schema.Targets[c.at].Categories),
		field)
}

// fieldPosition is the position of a field.
type fieldPosition struct{ line, column int }

// maxUnlabeled is the maximum number of rows without a target in an error.
const maxUnlabeled = 12

// addUnlabeled records a row without a target.
func (b *block) addUnlabeled(line, j int) {
	last := len(b.unlabeled) - 1
	switch {
	case last >= 0 && b.unlabeled[last].line == line: // another target of the same row
	case len(b.unlabeled) < maxUnlabeled:
		b.unlabeled = append(b.unlabeled, fieldPosition{line, j})
	default:
		b.moreUnlabeled++
	}
}

// unlabeledError returns the error that lists the rows without a target.
func (b *block) unlabeledError() error {
	if len(b.unlabeled) == 0 {
		return nil
	}
	form, first, others := b.layout.form, b.unlabeled[0], ""
	file, _ := form.fileLine(first.line)
	for k, p := range b.unlabeled[1:] {
		other, at := form.fileLine(p.line)
		switch {
		case k > 0:
			others += ", "
		case form.NoLines:
			others = "; also in row "
		default:
			others = "; also in line "
		}
		if form.NoLines {
			at--
		}
		switch {
		case other == file:
			others += strconv.Itoa(at)
		case form.NoLines:
			others += fmt.Sprintf("%d of %s", at, other)
		default:
			others += fmt.Sprintf("%s:%d", other, at)
		}
	}
	if b.moreUnlabeled > 0 {
		others += fmt.Sprintf(" and %d more", b.moreUnlabeled)
	}
	return b.layout.fieldError(first.line, first.column, "%w; set missing_target: drop to skip such rows%s", errNoTarget,
		others)
}

// passthroughOf returns the passthrough strings of a record. A sparse record omits zeros and first
// categories.
func (b *block) passthroughOf(rec *Record) []string {
	out := make([]string, len(b.layout.passthrough))
	for k, j := range b.layout.passthrough {
		at := j
		if b.layout.sparse {
			at = slices.Index(rec.Columns, j)
		}
		switch levels := b.layout.columns[j].Categories; {
		case at >= 0:
			out[k] = string(rec.Fields[at])
		case len(levels) > 0:
			out[k] = levels[0]
		default:
			out[k] = "0"
		}
	}
	return out
}

// lookup returns the code of a category, NaN if it is missing.
func (c *cell) lookup(level []byte) float64 {
	if level == nil {
		return math.NaN()
	}
	if code, ok := c.codes[string(level)]; ok {
		return code
	}
	if c.isBoolean {
		for _, as := range booleanSpellings[string(level)] {
			if code, ok := c.codes[as]; ok {
				return code
			}
		}
	}
	if c.values != nil {
		if v, ok := text.Number(level); ok && !structrows.IsRounded(level, v) {
			if code, ok := c.values[v]; ok {
				return code
			}
		}
	}
	if trimmed := bytes.TrimSpace(level); len(trimmed) > 0 && len(trimmed) < len(level) {
		return c.lookup(trimmed) // databases and typed files pad strings, readers of text trim them
	}
	return c.unknownCode
}

// groupNumber returns the number of a group: the one from the first pass, else the next free one.
func (b *block) groupNumber(name []byte) int {
	if number, ok := b.source.groups[string(name)]; ok {
		return number
	}
	number, ok := b.numbers[string(name)]
	if !ok {
		number = len(b.source.groups) + len(b.numbers)
		own := string(name)
		b.numbers[own], b.names = number, append(b.names, own)
	}
	return number
}

// flush passes the rows to yield and empties the block.
func (b *block) flush(yield func(datasets.Set) error) error {
	out, err := b.set(0, b.rows)
	if err != nil {
		return err
	}
	if len(b.unlabeled) == 0 { // else an error at the end lists all such rows
		if err := yield(out); err != nil {
			return err
		}
	}
	b.clear()
	return nil
}

// set returns rows lo to hi−1, or all rows if they are sparse.
func (b *block) set(lo, hi int) (datasets.Set, error) {
	out := datasets.Set{Schema: b.schema}
	cols := len(b.schema.Columns)
	if !b.layout.sparse {
		out.X = mat.NewDense(hi-lo, cols, b.x[lo*cols:hi*cols:hi*cols])
		if b.texts != nil {
			out.X = textrows.New(out.X.(*mat.Dense), b.texts, b.strings)
		}
	} else {
		X, err := sparse.New(b.rows, cols, b.indptr, b.indices, b.values)
		if err != nil {
			return out, err
		}
		out.X = X
	}
	switch t := len(b.layout.targets); t {
	case 0:
	case 1:
		out.Y = b.targets[lo:hi:hi]
	default:
		out.Targets = mat.NewDense(hi-lo, t, b.targets[lo*t:hi*t:hi*t])
	}
	if len(b.weights) > 0 {
		out.Weights = b.weights[lo:hi:hi]
	}
	if len(b.groups) > 0 {
		out.Groups = b.groups[lo:hi:hi]
	}
	if len(b.passthrough) > 0 {
		out.Passthrough = b.passthrough[lo:hi:hi]
	}
	return out, nil
}

// join appends the rows of another block and yields all full blocks.
func (b *block) join(o *block, yield func(datasets.Set) error) error {
	b.renumberGroups(o)
	for lo := 0; lo < o.rows; {
		if whole := o.rows-lo >= b.capacity; whole && b.rows == 0 && !b.layout.sparse && len(b.unlabeled) == 0 {
			out, err := o.set(lo, lo+b.capacity)
			if err == nil {
				err = yield(out)
			}
			if err != nil {
				return err
			}
			lo += b.capacity
			continue
		}
		hi := min(o.rows, lo+b.capacity-b.rows)
		b.append(o, lo, hi)
		lo = hi
		if b.rows == b.capacity {
			if err := b.flush(yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// renumberGroups converts the group numbers of another block to those of b.
func (b *block) renumberGroups(o *block) {
	if len(o.groups) == 0 {
		return
	}
	numbers := make([]int, len(o.names))
	for k, name := range o.names {
		numbers[k] = b.groupNumber([]byte(name))
	}
	known := len(o.source.groups)
	for i, k := range o.groups {
		if k >= known {
			o.groups[i] = numbers[k-known]
		}
	}
}

// append copies rows lo to hi−1 of another block.
func (b *block) append(o *block, lo, hi int) {
	cols, t := len(b.schema.Columns), len(b.layout.targets)
	if b.layout.sparse {
		from, to := o.indptr[lo], o.indptr[hi]
		base := len(b.indices) - from
		for _, end := range o.indptr[lo+1 : hi+1] {
			b.indptr = append(b.indptr, base+end)
		}
		b.indices, b.values = append(b.indices, o.indices[from:to]...), append(b.values, o.values[from:to]...)
	} else {
		to := b.reserve(hi - lo)
		copy(to, o.x[lo*cols:hi*cols])
		if b.texts != nil {
			textrows.Renumber(to, cols, b.texts, o.strings, b.strings)
		}
	}
	b.targets = append(b.targets, o.targets[lo*t:hi*t]...)
	if len(o.weights) > 0 {
		b.weights = append(b.weights, o.weights[lo:hi]...)
	}
	if len(o.groups) > 0 {
		b.groups = append(b.groups, o.groups[lo:hi]...)
	}
	if len(o.passthrough) > 0 {
		b.passthrough = append(b.passthrough, o.passthrough[lo:hi]...)
	}
	b.rows += hi - lo
}
