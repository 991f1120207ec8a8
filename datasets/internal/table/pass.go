package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// chunk is the maximum number of rows that are decoded at once.
const chunk = 1 << 15

// columnPass is one pass over columns.
type columnPass struct {
	source *source
	cursor Cursor
	files  *multiFileCursor // of several files, else nil
	text   *textCursor      // the cursor of a text file, else nil
	before int              // lines of earlier text files
	feeds  []*columnReader

	// The current rows:
	first, rows int // row number in the file of the first one; their number
	skipped     []bool
	invalid     []invalidRow
	failing     sync.Mutex // of invalid
}

func (s *source) pass(ctx context.Context, feeds []*columnReader) (*columnPass, error) {
	requests := make([]ColumnRequest, len(feeds))
	for k, f := range feeds {
		f.collect = &atomic.Bool{}
		requests[k] = f.ColumnRequest
	}
	cursor, err := s.columns.Read(ctx, requests)
	if err != nil {
		return nil, err
	}
	p := &columnPass{source: s, cursor: cursor, feeds: feeds}
	p.files, _ = cursor.(*multiFileCursor)
	return p, nil
}

// next advances by at most maxRows rows, and returns 0 rows at the end.
func (p *columnPass) next(ctx context.Context, maxRows int) (rows int, err error) {
	if err := ctxerr.Check(ctx); err != nil {
		return 0, err
	}
	p.first += p.rows
	p.rows, err = p.cursor.Next(min(maxRows, chunk))
	if err == io.EOF {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	if p.text, _ = p.cursor.(*textCursor); p.files != nil {
		p.text, _ = p.files.Cursor.(*textCursor)
		p.before = int(p.files.files.before[p.files.file].Load())
	}
	p.skipped, p.invalid = nil, nil
	skipped := p.source.skipped
	at, _ := slices.BinarySearch(skipped, p.first)
	for ; at < len(skipped) && skipped[at] < p.first+p.rows; at++ {
		p.skip(skipped[at] - p.first)
	}
	if p.text != nil {
		for _, r := range p.text.batch.invalid {
			if i := r.row - p.text.from; i >= 0 && i < p.rows && !p.skips(i) {
				p.skip(i)
				p.invalid = append(p.invalid, invalidRow{p.first + i, r.err})
			}
		}
	}
	return p.rows, nil
}

// skip marks row i as skipped.
func (p *columnPass) skip(i int) {
	if p.skipped == nil {
		p.skipped = make([]bool, p.rows)
	}
	p.skipped[i] = true
}

// skips reports whether row i is skipped.
func (p *columnPass) skips(i int) bool { return p.skipped != nil && p.skipped[i] }

// line returns the line of row i; without lines, the row number in the file plus 1.
func (p *columnPass) line(i int) int {
	if p.text != nil {
		return p.before + p.text.line(i)
	}
	return p.first + i + 1
}

// fraction returns the approximate fraction of the text files up to the current rows; 0 if unknown.
func (p *columnPass) fraction() float64 {
	part := p.text.batch.part
	switch {
	case part == nil:
		return 0
	case p.files == nil:
		return part.Fraction()
	}
	return (float64(p.files.file) + part.Fraction()) / float64(len(p.files.files.readers))
}

// decode decodes the current rows and calls use for every reader, concurrently. Of several errors it
// returns that of the first row.
func (p *columnPass) decode(use func(f *columnReader) error) error {
	const minParallelValues = 1 << 14 // take less time than goroutines
	errs, each := make([]error, len(p.feeds)), parallel
	if p.rows*len(p.feeds) < minParallelValues {
		each = sequential
	}
	each(len(p.feeds), func(k int) {
		f := p.feeds[k]
		if p.text == nil {
			f.resize(p.rows)
		}
		if errs[k] = p.cursor.Decode(k, &f.values); errs[k] == nil {
			errs[k] = use(f)
		}
	})
	return firstRowError(errs)
}

// firstRowError returns the error of the first row, and within it of the first column.
func firstRowError(errs []error) error {
	var out error
	row, column := math.MaxInt, 0
	for _, err := range errs {
		var at *rowError
		switch {
		case err == nil:
		case !errors.As(err, &at):
			return err // damage of the file takes precedence
		case at.row < row || at.row == row && at.column < column:
			out, row, column = err, at.row, at.column
		}
	}
	return out
}

// parallel calls do for 0 to n−1 on all cores.
func parallel(n int, do func(k int)) {
	helpers := min(n, runtime.GOMAXPROCS(0))
	if helpers < 2 {
		sequential(n, do)
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range helpers {
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				do(k)
			}
		})
	}
	wait.Wait()
}

