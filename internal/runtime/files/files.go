// Package files reads and writes files atomically: a file has its complete content or does not
// exist. Errors name the requested file, never a temporary one.
package files

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Write fills a new file that will be called name, and closes it. A file that cannot be written in full is removed.
func Write(file *os.File, name string, fill func(w *bufio.Writer) error) (err error) {
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	w := bufio.NewWriterSize(&namedWriter{file, name}, 1<<16)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := file.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return &WriteError{name, Reason(err)}
	}
	if err := file.Close(); err != nil {
		return &WriteError{name, Reason(err)}
	}
	return nil
}

// Same reports whether two paths refer to one file.
func Same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && one.Mode().IsRegular() && os.SameFile(one, other)
}

// CheckOutput returns an error if writing a file would replace one of the inputs, also through
// links. Inputs that are not regular files are ignored.
func CheckOutput(out string, inputs ...string) error {
	for _, in := range inputs {
		if in == out && Same(in, out) {
			return fmt.Errorf("files: cannot write %s: it is an input; take another name", out)
		}
		if Same(in, out) {
			return fmt.Errorf("files: cannot write %s: it would replace the input %s; take another name", out, in)
		}
	}
	return nil
}

// WriteError is an error of writing a file.
type WriteError struct {
	Path string
	Err  error // reason
}

func (e *WriteError) Error() string { return "files: writing " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *WriteError) Unwrap() error { return e.Err }

// Replace writes the file at path atomically. Devices and pipes are written to directly.
func Replace(path string, fill func(w *bufio.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return errors.New("files: the file to write has no name")
	case err == nil && info.IsDir():
		return &WriteError{path, errors.New("it is a folder")}
	case strings.HasPrefix(path, "/dev/") || err == nil && !info.Mode().IsRegular():
		return writeDevice(path, fill)
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole // the file is replaced, not the link to it
	}
	file, err := temporary(path)
	if err != nil {
		return &WriteError{path, Reason(err)}
	}
	if err := Write(file, path, fill); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		os.Remove(file.Name())
		return &WriteError{path, Reason(err)}
	}
	SyncDir(filepath.Dir(path))
	return nil
}

// SyncDir flushes a directory to the disk, so that a rename in it survives a crash.
func SyncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		dir.Sync()
		dir.Close()
	}
}

// ReplaceText is Replace by a string.
func ReplaceText(path string, text []byte) error {
	return Replace(path, func(w *bufio.Writer) error { _, err := w.Write(text); return err })
}

// temporary creates a file in the directory of path. Unlike those of os.CreateTemp it has the
// default permissions.
func temporary(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf(".unfinished-%s.%d.%d", filepath.Base(path), os.Getpid(), i)
		file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || i > 100 {
			return file, err
		}
	}
}

// writeDevice writes to a device or pipe.
func writeDevice(path string, fill func(w *bufio.Writer) error) error {
	device, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return &WriteError{path, Reason(err)}
	}
	w := bufio.NewWriterSize(&namedWriter{device, path}, 1<<16)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if wrong := device.Close(); err == nil && wrong != nil {
		err = &WriteError{path, Reason(wrong)}
	}
	return err
}

// namedWriter is a writer whose errors name the final file.
type namedWriter struct {
	w    io.Writer
	name string
}

func (n *namedWriter) Write(p []byte) (int, error) {
	done, err := n.w.Write(p)
	if err != nil {
		err = &WriteError{n.name, Reason(err)}
	}
	return done, err
}

// Reason leaves out the operation and the name of a file error, which is often a temporary one.
func Reason(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Tell formats a file error as the name followed by the reason.
func Tell(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}

// OpenNow opens a file for reading and returns its information. It does not wait for the writer of
// a pipe: callers that require regular files check the mode.
func OpenNow(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Opener is where files are read.
type Opener interface {
	Stat(path string) (fs.FileInfo, error)
	OpenBytes(path string) (io.ReadCloser, error)
}

// Digest returns the SHA-256 hash of a file in hexadecimal, "" for no file. For several files it is
// the hash of their hashes, one per line.
func Digest(ctx context.Context, from Opener, paths ...string) (string, error) {
	switch len(paths) {
	case 0:
		return "", nil
	case 1:
		return digest(ctx, from, paths[0])
	}
	h := sha256.New()
	for _, path := range paths {
		one, err := digest(ctx, from, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, one)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digest returns the hash of one file.
func digest(ctx context.Context, from Opener, path string) (string, error) {
	if _, err := from.Stat(path); err != nil {
		return "", fmt.Errorf("files: %w", Tell(err))
	}
	file, err := from.OpenBytes(path)
	if err != nil {
		return "", fmt.Errorf("files: %w", Tell(err))
	}
	defer file.Close()
	h := sha256.New()
	for part := int64(1 << 24); ; {
		n, err := io.CopyN(h, file, part)
		if ctx.Err() != nil {
			return "", ctxerr.Check(ctx)
		}
		if err == io.EOF || n < part && err == nil {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", fmt.Errorf("files: %w", Tell(err))
		}
	}
}
