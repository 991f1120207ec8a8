package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// Local is the store of paths and of file:// URLs. A file is written under a temporary name in the
// same directory, with a leading dot, and renamed when complete on disk. Pipes and devices such as
// /dev/stdout are written directly.
type Local struct{}

// path is the path of a name.
func (Local) path(name string) (string, error) {
	if name == "" {
		return "", errors.New("a file without a name")
	}
	if Scheme(name) != "file" {
		return name, nil
	}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: no URL; write %% as %%25", Shown(name))
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("%s: files are those of this machine: file:///%s%s", Shown(name), u.Host, u.Path)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%s: the path ends at the ? or the #; write %%3F or %%23", Shown(name))
	case u.Path == "":
		return "", fmt.Errorf("%s: a file without a name", Shown(name))
	}
	path := u.Path
	if volume := strings.TrimPrefix(path, "/"); filepath.VolumeName(volume) != "" { // file:///C:/x
		path = volume
	}
	return filepath.FromSlash(path), nil
}

// reason removes operation and path from a file error: the caller adds the name.
func reason(name string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Read opens a file.
func (l Local) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	path, err := l.path(name)
	if err != nil {
		return nil, err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(name, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: it is a folder", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, reason(name, err)
	}
	return reader{ctx, file}, nil
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.ReadCloser
}

func (r reader) Read(p []byte) (int, error) {
	if err := ctxerr.Check(r.ctx); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

// writer ends with its context.
type writer struct {
	ctx context.Context
	w   io.Writer
}

func (w writer) Write(p []byte) (int, error) {
	if err := ctxerr.Check(w.ctx); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// Write writes a file atomically, with the content that fill writes, and creates missing
// directories.
func (l Local) Write(ctx context.Context, name string, fill func(w io.Writer) error) error {
	path, err := l.path(name)
	if err != nil {
		return err
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	fillAll := func(w *bufio.Writer) error {
		if err := fill(writer{ctx, w}); err != nil {
			return err
		}
		return ctxerr.Check(ctx)
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return fmt.Errorf("%s: it is a folder", name)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return reason(name, err)
		}
	}
	return files.Replace(path, fillAll)
}

// List returns the files of a directory whose names begin with prefix.
func (l Local) List(ctx context.Context, prefix string) ([]string, error) {
	var path string
	if prefix != "" {
		var err error
		if path, err = l.path(prefix); err != nil {
			return nil, err
		}
	}
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	dir, begin := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, reason(prefix, err)
	}
	var names []string
	for _, entry := range entries { // in order of their names
		name := entry.Name()
		if !strings.HasPrefix(name, begin) || name[0] == '.' && begin == "" {
			continue
		}
		if info, err := os.Stat(dir + name); err != nil || info.IsDir() { // follows links
			continue
		}
		if Scheme(prefix) == "file" {
			name = (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir+name), "/")}).String()
		} else {
			name = dir + name
		}
		names = append(names, name)
	}
	return names, nil
}
