package npy

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
)

// member is an array of the file.
type member struct {
	name   string // "" for the array of a .npy file
	head   header
	offset int64  // offset of its values in the file, -1 if compressed
	entry  string // of the archive
	why    string // reason why it has no columns; "" otherwise
}

// list finds the arrays of an open file.
func (f *file) list(b *steady.Bytes) error {
	start := make([]byte, 4)
	archive := false
	if b.At != nil {
		n, err := b.At.ReadAt(start, 0)
		if err != nil && err != io.EOF {
			return f.arrayError("", err)
		}
		archive = n == 4 && (string(start) == "PK\x03\x04" || string(start) == "PK\x05\x06")
	}
	if archive {
		return f.listArchive(b)
	}
	h, err := readHeader(b)
	if err != nil {
		return f.arrayError("", err)
	}
	m := member{head: h, offset: int64(h.length)}
	if size, _ := h.size(); b.Size >= 0 && b.Size < m.offset+size {
		return f.arrayError("", fmt.Errorf("%w: %d bytes, the array of shape %v and type %s takes %d", errTruncated, b.Size,
			h.shape, h.descr, m.offset+size))
	}
	f.arrays = []member{m}
	return nil
}

var errTruncated = errors.New("the file is cut off")

// maxArrays bounds the arrays of an archive.
const maxArrays = 1 << 16

// listArchive finds the arrays of an archive.
func (f *file) listArchive(b *steady.Bytes) error {
	z, err := zip.NewReader(b.At, b.Size)
	if err != nil {
		return f.arrayError("", fmt.Errorf("the archive is damaged: %w", err))
	}
	if len(z.File) > maxArrays {
		return f.arrayError("", fmt.Errorf("number of arrays must be at most %[2]d, got %[1]d", len(z.File), maxArrays))
	}
	for _, e := range z.File {
		name, is := strings.CutSuffix(e.Name, ".npy")
		if !is {
			continue
		}
		m := member{name: name, entry: e.Name, offset: -1}
		if err := m.readHeader(e, b.Size); err != nil {
			return f.arrayError(name, err)
		}
		f.arrays = append(f.arrays, m)
	}
	if len(f.arrays) == 0 {
		return f.arrayError("", errors.New("there is no array in the archive"))
	}
	slices.SortStableFunc(f.arrays, func(a, b member) int { return elementIndex(a.name) - elementIndex(b.name) })
	return nil
}

// elementIndex is the sort key that places the target array last.
func elementIndex(name string) int {
	if name == "y" || name == "Y" {
		return 1
	}
	return 0
}

// readHeader reads the header of an entry.
func (m *member) readHeader(e *zip.File, file int64) error {
	r, err := e.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if m.head, err = readHeader(r); err != nil {
		return err
	}
	size, err := m.head.size()
	if err != nil {
		return err
	}
	if want := uint64(size) + uint64(m.head.length); e.UncompressedSize64 != want {
		return fmt.Errorf("%w: %d bytes, the array of shape %v and type %s takes %d", errTruncated, e.UncompressedSize64,
			m.head.shape, m.head.descr, want)
	}
	if e.Method != zip.Store {
		return nil
	}
	at, err := e.DataOffset()
	if err != nil {
		return err
	}
	m.offset = at + int64(m.head.length)
	if m.offset+size > file {
		return errTruncated
	}
	return nil
}

// arrayError returns an error about the file, or an array of it.
func (f *file) arrayError(array string, err error) error {
	var at *datasets.LineError
	if errors.As(err, &at) {
		return err
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	if array != "" {
		err = fmt.Errorf("array %s: %w", array, err)
	}
	return &datasets.LineError{File: f.path, Err: err}
}

// reader reads the values of an array from the first on.
func (m *member) reader(b *steady.Bytes) (io.Reader, func() error, error) {
	if m.offset >= 0 && b.At != nil {
		size, _ := m.head.size()
		return io.NewSectionReader(b.At, m.offset, size), noClose, nil
	}
	if m.entry == "" {
		return b, noClose, b.Discard(m.offset)
	}
	z, err := zip.NewReader(b.At, b.Size)
	if err != nil {
		return nil, nil, err
	}
	r, err := z.Open(m.entry)
	if err != nil {
		return nil, nil, err
	}
	if _, err = io.CopyN(io.Discard, r, int64(m.head.length)); err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, r.Close, nil
}

func noClose() error { return nil }

// readerAt returns a random-access reader of the values of an array in Fortran order. Arrays of a
// compressed archive are stored in memory.
func (m *member) readerAt(b *steady.Bytes) (io.ReaderAt, error) {
	size, _ := m.head.size()
	if m.offset >= 0 && b.At != nil {
		return io.NewSectionReader(b.At, m.offset, size), nil
	}
	if m.entry == "" {
		return nil, errors.New("array in Fortran order must be in a regular uncompressed file")
	}
	r, end, err := m.reader(b)
	if err != nil {
		return nil, err
	}
	defer end()
	var held bytes.Buffer // grows with the bytes read, not with the size that the header claims
	if n, err := io.Copy(&held, r); err != nil || n != size {
		return nil, cmp.Or(err, errTruncated)
	}
	return bytes.NewReader(held.Bytes()), nil
}
