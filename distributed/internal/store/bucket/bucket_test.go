package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/bochner-ml/bochner/distributed/internal/store/bucket"
	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/testing/storetest"
)

func open(context.Context, *url.URL) (*blob.Bucket, error) { return memblob.OpenBucket(nil), nil }

func TestConformance(t *testing.T) {
	storetest.Laws(t, store.Schemes{"mem": bucket.New(open, nil)}, func(t *testing.T) func(string) string {
		return func(path string) string {
			return (&url.URL{Scheme: "mem", Host: "b", Path: "/" + path,
				RawQuery: "place=" + url.QueryEscape(t.Name())}).String()
		}
	})
}

func TestErrors(t *testing.T) {
	s := bucket.New(open, nil)
	for name, want := range map[string]string{
		"mem://me:secret@b/1.state?key=secret": "mem://b/1.state: keys and passwords do not belong in a URL, others can " +
			"read them; they come from the environment",
		"mem:///1.state": "mem:///1.state: no bucket; must be mem://BUCKET/FILE",
		"mem://b":        "mem://b: it is a folder",
		"mem://b/a/":     "mem://b/a/: it is a folder",
		"mem://b/a#b":    "mem://b/a#b: the name ends at the #; write %23",
		"mem://b/%zz":    "mem://b/%zz: no URL; write % as %25",
	} {
		_, err := s.Read(t.Context(), name)
		wrong := s.Write(t.Context(), name, func(io.Writer) error { return nil })
		for _, err := range []error{err, wrong} {
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// A bucket that cannot be opened is tried again.
func TestOpen(t *testing.T) {
	times := 0
	s := bucket.New(func(context.Context, *url.URL) (*blob.Bucket, error) {
		if times++; times == 1 {
			return nil, errors.New("not yet")
		}
		return memblob.OpenBucket(nil), nil
	}, func(err error) error { return fmt.Errorf("%w, or so", err) })
	defer s.Close()
	if _, err := s.List(t.Context(), "mem://b/?key=secret"); err == nil || err.Error() != "mem://b/: not yet, or so" {
		t.Error(err)
	}
	for range 3 {
		if _, err := s.List(t.Context(), "mem://b/"); err != nil {
			t.Error(err)
		}
	}
	if times != 2 {
		t.Errorf("opened %d times", times)
	}
}

// TestClose checks that a reader returns the bytes read before an error.
func TestClose(t *testing.T) {
	s := bucket.New(open, nil)
	err := s.Write(t.Context(), "mem://b/1", func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err })
	r, wrong := s.Read(t.Context(), "mem://b/1")
	if err := errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if n, err := io.Copy(&b, r); n != 4 || err != nil || b.String() != "text" || r.Close() != nil {
		t.Errorf("%d bytes %q, error %v", n, b.String(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
