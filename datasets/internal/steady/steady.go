// Package steady opens files of bytes that are read again and again, from their beginning or at any
// place, and that have to stay the same.
package steady

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

// File is a file that is opened for every pass.
type File struct {
	fsys  fs.FS
	path  string
	first atomic.Pointer[fs.FileInfo] // file info when first opened
	held  []byte                      // content of an io.Reader; nil for a file
}

// New returns the file at path in fsys, or in the machine's own file system where fsys is nil.
func New(fsys fs.FS, path string) *File { return &File{fsys: fsys, path: path} }

// Buffer reads all of r into memory, so that it can be opened repeatedly. Its name is that of
// an [os.File], or else "input".
func Buffer(ctx context.Context, r io.Reader) (*File, error) {
	f := &File{path: "input"}
	if r == nil {
		return nil, errors.New("input: there is no reader")
	}
	if named, ok := r.(*os.File); ok {
		f.path = named.Name()
	}
	held := bytes.NewBuffer([]byte{})
	for {
		if err := ctxerr.Check(ctx); err != nil {
			return nil, err
		}
		_, err := io.CopyN(held, r, 1<<20)
		if err == io.EOF {
			f.held = held.Bytes()
			return f, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Bytes is the content of an open file.
type Bytes struct {
	// At allows random access; it is nil for gzip-compressed files and pipes, which are read
	// sequentially.
	At io.ReaderAt
	// Size is the number of bytes, -1 if unknown before a pass.
	Size int64

	of       *File
	file     fs.File
	raw      countingReader
	rawSize  int64 // of the file; 0 if unknown
	unpacker *gzip.Reader
	in       *bufio.Reader
	pipe     bool // whether only its file system knows how often it can be read
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

// Open opens the file. Content compressed by gzip is decompressed, whatever the name of the file.
// It returns an error if the file is not the one first opened.
func (f *File) Open() (*Bytes, error) {
	if f.held != nil {
		b := &Bytes{of: f, Size: -1}
		return b, b.unpack(bytes.NewReader(f.held), int64(len(f.held)))
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
	b := &Bytes{of: f, file: file, Size: -1}
	if err := b.begin(); err != nil {
		file.Close()
		return nil, err
	}
	return b, nil
}

func (f *File) open() (fs.File, error) {
	if f.fsys == nil {
		return os.Open(f.path)
	}
	return f.fsys.Open(f.path)
}

// openError reports a failed stat as a failed open.
func openError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: "open", Path: at.Path, Err: at.Err}
	}
	return err
}

// begin determines the kind of the file.
func (b *Bytes) begin() error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	b.pipe = b.of.fsys != nil && info.Mode()&fs.ModeNamedPipe != 0
	if !b.pipe {
		if err := b.of.check(info); err != nil {
			return err
		}
	}
	return b.unpack(b.file, info.Size())
}

// unpack detects gzip compression of r, which has the given size.
func (b *Bytes) unpack(r io.Reader, size int64) error {
	b.raw.Reader, b.rawSize = r, size
	b.in = bufio.NewReaderSize(&b.raw, 64<<10)
	magic, err := b.in.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return fmt.Errorf("%s: %w", b.of.path, err)
	case string(magic) == "\x1f\x8b":
		if b.unpacker, err = gzip.NewReader(b.in); err != nil {
			return fmt.Errorf("%s: %w", b.of.path, err)
		}
		b.in = bufio.NewReaderSize(b.unpacker, 64<<10)
	case !b.pipe:
		b.Size = size
		b.At, _ = r.(io.ReaderAt)
	}
	return nil
}

// check records the file info at the first call, and compares with it later.
func (f *File) check(now fs.FileInfo) error {
	if err := rowfile.CheckRegular(f.path, now); err != nil {
		return err
	}
	if f.first.CompareAndSwap(nil, &now) || rowfile.SameFile(*f.first.Load(), now) {
		return nil
	}
	return &datasets.LineError{File: f.path, Err: datasets.ErrChanged}
}

// Read reads on from the beginning.
func (b *Bytes) Read(p []byte) (int, error) { return b.in.Read(p) }

// Discard leaves out the next n bytes.
func (b *Bytes) Discard(n int64) error {
	done, err := io.CopyN(io.Discard, b.in, n)
	if err == io.EOF && done < n {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Share returns the approximate share of the first n bytes, given that they were read last; 0 if
// unknown.
func (b *Bytes) Share(n int64) float64 {
	const minRead = 1 << 20 // most of fewer bytes waits to be unpacked
	switch {
	case b.rawSize == 0 || n == 0:
		return 0
	case b.unpacker == nil:
		return min(float64(n)/float64(b.rawSize), 1)
	case b.raw.n < minRead:
		return 0
	}
	return min(float64(b.raw.n)/float64(b.rawSize), 1)
}

// CheckUnchanged returns an error if the file has changed since it was first opened.
func (b *Bytes) CheckUnchanged() error { return b.of.CheckUnchanged() }

// CheckUnchanged returns an error if the file has changed since it was first opened. A pipe or the
// content of an io.Reader cannot be checked.
func (f *File) CheckUnchanged() error {
	first := f.first.Load()
	if first == nil {
		return nil
	}
	var now fs.FileInfo
	var err error
	if f.fsys == nil {
		now, err = os.Stat(f.path) // the path may name another file
	} else {
		now, err = fs.Stat(f.fsys, f.path)
	}
	if err != nil || !rowfile.SameFile(*first, now) {
		return &datasets.LineError{File: f.path, Err: datasets.ErrChanged}
	}
	return nil
}

// Close closes the file.
func (b *Bytes) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// Peek returns the next n bytes, or fewer at the end, without consuming them.
func (b *Bytes) Peek(n int) ([]byte, error) { return b.in.Peek(n) }
