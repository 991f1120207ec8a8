// Package bucket makes a store of the buckets of gocloud.dev/blob, which are those of all clouds: packages
// distributed/store/s3 and distributed/store/gs name two of them, and another is named like this:
//
//	import "gocloud.dev/blob/azureblob"
//
//	files := store.Schemes{"azblob": bucket.New(blob.DefaultURLMux().OpenBucketURL, nil)}
//
// The name of a file is SCHEME://BUCKET/KEY?OPTIONS, with the options of gocloud.dev for the
// scheme. A file appears when its upload is complete; failures and cancellation abort the upload.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// Open opens the bucket of a URL without path. The context applies to Open only, not to the bucket.
type Open func(ctx context.Context, u *url.URL) (*blob.Bucket, error)

// Store is a [store.Store] of buckets, each of which it opens once.
type Store struct {
	open    Open
	explain func(error) error

	lock    sync.Mutex
	buckets map[string]*blob.Bucket
}

// New returns a store of the buckets that open opens. explain converts their errors, and must wrap
// them; nil keeps them unchanged.
func New(open Open, explain func(error) error) *Store {
	if explain == nil {
		explain = func(err error) error { return err }
	}
	return &Store{open: open, explain: explain, buckets: map[string]*blob.Bucket{}}
}

// Close closes the buckets.
func (s *Store) Close() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	var all []error
	for key, b := range s.buckets {
		all = append(all, b.Close())
		delete(s.buckets, key)
	}
	return errors.Join(all...)
}

// place is a parsed name: a bucket and a key.
type place struct {
	name   string // for messages
	url    url.URL
	key    string
	bucket *blob.Bucket
	store  *Store
}

// find reads a name and opens its bucket.
func (s *Store) find(ctx context.Context, name string) (*place, error) {
	if err := ctxerr.Check(ctx); err != nil {
		return nil, err
	}
	p := &place{name: store.Shown(name), store: s}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: no URL; write %% as %%25", p.name)
	case u.User != nil:
		return nil, fmt.Errorf("%s: keys and passwords do not belong in a URL, others can read them; they come from the "+
			"environment", p.name)
	case u.Host == "":
		return nil, fmt.Errorf("%s: no bucket; must be %s://BUCKET/FILE", p.name, u.Scheme)
	case u.Fragment != "":
		return nil, fmt.Errorf("%s: the name ends at the #; write %%23", p.name)
	}
	p.url, p.key = *u, strings.TrimPrefix(u.Path, "/")
	at := url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}
	s.lock.Lock()
	defer s.lock.Unlock()
	if p.bucket = s.buckets[at.String()]; p.bucket != nil {
		return p, nil
	}
	if p.bucket, err = s.open(ctx, &at); err != nil {
		return nil, p.wrong(ctx, err)
	}
	s.buckets[at.String()] = p.bucket
	return p, nil
}

// file returns the place of a file name; the key must not be that of a directory.
func (s *Store) file(ctx context.Context, name string) (*place, error) {
	p, err := s.find(ctx, name)
	if err == nil && (p.key == "" || strings.HasSuffix(p.key, "/")) {
		return nil, fmt.Errorf("%s: it is a folder", p.name)
	}
	return p, err
}

// missing is the error of a file that does not exist.
type missing struct{ what string }

func (m missing) Error() string { return m.what }
func (missing) Unwrap() error   { return fs.ErrNotExist }

// wrong converts an error of a place.
func (p *place) wrong(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	code := gcerrors.Code(err)
	// which has the key, and the code as a number
	for errors.Unwrap(err) != nil && strings.HasPrefix(err.Error(), "blob (") {
		err = errors.Unwrap(err)
	}
	err = p.store.explain(err)
	switch {
	case code == gcerrors.NotFound && strings.Contains(strings.ToLower(err.Error()), "bucket"):
		err = missing{"there is no such bucket"}
	case code == gcerrors.NotFound:
		err = missing{"there is no such file"}
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// Read opens a file.
func (s *Store) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	p, err := s.file(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := p.bucket.NewReader(ctx, p.key, nil)
	if err != nil {
		return nil, p.wrong(ctx, err)
	}
	return &reader{r, p, ctx}, nil
}

// reader converts the errors of its place.
type reader struct {
	*blob.Reader
	place *place
	ctx   context.Context
}

func (r *reader) Read(b []byte) (int, error) {
	if err := ctxerr.Check(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = r.place.wrong(r.ctx, err)
	}
	return n, err
}

// WriteTo hides the WriteTo of Reader, which does not translate errors.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{r})
}

// Write writes a file atomically, with the content that fill writes.
func (s *Store) Write(ctx context.Context, name string, fill func(w io.Writer) error) error {
	p, err := s.file(ctx, name)
	if err != nil {
		return err
	}
	upload, drop := context.WithCancel(ctx) // a writer that is closed after that has not written
	defer drop()
	w, err := p.bucket.NewWriter(upload, p.key, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return p.wrong(ctx, err)
	}
	if err = fill(&writer{w, p, ctx}); err == nil {
		err = ctxerr.Check(ctx)
	}
	if err != nil {
		drop()
		w.Close() // whose error is that it was dropped
		return err
	}
	if err := w.Close(); err != nil {
		return p.wrong(ctx, err)
	}
	return nil
}

// writer converts the errors of its place.
type writer struct {
	w     io.Writer
	place *place
	ctx   context.Context
}

func (w *writer) Write(b []byte) (int, error) {
	if err := ctxerr.Check(w.ctx); err != nil {
		return 0, err
	}
	n, err := w.w.Write(b)
	if err != nil {
		err = w.place.wrong(w.ctx, err)
	}
	return n, err
}

// List returns the files of a directory whose names begin with prefix.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	p, err := s.find(ctx, prefix)
	if err != nil {
		return nil, err
	}
	folder := p.key[:strings.LastIndexByte(p.key, '/')+1]
	var keys []string
	for all := p.bucket.List(&blob.ListOptions{Prefix: p.key, Delimiter: "/"}); ; {
		o, err := all.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, p.wrong(ctx, err)
		}
		name := strings.TrimPrefix(o.Key, folder)
		if !o.IsDir && name != "" && (name[0] != '.' || p.key != folder) {
			keys = append(keys, o.Key)
		}
	}
	slices.Sort(keys)
	names := make([]string, len(keys))
	for k, key := range keys {
		at := p.url
		at.Path, at.RawPath = "/"+key, ""
		names[k] = at.String()
	}
	return names, nil
}
