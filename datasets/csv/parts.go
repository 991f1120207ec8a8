package csv

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
)

// Size of a part, rounded to whole records: large enough to amortize the handover, small enough
// that several with their numbers fit in the cache of a core. The first parts are small, for small
// files. Tests use smaller ones.
var (
	smallPart = 64 << 10
	fullPart  = 512 << 10
)

// parts cuts a string where records end.
//
// A quote either opens a field, closes one, or is the half of one inside of a field; anywhere else it is an
// error, which is met before it can do harm. So the end of a line ends a record where the quotes before it are
// even in number, as long as there is no error, and no record needs to be read to find that out.
type parts struct {
	io.Closer
	file  *file
	r     io.Reader
	rest  []byte // bytes read after the last part; a slice of its buffer
	err   error  // error that ended reading r
	size  int    // of the next part
	bytes int64  // number of bytes in parts so far
	done  bool
}

// part is consecutive records: in memory, or all that are left to be read.
type part struct {
	file     *file
	buf      []byte
	text     []byte // complete records, a slice of buf
	fraction float64
	tail     io.Reader
	scan     *scanner
	w        text.Window
}

// Parts starts to read the file after its header.
func (f *file) Parts(ctx context.Context) (ps table.Parts, before int, err error) {
	s, err := f.start()
	if err != nil {
		return nil, 0, err
	}
	if !f.o.NoHeader {
		if err := s.next(); err != nil {
			s.Close()
			return nil, 0, f.lineError(s.line, err)
		}
	}
	rest, r := s.w.Rest()
	return &parts{Closer: s.Closer, file: f, r: r, rest: rest, size: smallPart}, s.upcoming - 1, nil
}

// CheckUnchanged returns an error where the file has changed.
func (f *file) CheckUnchanged() error { return f.text.CheckUnchanged() }

// More reports whether another part may follow.
func (p *parts) More() bool { return !p.done }

// Next cuts off the next part, in the memory of an earlier one if that is not nil.
func (p *parts) Next(used table.Part) (table.Part, error) {
	if p.done {
		return used, io.EOF
	}
	t, _ := used.(*part)
	if t == nil {
		t = &part{}
	}
	if t.file != p.file { // t may have been used for another file
		t.file, t.scan = p.file, p.file.scanner()
	}
	t.tail = nil
	t.buf = append(slices.Grow(t.buf[:0], max(p.size, len(p.rest))), p.rest...)
	t.text, p.rest = nil, nil
	for size := p.size; ; size *= 2 {
		p.fill(t, size)
		n := 0
		if p.err == nil {
			n = p.cut(t.buf)
		}
		switch {
		case n > 0:
			t.text, p.rest = t.buf[:n], t.buf[n:]
			p.bytes += int64(n)
			t.fraction = text.Share(p.Closer, p.bytes)
			p.size = min(2*p.size, fullPart)
			return t, nil
		case p.err == io.EOF && len(t.buf) == 0:
			p.done = true
			return t, io.EOF
		case p.err == io.EOF:
			t.text, p.done, t.fraction = t.buf, true, 1
			return t, nil
		case p.err != nil || len(t.buf) > t.scan.bound:
			t.tail, p.done = io.MultiReader(bytes.NewReader(t.buf), p), true
			return t, nil
		}
	}
}

// fill reads until the part has size bytes.
func (p *parts) fill(t *part, size int) {
	t.buf = slices.Grow(t.buf, max(size-len(t.buf), 0))
	for p.err == nil && len(t.buf) < size {
		var n int
		n, p.err = p.r.Read(t.buf[len(t.buf):size])
		t.buf = t.buf[:len(t.buf)+n]
	}
}

// Read continues after the last part, until reading ends.
func (p *parts) Read(b []byte) (n int, err error) {
	if p.err != nil {
		return 0, p.err
	}
	n, p.err = p.r.Read(b)
	if n > 0 {
		return n, nil
	}
	return 0, p.err
}

// cut returns the length of the complete records in b, which begins with a record; 0 if there is
// none.
func (p *parts) cut(b []byte) int {
	quotes := 0
	if p.file.dialect.quotes {
		quotes = bytes.Count(b, quote)
	}
	if quotes > 0 && p.file.dialect.comment != "" {
		return p.cutAfterComments(b)
	}
	for at := len(b); ; {
		end := bytes.LastIndexByte(b[:at], '\n')
		if end < 0 {
			return 0
		}
		if quotes > 0 {
			quotes -= bytes.Count(b[end:at], quote)
		}
		if quotes%2 == 0 {
			return end + 1
		}
		at = end
	}
}

// cutAfterComments does so where quotes in comments do not count.
func (p *parts) cutAfterComments(b []byte) (last int) {
	comment := []byte(p.file.dialect.comment)
	for last < len(b) {
		i, quotes := last, 0
		within := !bytes.HasPrefix(b[last:], comment)
		for {
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				return last
			}
			if within {
				quotes += bytes.Count(b[i:i+n], quote)
			}
			if i += n + 1; quotes%2 == 0 {
				break
			}
		}
		last = i
	}
	return last
}

// Independent reports whether the records can be read before it is their turn.
func (t *part) Independent() bool { return t.tail == nil }

// Records calls yield for every record and returns the number of lines. Line numbers continue those
// of the preceding parts.
func (t *part) Records(ctx context.Context, before int, yield func(r *table.Record) error) (lines int, err error) {
	s := t.scan
	if t.tail == nil {
		t.w.SetBytes(t.text)
		s.w = &t.w
	} else {
		s.w = text.NewWindow(t.tail, s.bound+1)
	}
	s.upcoming = before + 1
	err = t.file.records(ctx, s, yield)
	return s.upcoming - 1 - before, err
}

// Fraction returns the fraction of the file up to the end of the part.
func (t *part) Fraction() float64 { return t.fraction }

var _ table.Splittable = (*file)(nil)