// sequential calls do for 0 to n−1.
func sequential(n int, do func(k int)) {
	for k := range n {
		do(k)
	}
}

// resize allocates values for rows. Numbers are written to the first destination.
func (f *columnReader) resize(rows int) {
	switch f.As {
	case Numbers:
		f.values.Step = 1
		if into := f.destinations[0].numbers; into != nil {
			f.values.Numbers = into[:rows]
			return
		}
		if len(f.buffer) < rows {
			f.buffer = make([]float64, max(rows, min(2*len(f.buffer), chunk)))
		}
		f.values.Numbers = f.buffer[:rows]
	case Times:
		f.values.Seconds = resized(f.values.Seconds, rows)
	case Strings:
		f.values.Codes = resized(f.values.Codes, rows)
	}
}

// resized returns a slice of length n with undefined values, reusing a if possible.
func resized[T any](a []T, n int) []T {
	if cap(a) < n {
		return make([]T, n, max(n, min(2*cap(a), chunk)))
	}
	return a[:n]
}

// stringCache caches the values of the strings of a dictionary, for each destination.
type stringCache struct {
	dictionary *Dictionary
	missing    []bool      // whether a string denotes a missing value
	values     [][]float64 // by destination: the value of every string
	errs       map[int]error
}

// update adds the new strings of the dictionary.
func (m *stringCache) update(f *columnReader, s *source) *stringCache {
	if m == nil || m.dictionary != f.values.Dictionary {
		m = &stringCache{dictionary: f.values.Dictionary, values: make([][]float64, len(f.destinations)),
			errs: map[int]error{}}
	}
	for code := len(m.missing); code < len(m.dictionary.Strings); code++ {
		t := m.dictionary.Strings[code]
		m.missing = append(m.missing, s.isMissing(t))
		for k := range f.destinations {
			v, err := s.value(&f.destinations[k], t, m.missing[code])
			if m.values[k] = append(m.values[k], v); err != nil {
				m.errs[code] = err
			}
		}
	}
	return m
}

// value returns the value of a string in a column.
func (s *source) value(o *destination, t string, lost bool) (float64, error) {
	switch j := o.column; {
	case o.passthrough >= 0 || o.use == group:
		return 0, nil
	case lost:
		return math.NaN(), nil
	case s.cell(j).isText:
		return 0, nil
	case s.origins[j].date != nil:
		date := s.origins[j].date
		at, ok := date.Parse([]byte(t))
		if !ok {
			return 0, fmt.Errorf("must be a date%s, got %q", dateHint(date), t)
		}
		return date.Values(at)[s.origins[j].datePart], nil
	case s.layout.formats[j].Unit != "":
		return quantity(s.layout.formats[j], s.layout.notation, t)
	case o.use == target && (s.cells != nil || len(s.layout.suffix) > 0):
		return s.parseTarget(o, []byte(s.trimmed(o.use, t)))
	case s.cell(j).codes != nil:
		return s.cell(j).lookup([]byte(t)), nil
	}
	v, ok := s.layout.notation.Number([]byte(t))
	switch {
	case o.use == weight && !(v >= 0 && ok):
		return 0, fmt.Errorf("weight must be a number ≥ 0, got %q", t)
	case ok:
		return v, nil
	case o.use == target && s.layout.roles.Task == datasets.Regression:
		return 0, fmt.Errorf("%q is not a number, and the task is regression", t)
	case s.cells != nil && slices.Contains(missingMarkers, t):
		return 0, fmt.Errorf("%q is not a number; if it denotes a missing value, add it to missing", t)
	}
	return 0, fmt.Errorf("%q is not a number", t)
}

// missingMarkers are strings that often denote a missing value.
var missingMarkers = []string{"?", "-", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "none"}

// dateHint describes the formats of a date that the options allow.
func dateHint(date *datasets.Date) string {
	switch date.Order {
	case "dmy":
		return " such as 2024-03-31 or 31/3/2024"
	case "mdy":
		return " such as 2024-03-31 or 3/31/2024"
	}
	return " such as 2024-03-31 or 31.3.2024 (for 31/3/2024 set order: dmy, for 3/31/2024 order: mdy)"
}

// put writes the values of a reader to its destinations.
func (p *columnPass) put(f *columnReader) error {
	switch {
	case f.As == Times:
		p.source.putTimes(f, p.rows)
		return nil
	case f.values.Numbers == nil:
		return p.putStrings(f)
	}
	for k := range f.destinations {
		if err := p.putNumbers(f, k); err != nil {
			return err
		}
	}
	return nil
}

// Text of errors.
const infiniteValue = "value must be finite; exclude the column with data.drop (Roles.Drop in Go)"

