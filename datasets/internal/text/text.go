// Package text reads large text files: gzip'd or not, through a window of bounded size, and numbers
// out of bytes.
package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
)

// MaxLine is the default bound on the bytes of one line.
const MaxLine = 16 << 20

// File is a file that must not change between passes, or the content of an io.Reader.
type File struct{ *steady.File }

// NewFile returns the file at path in fsys, or in the machine's own file system where fsys is nil.
func NewFile(fsys fs.FS, path string) *File { return &File{steady.New(fsys, path)} }

// ReadAll returns the rows of src, or the error of opening it.
func ReadAll(ctx context.Context, src datasets.Source, err error) (datasets.Set, error) {
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.ReadAll(ctx, src)
}

// Read returns the rows of a source that is opened for the content of r.
func Read(ctx context.Context, r io.Reader, open func(held *File) (datasets.Source, error)) (datasets.Set, error) {
	held, err := steady.Buffer(ctx, r)
	if err != nil {
		return datasets.Set{}, err
	}
	src, err := open(&File{held})
	return ReadAll(ctx, src, err)
}

// Open opens the file at path in fsys once.
func Open(fsys fs.FS, path string) (io.ReadCloser, error) { return NewFile(fsys, path).Open() }

// Open opens the file at its beginning. Content compressed by gzip is decompressed, whatever the
// name of the file; a byte order mark is skipped. If the file is not the one first opened, Open or
// the last Read returns an error.
func (f *File) Open() (io.ReadCloser, error) {
	b, err := f.File.Open()
	if err != nil {
		return nil, err
	}
	s := &stream{Bytes: b}
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		b.Discard(3)
		s.marked = true
	}
	return s, nil
}

// stream is an open text, which is checked for changes at its end.
type stream struct {
	*steady.Bytes
	marked bool // whether a byte order mark declared UTF-8
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Bytes.Read(p)
	if err != nil && s.CheckUnchanged() != nil {
		err = datasets.ErrChanged
	}
	return n, err
}

// Share returns the approximate share of the first n bytes in a text returned by Open, given that
// they were read last; 0 if unknown.
func Share(text io.Closer, n int64) float64 {
	if s, ok := text.(*stream); ok {
		return s.Share(n)
	}
	return 0
}

// ErrTooLong is a line longer than the bound.
var ErrTooLong = errors.New("line too long")

// The window starts small, for small files, and grows to its full size for large ones.
const (
	smallWindow = 16 << 10
	fullWindow  = 1 << 20
)

// Window is the buffered part of a text: bytes that have been read but not consumed.
type Window struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	Bound  int  // of the unconsumed bytes
	eof    bool // whether the buffered bytes are the last
}

// NewWindow returns a window over r that buffers at most bound unconsumed bytes (MaxLine if bound
// is 0).
func NewWindow(r io.Reader, bound int) *Window {
	if bound <= 0 {
		bound = MaxLine
	}
	return &Window{r: r, buf: make([]byte, smallWindow), Bound: bound}
}

// SetBytes makes w the window over all of b, which is not written to.
func (w *Window) SetBytes(b []byte) { w.buf, w.lo, w.hi, w.eof = b, 0, len(b), true }

// Rest returns the unconsumed bytes and a reader of the bytes after them.
func (w *Window) Rest() ([]byte, io.Reader) { return w.Bytes(), w.r }

// Bytes returns the unconsumed bytes; they are valid until the next Fill.
func (w *Window) Bytes() []byte { return w.buf[w.lo:w.hi] }

// Consume drops the first n unconsumed bytes.
func (w *Window) Consume(n int) { w.lo += n }

// Fill appends bytes to the unconsumed ones. It returns io.EOF at the end, and ErrTooLong when the
// bound is reached.
func (w *Window) Fill() error {
	held := w.hi - w.lo
	if w.eof {
		return io.EOF
	}
	if held >= w.Bound {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, w.Bound)
	}
	switch {
	case held == len(w.buf):
		w.grow(2 * len(w.buf))
	case w.hi == len(w.buf) && len(w.buf) < fullWindow:
		w.grow(fullWindow)
	case w.lo > 0:
		copy(w.buf, w.buf[w.lo:w.hi])
	}
	w.lo, w.hi = 0, held
	n, err := io.ReadAtLeast(w.r, w.buf[w.hi:], (len(w.buf)-w.hi+1)/2)
	w.hi += n
	if n > 0 || err == nil {
		return nil
	}
	return err
}

func (w *Window) grow(size int) {
	buf := make([]byte, size)
	copy(buf, w.Bytes())
	w.buf = buf
}

// Line returns the next line without its end (\n or \r\n) and consumes it; it is valid until the
// next call. After the last line it returns io.EOF.
func (w *Window) Line() ([]byte, error) {
	seen := 0
	for {
		b := w.Bytes()
		if at := bytes.IndexByte(b[seen:], '\n'); at >= 0 {
			if seen+at >= w.Bound {
				return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, w.Bound)
			}
			w.Consume(seen + at + 1)
			return trimReturn(b[:seen+at]), nil
		}
		seen = len(b)
		if err := w.Fill(); err == io.EOF && seen > 0 {
			b = w.Bytes()
			w.Consume(len(b))
			return trimReturn(b), nil
		} else if err != nil {
			return nil, err
		}
	}
}

func trimReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// Blank reports whether c is a space or a tab.
func Blank(c byte) bool { return c == ' ' || c == '\t' }

// Trim returns b without the spaces and tabs around it.
func Trim(b []byte) []byte {
	for len(b) > 0 && Blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && Blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
