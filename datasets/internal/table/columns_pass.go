package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// chunk is the maximum number of rows that are decoded at once.
const chunk = 1 << 15

// columnPass is one pass over columns.
type columnPass struct {
	source *columnSource
	cursor Cursor
	feeds  []*columnReader
	first  int // row number in the file of the next row
}

func (s *columnSource) pass(ctx context.Context, feeds []*columnReader) (*columnPass, error) {
	requests := make([]ColumnRequest, len(feeds))
	for k, f := range feeds {
		requests[k] = f.ColumnRequest
	}
	cursor, err := s.columns.Read(ctx, requests)
	if err != nil {
		return nil, err
	}
	return &columnPass{source: s, cursor: cursor, feeds: feeds}, nil
}

// next decodes at most maxRows rows and calls use for every reader, concurrently. It returns 0 rows
// at the end. Of several errors it returns that of the first row.
func (p *columnPass) next(ctx context.Context, maxRows int, use func(f *columnReader, first, rows int) error) (rows int,
	err error) {
	if err := ctxerr.Check(ctx); err != nil {
		return 0, err
	}
	rows, err = p.cursor.Next(min(maxRows, chunk))
	if err == io.EOF {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	first := p.first
	p.first += rows
	errs := make([]error, len(p.feeds))
	parallel(len(p.feeds), func(k int) {
		f := p.feeds[k]
		f.resize(rows)
		if errs[k] = p.cursor.Decode(k, &f.values); errs[k] == nil {
			errs[k] = use(f, first, rows)
		}
	})
	return rows, firstRowError(errs)
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
		for k := range n {
			do(k)
		}
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

// resize allocates values for rows. Numbers are written to the first destination.
func (f *columnReader) resize(rows int) {
	switch f.As {
	case Numbers:
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
func (m *stringCache) update(f *columnReader, s *columnSource) *stringCache {
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
func (s *columnSource) value(o *destination, t string, lost bool) (float64, error) {
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
			c := dateColumn{date: *date}
			return 0, fmt.Errorf("must be a date%s, got %q", c.formatHint(), t)
		}
		return date.Values(at)[s.origins[j].datePart], nil
	case o.use == target && s.layout.formats[j].Unit == "":
		return s.parseTarget(s.cell(j), []byte(s.trimmed(o.use, t)))
	case s.cell(j).codes != nil:
		return s.cell(j).lookup([]byte(t)), nil
	}
	if f := s.layout.formats[o.column]; f.Unit != "" {
		return quantity(f, text.Notation{}, t)
	}
	if v, ok := text.Number([]byte(t)); ok {
		return v, nil
	}
	return 0, fmt.Errorf("%q is not a number", t)
}

// put writes the values of a reader to its destinations.
func (s *columnSource) put(f *columnReader, first, rows int) error {
	switch f.As {
	case Times:
		s.putTimes(f, rows)
		return nil
	case Strings:
		return s.putStrings(f, first, rows)
	}
	for k := range f.destinations {
		o := &f.destinations[k]
		if k > 0 {
			copy(o.numbers[:rows], f.values.Numbers)
		}
		if err := s.checkFinite(o, first, o.numbers[:rows]); err != nil {
			return err
		}
	}
	return nil
}

// Text of errors.
const infiniteValue = "value must be finite; exclude the column with data.drop (Roles.Drop in Go)"

func negativeWeight(v float64) string { return fmt.Sprintf("weight must be a number ≥ 0, got %v", v) }

// checkFinite returns an error at an infinite value.
func (s *columnSource) checkFinite(o *destination, first int, values []float64) error {
	for i, v := range values {
		if v-v == 0 || v != v {
			continue
		}
		if o.use == target && s.layout.roles.Unlabeled {
			values[i] = math.NaN()
			continue
		}
		return s.rowError(first+i, o.column, infiniteValue)
	}
	return nil
}

func (s *columnSource) putStrings(f *columnReader, first, rows int) error {
	f.cache = f.cache.update(f, s)
	codes := f.values.Codes[:rows]
	for k := range f.destinations {
		o := &f.destinations[k]
		switch {
		case o.strings != nil:
			strs := f.values.Dictionary.Strings
			for i, code := range codes {
				o.strings[i] = ""
				if code >= 0 && !f.cache.missing[code] {
					o.strings[i] = strs[code]
				}
			}
		default:
			values := f.cache.values[k]
			for i, code := range codes {
				if code < 0 {
					o.numbers[i] = math.NaN()
				} else {
					o.numbers[i] = values[code]
				}
			}
		}
	}
	if len(f.cache.errs) == 0 {
		return nil
	}
	for i, code := range codes {
		if err := f.cache.errs[int(code)]; err != nil {
			return s.rowError(first+i, f.errorColumn(), "%w", err)
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
func (s *columnSource) putTimes(f *columnReader, rows int) {
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
