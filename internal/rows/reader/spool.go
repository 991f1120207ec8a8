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

	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// inMemory is the maximum number of spooled bytes in memory; more are written to a temporary file.
// Tests lower it.
var inMemory int64 = 64 << 20

// standardInput is the name of [StandardInput] in errors.
const standardInput = "standard input"

// Spool stores inputs that can be read only once, so that they can be read repeatedly: in memory,
// or in a temporary file that is removed when the process ends. It is a file system; all other
// files are those of the host.
type Spool struct{ held map[string]*spooledFile }

// spooledFile is a file of a spool.
type spooledFile struct {
	name   string
	bytes  io.ReaderAt
	size   int64
	came   time.Time
	format string // as its first lines show
}

// Spool stores the files that can be read only once because they are descriptors of the process,
// and sets FS to a file system with them. The path "-" means input, or standard input if that is
// nil.
func (f *Files) Spool(ctx context.Context, paths []string, input io.Reader) error {
	s, ok := f.FS.(*Spool)
	if f.FS != nil && !ok {
		return nil
	}
	if !ok {
		s = &Spool{held: map[string]*spooledFile{}}
	}
	var inputs int
	for _, path := range paths {
		if path == StandardInput {
			inputs++
		}
		if inputs > 1 {
			return errors.New("standard input is named twice, and comes once")
		}
		if s.held[DisplayName(path)] != nil || !isDescriptor(path) {
			continue
		}
		h, err := spool(ctx, path, input)
		if err != nil {
			return err
		}
		s.held[h.name], f.FS = h, s
	}
	return nil
}

// ReadOnce reports whether any of the files can be read only once and is not stored.
func (f Files) ReadOnce(paths []string) bool {
	return f.FS == nil && slices.ContainsFunc(paths, isDescriptor)
}

// DisplayName returns the name of a path in messages.
func DisplayName(path string) string {
	if path == StandardInput {
		return standardInput
	}
	return path
}

// spool reads the whole input at a path.
func spool(ctx context.Context, path string, input io.Reader) (*spooledFile, error) {
	stream := NewStream(ctx, path, input)
	defer stream.Close()
	return stream.spool(DisplayName(path))
}

// Spool reads all of the stream into a spool, for a format that is not read from the beginning to the end.
func (s *Stream) Spool(name string) (*Spool, error) {
	h, err := s.spool(name)
	if err != nil {
		return nil, err
	}
	return &Spool{map[string]*spooledFile{name: h}}, nil
}

// NeedsSeek reports whether files of a format are read at any place.
func NeedsSeek(format string) bool { return format == "parquet" || format == "npy" || format == "npz" }

// spool reads all of the stream.
func (s *Stream) spool(name string) (*spooledFile, error) {
	s.LastPass()
	in, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	h := &spooledFile{name: name, came: time.Now()}
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

// toFile continues in a temporary file.
func (h *spooledFile) toFile(first *bytes.Buffer, in io.Reader) error {
	file, err := temporary(filepath.Join(os.TempDir(), fmt.Sprintf("bochner-rows-%d-%d", os.Getpid(), h.came.UnixNano())))
	if err != nil {
		return err
	}
	h.bytes = file
	h.size, err = io.Copy(file, io.MultiReader(first, in))
	return err
}

// guess finds out the format.
func (h *spooledFile) guess() error {
	f, err := Files{FS: &Spool{map[string]*spooledFile{h.name: h}}}.Guess(h.name)
	h.format = f.Format
	return err
}

// Open opens an in-memory file, or a file of the operating system.
func (s *Spool) Open(name string) (fs.File, error) {
	if h := s.held[name]; h != nil {
		return openSpooled{io.NewSectionReader(h.bytes, 0, h.size), h}, nil
	}
	if _, err := rowfile.Stat(name); err != nil { // before a pipe makes everybody wait
		return nil, err
	}
	return os.Open(name)
}

// Stat returns the information of a file.
func (s *Spool) Stat(name string) (fs.FileInfo, error) {
	if h := s.held[DisplayName(name)]; h != nil {
		return openSpooled{of: h}, nil
	}
	return os.Stat(name)
}

// ReadDir reads a directory of the host.
func (s *Spool) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Glob lists files of the machine's.
func (s *Spool) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

// openSpooled is an open stored file.
type openSpooled struct {
	*io.SectionReader
	of *spooledFile
}

func (o openSpooled) Close() error               { return nil }
func (o openSpooled) Stat() (fs.FileInfo, error) { return o, nil }
func (o openSpooled) Name() string               { return o.of.name }
func (o openSpooled) Size() int64                { return o.of.size }
func (o openSpooled) Mode() fs.FileMode          { return 0o400 }
func (o openSpooled) ModTime() time.Time         { return o.of.came }
func (o openSpooled) IsDir() bool                { return false }
func (o openSpooled) Sys() any                   { return nil }