func negativeWeight(v float64) string { return fmt.Sprintf("weight must be a number ≥ 0, got %v", v) }

// putNumbers writes numbers to a destination, and values of strings that are not numbers. It returns
// an error at an infinite value.
func (p *columnPass) putNumbers(f *columnReader, k int) error {
	o, v, s := &f.destinations[k], &f.values, p.source
	switch {
	case o.copied && v.Codes == nil:
		return nil
	case k > 0 && p.text == nil:
		copy(o.numbers[:p.rows], v.Numbers)
	}
	if p.text == nil && o.use != weight && !hasInfinite(v.Numbers) {
		return nil
	}
	var first error
	for i := range v.len(p.rows) {
		at, x, code := v.row(i), v.Numbers[i*v.Step], v.code(i)
		if code >= 0 {
			var err error
			if x, err = s.value(o, v.Dictionary.Strings[code], false); err != nil {
				first = cmp.Or(first, p.fail(at, o.column, err))
			}
		} else if x-x != 0 && x == x {
			if o.use == target && s.layout.roles.Unlabeled {
				x = math.NaN()
			} else {
				first = cmp.Or(first, p.fail(at, o.column, errors.New(infiniteValue)))
			}
		} else if o.use == weight && x != x {
			first = cmp.Or(first, p.fail(at, o.column, errors.New("the weight is missing")))
		} else if o.use == weight && x < 0 {
			first = cmp.Or(first, p.fail(at, o.column, errors.New(negativeWeight(x))))
		}
		o.put(at, x)
	}
	return first
}

// hasInfinite reports whether a value is infinite.
func hasInfinite(values []float64) bool {
	for _, v := range values {
		if v-v != 0 && v == v {
			return true
		}
	}
	return false
}

// put writes the value of row i.
func (o *destination) put(i int, v float64) {
	if o.entries != nil {
		*o.entries = append(*o.entries, entry{o.row + i, v})
	} else {
		o.numbers[i*o.step] = v
	}
}

// fail returns the error of a row, or marks the row as skipped if the roles have OnInvalid.
func (p *columnPass) fail(i, column int, err error) error {
	if p.skips(i) {
		return nil
	}
	out := p.source.rowError(p.first+i, p.line(i), column, "%w", err)
	if !p.source.skipsInvalid() {
		return out
	}
	p.failing.Lock()
	defer p.failing.Unlock()
	p.invalid = append(p.invalid, invalidRow{p.first + i, out})
	return nil
}

func (p *columnPass) putStrings(f *columnReader) error {
	s := p.source
	f.cache = f.cache.update(f, s)
	for k := range f.destinations {
		o, values := &f.destinations[k], f.cache.values[k]
		for i := range f.values.len(p.rows) {
			at, code := f.values.row(i), f.values.code(i)
			if o.strings == nil {
				v := math.NaN()
				if code >= 0 {
					v = values[code]
				}
				o.put(at, v)
				continue
			}
			if o.strings[at] = ""; code >= 0 && !f.cache.missing[code] {
				o.strings[at] = f.values.Dictionary.Strings[code]
			} else if o.use == group && o.passthrough < 0 {
				if err := p.fail(at, o.column, errors.New("the group is missing")); err != nil {
					return err
				}
			}
		}
	}
	if len(f.cache.errs) == 0 {
		return nil
	}
	for i := range f.values.len(p.rows) {
		if err := f.cache.errs[int(f.values.code(i))]; err != nil {
			if err := p.fail(f.values.row(i), f.errorColumn(), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// errorColumn returns the column that errors of strings name.
func (f *columnReader) errorColumn() int {
	for _, o := range f.destinations {
		if o.passthrough < 0 {
			return o.column
		}
	}
	return f.destinations[0].column
}

// putTimes writes parts of times. It reuses the parts of the previous row within the same minute.
func (s *source) putTimes(f *columnReader, rows int) {
	date := *s.origins[f.destinations[0].column].date
	parts := make([]float64, len(f.destinations))
	last := int64(NoTime)
	for i, at := range f.values.Seconds[:rows] {
		if at == NoTime {
			for k := range f.destinations {
				f.destinations[k].numbers[i] = math.NaN()
			}
			continue
		}
		if minute := at - (at%60+60)%60; minute != last || last == NoTime {
			last = minute
			all := date.Values(time.Unix(at, 0).UTC())
			for k := range f.destinations {
				parts[k] = all[s.origins[f.destinations[k].column].datePart]
			}
		}
		for k := range f.destinations {
			f.destinations[k].numbers[i] = parts[k]
		}
	}
}
