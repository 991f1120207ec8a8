// Package text reads large text files: gzip'd or not, through a window of bounded size, and numbers
// out of bytes.
package text

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// MaxLine is the default bound on the bytes of one line.
const MaxLine = 16 << 20

// File is a file that must not change between passes, or the content of an io.Reader.
type File struct {
	fsys  fs.FS
	path  string
	first atomic.Pointer[fs.FileInfo] // file info when first opened
	held  []byte                      // content of an io.Reader; nil for a file
}

// NewFile returns the file at path in fsys, or in the machine's own file system where fsys is nil.
func NewFile(fsys fs.FS, path string) *File { return &File{fsys: fsys, path: path} }

// ReadAll returns the rows of src, or the error of opening it.
func ReadAll(ctx context.Context, src datasets.Source, err error) (datasets.Set, error) {
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.ReadAll(ctx, src)
}

// Read returns the rows of a source that is opened for the content of r.
func Read(ctx context.Context, r io.Reader, open func(held *File, name string) (datasets.Source, error)) (datasets.Set,
	error) {
	held, name, err := buffer(ctx, r)
	if err != nil {
		return datasets.Set{}, err
	}
	src, err := open(held, name)
	return ReadAll(ctx, src, err)
}

// buffer reads all of r into memory, so that it can be opened repeatedly. Its name is the result of
// r's method Name, as of an os.File, or else "input".
func buffer(ctx context.Context, r io.Reader) (f *File, name string, err error) {
	name = "input"
	if named, ok := r.(interface{ Name() string }); ok {
		name = named.Name()
	}
	if r == nil {
		return nil, name, fmt.Errorf("%s: there is no reader", name)
	}
	held := bytes.NewBuffer([]byte{})
	for {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, name, err
		}
		_, err := io.CopyN(held, r, fullWindow)
		if err == io.EOF {
			return &File{path: name, held: held.Bytes()}, name, nil
		} else if err != nil {
			return nil, name, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// Open opens the file at path in fsys once.
func Open(fsys fs.FS, path string) (io.ReadCloser, error) { return NewFile(fsys, path).Open() }

// Open opens the file at its beginning. Content compressed by gzip is decompressed, whatever the
// name of the file; a byte order mark is skipped. If the file is not the one first opened, Open or
// the last Read returns an error.
func (f *File) Open() (io.ReadCloser, error) {
	if f.held != nil {
		return f.unpack(io.NopCloser(bytes.NewReader(f.held)), int64(len(f.held)))
	}
	if f.fsys == nil {
		if _, err := rowfile.Stat(f.path); err != nil { // before a pipe makes everybody wait
			return nil, openError(err)
		}
	}
	file, err := f.open()
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	in := io.ReadCloser(file)
	// a file system with its own pipes determines how often they can be read
	if own := f.fsys != nil && err == nil && info.Mode()&fs.ModeNamedPipe != 0; !own {
		err, in = f.check(info, err), checkedReader{file, f}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	size := int64(0)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	return f.unpack(in, size)
}

// openError reports a failed stat as a failed open.
func openError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: "open", Path: at.Path, Err: at.Err}
	}
	return err
}

func (f *File) open() (fs.File, error) {
	if f.fsys == nil {
		return os.Open(f.path)
	}
	return f.fsys.Open(f.path)
}

// check records the file info at the first call, and compares with it later.
func (f *File) check(now fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if err := rowfile.CheckRegular(f.path, now); err != nil {
		return err
	}
	if f.first.CompareAndSwap(nil, &now) || rowfile.SameFile(*f.first.Load(), now) {
		return nil
	}
	return &datasets.LineError{File: f.path, Err: datasets.ErrChanged}
}

// checkedReader is a file that is checked for changes at its end.
type checkedReader struct {
	fs.File
	of *File
}

func (s checkedReader) Read(p []byte) (int, error) {
	n, err := s.File.Read(p)
	if err == io.EOF && !s.of.unchanged() {
		err = datasets.ErrChanged
	}
	return n, err
}

// unchanged reports whether the file is the one first opened.
func (f *File) unchanged() bool {
	first := f.first.Load()
	if first == nil { // a file that cannot be checked
		return true
	}
	var now fs.FileInfo
	var err error
	if f.fsys == nil {
		now, err = os.Stat(f.path) // the path may name another file
	} else {
		now, err = fs.Stat(f.fsys, f.path)
	}
	return err == nil && rowfile.SameFile(*first, now)
}

// CheckUnchanged returns an error where the file is not the one first opened.
func (f *File) CheckUnchanged() error {
	if f.unchanged() {
		return nil
	}
	return &datasets.LineError{File: f.path, Err: datasets.ErrChanged}
}

// stream is an open text and the files to close with it.
type stream struct {
	*bufio.Reader
	marked  bool // whether a byte order mark declared UTF-8
	closers []io.Closer
	file    countingReader
	size    int64 // of the file; 0 if unknown
	packed  bool
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (s *stream) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Share returns the approximate share of the first n bytes in a text returned by Open, given that
// they were read last; 0 if unknown.
func Share(text io.Closer, n int64) float64 {
	s, ok := text.(*stream)
	switch {
	case !ok || s.size == 0 || n == 0:
		return 0
	case !s.packed:
		return min(float64(n)/float64(s.size), 1)
	case s.file.n < fullWindow: // most of which waits to be unpacked
		return 0
	}
	return min(float64(s.file.n)/float64(s.size), 1)
}

// unpack returns the text that is read from in, which is closed at an error.
func (f *File) unpack(in io.ReadCloser, size int64) (io.ReadCloser, error) {
	out := &stream{closers: []io.Closer{in}, file: countingReader{Reader: in}, size: size}
	if err := out.unpack(); err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return out, nil
}

func (s *stream) unpack() error {
	r := bufio.NewReaderSize(&s.file, 64<<10)
	if magic, err := r.Peek(2); err != nil && err != io.EOF {
		return err
	} else if string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		s.closers = []io.Closer{z, s.closers[0]}
		s.packed = true
		r = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		r.Discard(3)
		s.marked = true
	}
	s.Reader = r
	return nil
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
