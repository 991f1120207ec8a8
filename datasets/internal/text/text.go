// Package text reads large text files: gzip'd or not, through a window of bounded size, and numbers
// out of bytes.
package text

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxLine is the default bound on the bytes of one line.
const MaxLine = 16 << 20

// Open opens the file at path in fsys, or in the machine's own file system where fsys is nil. What
// gzip has packed is unpacked, whatever the file is called; a byte order mark is left out.
func Open(fsys fs.FS, path string) (io.ReadCloser, error) {
	f, err := openFile(fsys, path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open %s: is a directory, wanted a file", path)
	}
	r, err := unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// openFile opens a file, but for a pipe: to open one waits for its writer, and it cannot be read
// again.
func openFile(fsys fs.FS, path string) (fs.File, error) {
	if fsys != nil {
		return fsys.Open(path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil, fmt.Errorf("open %s: is a pipe, wanted a file, which can be read again", path)
	}
	return os.Open(path)
}

// stream is a text and what to close behind it.
type stream struct {
	io.Reader
	closers []io.Closer
}

func (s stream) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func unpack(f io.ReadCloser) (io.ReadCloser, error) {
	out := stream{closers: []io.Closer{f}}
	r := bufio.NewReaderSize(f, 64<<10)
	if magic, err := r.Peek(2); err != nil && err != io.EOF {
		return nil, err
	} else if string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		out.closers = []io.Closer{z, f}
		r = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		r.Discard(3)
	}
	out.Reader = r
	return out, nil
}

// ErrTooLong is a line longer than the bound.
var ErrTooLong = errors.New("line too long")

// A window begins small, for small files, and grows to full for large ones.
const (
	smallWindow = 16 << 10
	fullWindow  = 1 << 20
)

// Window is the part of a text that is in memory: the bytes not consumed yet, as far as they were
// read.
type Window struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	Bound  int // of the unconsumed bytes
}

// NewWindow returns the window over r that holds at most bound unconsumed bytes (MaxLine where bound
// is 0).
func NewWindow(r io.Reader, bound int) *Window {
	if bound <= 0 {
		bound = MaxLine
	}
	return &Window{r: r, buf: make([]byte, smallWindow), Bound: bound}
}

// Bytes returns the unconsumed bytes; they are valid until the next Fill.
func (w *Window) Bytes() []byte { return w.buf[w.lo:w.hi] }

// Consume drops the first n unconsumed bytes.
func (w *Window) Consume(n int) { w.lo += n }

// Fill reads more bytes behind the unconsumed ones. It returns io.EOF when there are none, and
// ErrTooLong when the bound is reached.
func (w *Window) Fill() error {
	held := w.hi - w.lo
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
