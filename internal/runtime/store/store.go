// Package store reads and writes files by name, where a name is a path or a URL. The files are the
// states and models exchanged by the tasks of a distributed fit, whose hosts share only a directory
// or a bucket.
//
//	files := store.Schemes{"s3": s3.New()}
//	err := files.Write(ctx, "s3://bucket/job/pass1/3.state", state.Write)
//	names, err := store.Expand(ctx, files, []string{"s3://bucket/job/pass1/*"})
//	r, err := files.Read(ctx, names[0])
//
// [Local] supports paths and file:// URLs. Packages of distributed/internal/store support cloud object
// stores; programs that do not import it do not build its dependencies.
//
// Every [Store] has the same invariants, which package storetest checks: a file exists completely
// or not at all; writing an existing file replaces it; concurrent writes leave one of the contents;
// and a canceled call leaves the previous content.
package store

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Store reads and writes files by name. It is safe for concurrent use. Errors contain the name, but
// no secrets.
type Store interface {
	// Read opens a file. The error is fs.ErrNotExist if it does not exist. Network errors are
	// returned by the reader, never as an early EOF.
	Read(ctx context.Context, name string) (io.ReadCloser, error)

	// Write writes or replaces a file atomically, with the content that fill writes, and creates
	// missing directories. If fill or the write fails, or the context ends, Write returns the error
	// and leaves an existing file unchanged.
	Write(ctx context.Context, name string, fill func(w io.Writer) error) error

	// List returns the sorted names of the files of one directory that begin with prefix; none if
	// there are no such files, or no such directory. It omits subdirectories, and files that begin
	// with a dot unless prefix does.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Schemes is a store of stores: each has the URLs of a scheme, which is its key. Paths and file:// are those of
// [Local] if no other is given.
type Schemes map[string]Store

// Unavailable is a store that the program does not contain: every call returns its error.
type Unavailable struct{ Err error }

func (u Unavailable) fail(name string) error { return fmt.Errorf("%s: %w", Shown(name), u.Err) }

// Read returns the error.
func (u Unavailable) Read(_ context.Context, name string) (io.ReadCloser, error) {
	return nil, u.fail(name)
}

// Write returns the error.
func (u Unavailable) Write(_ context.Context, name string, _ func(io.Writer) error) error {
	return u.fail(name)
}

// List returns the error.
func (u Unavailable) List(_ context.Context, prefix string) ([]string, error) {
	return nil, u.fail(prefix)
}

// Scheme returns the scheme of a URL in lower case, "" for a path.
func Scheme(name string) string {
	scheme, _, found := strings.Cut(name, "://")
	if !found || scheme == "" || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return ""
	}
	return strings.ToLower(scheme)
}

// of returns the store of a name.
func (s Schemes) of(name string) (Store, error) {
	scheme := Scheme(name)
	if one, found := s[scheme]; found {
		return one, nil
	}
	if scheme == "" || scheme == "file" {
		return Local{}, nil
	}
	known := []string{"paths", "file://"}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if key != "" && key != "file" {
			known = append(known, key+"://")
		}
	}
	return nil, fmt.Errorf("%s: no %s:// here, only %s and %s", Shown(name), scheme,
		strings.Join(known[:len(known)-1], ", "), known[len(known)-1])
}

// Check returns an error if there is no store for the scheme of a name, or an [Unavailable] one.
func (s Schemes) Check(name string) error {
	one, err := s.of(name)
	if u, is := one.(Unavailable); is {
		return u.fail(name)
	}
	return err
}

// Read opens a file by the store of its scheme.
func (s Schemes) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	one, err := s.of(name)
	if err != nil {
		return nil, err
	}
	return one.Read(ctx, name)
}

// Write makes a file by the store of its scheme.
func (s Schemes) Write(ctx context.Context, name string, fill func(w io.Writer) error) error {
	one, err := s.of(name)
	if err != nil {
		return err
	}
	return one.Write(ctx, name, fill)
}

// List returns the files of a directory whose names begin with prefix, from the store of its
// scheme.
func (s Schemes) List(ctx context.Context, prefix string) ([]string, error) {
	one, err := s.of(prefix)
	if err != nil {
		return nil, err
	}
	return one.List(ctx, prefix)
}

// Expand replaces each name that ends in * by the files whose names begin with the part before the
// *, sorted. Other names are unchanged. If no file matches, the error is fs.ErrNotExist. In a URL
// with a query, the * comes before the question mark.
func Expand(ctx context.Context, s Store, names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		path, query := name, ""
		if Scheme(name) != "" {
			if k := strings.IndexByte(name, '?'); k >= 0 {
				path, query = name[:k], name[k:]
			}
		}
		prefix, starred := strings.CutSuffix(path, "*")
		if !starred {
			all = append(all, name)
			continue
		}
		found, err := s.List(ctx, prefix+query)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no file has such a name: %w", Shown(name), fs.ErrNotExist)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Shown returns a name for messages: a URL without query and user information.
func Shown(name string) string {
	scheme, rest, _ := strings.Cut(name, "://")
	if Scheme(name) == "" {
		return name
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, path, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if slash {
		path = "/" + path
	}
	return scheme + "://" + host + path
}
