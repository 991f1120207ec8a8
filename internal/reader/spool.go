package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowfile"
)

// inMemory is how many bytes of what comes once are held in memory; more go into a temporary file. A test lowers it.
var inMemory int64 = 64 << 20

// standardInput is what the rows of [StandardInput] are called.
const standardInput = "standard input"

// Spool is what has come once and is held, so that it can be read as often as a file: in memory, or in a temporary
// file that is gone with the process, however that ends. It is a file system in which all other files are the
// machine's own.
type Spool struct{ held map[string]*held }

// held is a file of a spool.
type held struct {
	name   string
	bytes  io.ReaderAt
	size   int64
	came   time.Time
	format string // as its first lines show
}

// Hold reads those of the files that can be read just once because they are handed to the process, and
// sets FS to a file system that has them. The path "-" is the input, or standard input where that is nil.
func (f *Files) Hold(ctx context.Context, paths []string, input io.Reader) error {
	s, ok := f.FS.(*Spool)
	if f.FS != nil && !ok {
		return nil
	}
	if !ok {
		s = &Spool{held: map[string]*held{}}
	}
	var inputs int
	for _, path := range paths {
		if path == StandardInput {
			inputs++
		}
		if inputs > 1 {
			return errors.New("standard input is named twice, and comes once")
		}
		if s.held[Called(path)] != nil || !isHanded(path) {
			continue
		}
		h, err := hold(ctx, path, input)
		if err != nil {
			return err
		}
		s.held[h.name], f.FS = h, s
	}
	return nil
}

// ComesOnce reports whether any of the files can be read just once, and has not been held yet.
func (f Files) ComesOnce(paths []string) bool {
	return f.FS == nil && slices.ContainsFunc(paths, isHanded)
}

// Called is the name of what comes from a path.
func Called(path string) string {
	if path == StandardInput {
		return standardInput
	}
	return path
}

// hold reads all that comes from a path.
func hold(ctx context.Context, path string, input io.Reader) (*held, error) {
	stream := NewStream(ctx, path, input)
	defer stream.Close()
	return stream.hold(Called(path))
}

// Hold reads all of the stream into a spool, for a format that is not read from the beginning to the end.
func (s *Stream) Hold(name string) (*Spool, error) {
	h, err := s.hold(name)
	if err != nil {
		return nil, err
	}
	return &Spool{map[string]*held{name: h}}, nil
}

// AnyPlace reports whether files of a format are read at any place.
func AnyPlace(format string) bool { return format == "parquet" || format == "npy" || format == "npz" }

// hold reads all of the stream.
func (s *Stream) hold(name string) (*held, error) {
	s.LastPass()
	in, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	h := &held{name: name, came: time.Now()}
	var first bytes.Buffer
	h.size, err = io.CopyN(&first, in, inMemory+1)
	switch {
	case err == io.EOF:
		h.bytes = bytes.NewReader(first.Bytes())
	case err == nil:
		err = h.toFile(&first, in)
	}
	if err != nil && err != io.EOF {
		if s.ctx.Err() != nil {
			return nil, ctxerr.Check(s.ctx)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, h.guess()
}

// toFile goes on in a temporary file.
func (h *held) toFile(first *bytes.Buffer, in io.Reader) error {
	file, err := temporary(filepath.Join(os.TempDir(), fmt.Sprintf("bochner-rows-%d-%d", os.Getpid(), h.came.UnixNano())))
	if err != nil {
		return err
	}
	h.bytes = file
	h.size, err = io.Copy(file, io.MultiReader(first, in))
	return err
}

// guess finds out the format.
func (h *held) guess() error {
	f, err := Files{FS: &Spool{map[string]*held{h.name: h}}}.Guessed(h.name)
	h.format = f.Format
	return err
}

// Open opens a file that is held, or one of the machine's.
func (s *Spool) Open(name string) (fs.File, error) {
	if h := s.held[name]; h != nil {
		return opened{io.NewSectionReader(h.bytes, 0, h.size), h}, nil
	}
	if _, err := rowfile.Stat(name); err != nil { // before a pipe makes everybody wait
		return nil, err
	}
	return os.Open(name)
}

// Stat says what a file is.
func (s *Spool) Stat(name string) (fs.FileInfo, error) {
	if h := s.held[Called(name)]; h != nil {
		return opened{of: h}, nil
	}
	return os.Stat(name)
}

// ReadDir lists a folder of the machine's.
func (s *Spool) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Glob lists files of the machine's.
func (s *Spool) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

// opened is a file that is held, and what there is to know of it.
type opened struct {
	*io.SectionReader
	of *held
}

func (o opened) Close() error               { return nil }
func (o opened) Stat() (fs.FileInfo, error) { return o, nil }
func (o opened) Name() string               { return o.of.name }
func (o opened) Size() int64                { return o.of.size }
func (o opened) Mode() fs.FileMode          { return 0o400 }
func (o opened) ModTime() time.Time         { return o.of.came }
func (o opened) IsDir() bool                { return false }
func (o opened) Sys() any                   { return nil }
