// Package storetest checks the invariants of any store:
//
//	func TestLaws(t *testing.T) {
//		storetest.Laws(t, store.Local{}, func(t *testing.T) func(string) string {
//			dir := t.TempDir()
//			return func(path string) string { return filepath.Join(dir, path) }
//		})
//	}
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// Laws runs all conformance checks. The function place returns a function that converts paths with
// slashes to names of the store, below an empty directory.
func Laws(t *testing.T, s store.Store, place func(t *testing.T) func(path string) string) {
	for _, law := range []struct {
		name string
		hold func(t *testing.T, s store.Store, name func(path string) string)
	}{
		{"written files can be read", Written},
		{"writing replaces", Replaced},
		{"missing file", Missing},
		{"failed write", Failed},
		{"atomic write", Whole},
		{"cancellation", Canceled},
		{"concurrent writers", Together},
		{"list by prefix", Listed},
		{"expand", Starred},
	} {
		t.Run(law.name, func(t *testing.T) { law.hold(t, s, place(t)) })
	}
}

// large is more than object stores take in one piece.
const large = 11 << 20

// content is some bytes that no other n or seed has.
func content(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed) + 1
	for k := range b {
		x = x*1664525 + 1013904223
		b[k] = byte(x >> 24)
	}
	return b
}

// put writes a file with content b.
func put(t *testing.T, s store.Store, name string, b []byte) {
	t.Helper()
	err := s.Write(t.Context(), name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		t.Fatalf("writing %s: %v", name, err)
	}
}

// get reads a file.
func get(ctx context.Context, s store.Store, name string) ([]byte, error) {
	r, err := s.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

// holds checks the content of a file; nil means that the file does not exist.
func holds(t *testing.T, s store.Store, name string, want []byte) {
	t.Helper()
	got, err := get(t.Context(), s, name)
	switch {
	case want == nil && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("%s: %d bytes, error %v; want none", name, len(got), err)
	case want != nil && err != nil:
		t.Errorf("reading: %v", err)
	case !bytes.Equal(got, want):
		t.Errorf("%s has %d other bytes than the %d that were written", name, len(got), len(want))
	}
}

// Written checks that files of all sizes and names have the written content.
func Written(t *testing.T, s store.Store, name func(string) string) {
	for k, n := range []int{0, 1, 100_000, large} {
		file := name(fmt.Sprintf("a/b/%d.state", k))
		want := content(n, byte(k))
		err := s.Write(t.Context(), file, func(w io.Writer) error {
			for rest := want; len(rest) > 0; { // in pieces of all sizes
				m := min(len(rest), 1+len(rest)/3)
				if _, err := w.Write(rest[:m]); err != nil {
					return err
				}
				rest = rest[m:]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, s, file, want)
	}
	for k, odd := range []string{"a b", "100%", "a%20b", "ä+b=c&d", "x#1", "why?", "[0-9]", "a;b", "it's"} {
		file := name(odd + "/" + odd + ".state")
		put(t, s, file, content(10, byte(k)))
		holds(t, s, file, content(10, byte(k)))
	}
}

// Replaced: a read returns the last write, also if it is shorter. A concurrent read returns the old
// or the new content, or an error, never a mixture.
func Replaced(t *testing.T, s store.Store, name func(string) string) {
	file, old, next := name("1.state"), content(large, 1), content(1000, 2)
	put(t, s, file, old)
	r, err := s.Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	put(t, s, file, next)
	holds(t, s, file, next)
	if rest, err := io.ReadAll(r); err == nil && !bytes.Equal(append(head, rest...), old) {
		t.Errorf("a reader of a replaced file has %d other bytes", len(rest)+10)
	}
}

// Missing checks that reading a missing file returns fs.ErrNotExist with its name.
func Missing(t *testing.T, s store.Store, name func(string) string) {
	for _, path := range []string{"gone.state", "gone/1.state"} {
		file := name(path)
		_, err := get(t.Context(), s, file)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want fs.ErrNotExist", file, err)
		} else if !strings.Contains(err.Error(), store.Shown(file)) {
			t.Errorf("%q does not name %s", err, store.Shown(file))
		}
	}
}

// Failed checks that an error of fill is returned and leaves the store unchanged.
func Failed(t *testing.T, s store.Store, name func(string) string) {
	wrong := errors.New("no more")
	for _, n := range []int{0, 10, large} {
		fail := func(w io.Writer) error {
			if _, err := w.Write(content(n, 3)); err != nil {
				t.Error(err)
			}
			return wrong
		}
		if err := s.Write(t.Context(), name("new.state"), fail); !errors.Is(err, wrong) {
			t.Errorf("error %v, want %v", err, wrong)
		}
		holds(t, s, name("new.state"), nil)
		put(t, s, name("old.state"), content(20, 4))
		if err := s.Write(t.Context(), name("old.state"), fail); !errors.Is(err, wrong) {
			t.Errorf("error %v, want %v", err, wrong)
		}
		holds(t, s, name("old.state"), content(20, 4))
		lists(t, s, name(""), name("old.state"))
	}
}

// Whole checks that a file being written is not visible: readers see the previous content or no
// file.
func Whole(t *testing.T, s store.Store, name func(string) string) {
	file := name("1.state")
	var before []byte
	for seed := byte(5); seed < 7; seed++ {
		whole := content(large, seed)
		err := s.Write(t.Context(), file, func(w io.Writer) error {
			if _, err := w.Write(whole[:large-10]); err != nil {
				return err
			}
			holds(t, s, file, before)
			if before == nil {
				lists(t, s, name(""))
			}
			_, err := w.Write(whole[large-10:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, s, file, whole)
		before = whole
	}
	lists(t, s, name(""), file)
}

// Canceled checks that a call returns the error of an ended context and changes nothing.
func Canceled(t *testing.T, s store.Store, name func(string) string) {
	put(t, s, name("old.state"), content(20, 7))
	put(t, s, name("large.state"), content(large, 8))
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := get(ended, s, name("old.state")); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: error %v, want context.Canceled", err)
	}
	if _, err := s.List(ended, name("")); !errors.Is(err, context.Canceled) {
		t.Errorf("List: error %v, want context.Canceled", err)
	}
	if err := s.Write(ended, name("old.state"), func(io.Writer) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: error %v, want context.Canceled", err)
	}
	for _, n := range []int{0, 10, large} { // the last case cancels after the last byte, before the commit
		for _, path := range []string{"old.state", "new.state"} {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.Write(ctx, name(path), func(w io.Writer) error {
				_, err := w.Write(content(n, 9))
				cancel()
				return err
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Write of %d bytes: error %v, want context.Canceled", n, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := s.Read(ctx, name("large.state"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("a further read: error %v, want context.Canceled", err)
	}
	r.Close()
	holds(t, s, name("old.state"), content(20, 7))
	holds(t, s, name("large.state"), content(large, 8))
	lists(t, s, name(""), name("large.state"), name("old.state"))
}

// Together checks that concurrent writes of one file leave the complete content of one of them.
func Together(t *testing.T, s store.Store, name func(string) string) {
	const writers = 6
	file, all := name("x/1.state"), [writers][]byte{}
	var wait sync.WaitGroup
	for k := range all {
		all[k] = content(300_000+k, byte(k))
		wait.Go(func() {
			err := s.Write(t.Context(), file, func(w io.Writer) error {
				_, err := w.Write(all[k])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	got, err := get(t.Context(), s, file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all[:], func(one []byte) bool { return bytes.Equal(one, got) }) {
		t.Errorf("%d bytes of no writer", len(got))
	}
	lists(t, s, name("x/"), file)
}

// lists checks the result of List.
func lists(t *testing.T, s store.Store, prefix string, want ...string) {
	t.Helper()
	got, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Errorf("List: %v", err)
	} else if !slices.Equal(got, want) {
		t.Errorf("List of %s: %q, want %q", prefix, got, want)
	}
}

// Listed: a list contains the files of one directory with the given prefix, sorted, by readable
// names.
func Listed(t *testing.T, s store.Store, name func(string) string) {
	for k, path := range []string{"p/10.state", "p/1.state", "p/2 b.state", "p/.hidden", "p/below/3.state", "pp.state"} {
		put(t, s, name(path), content(5, byte(k)))
	}
	lists(t, s, name("p/"), name("p/1.state"), name("p/10.state"), name("p/2 b.state"))
	lists(t, s, name("p/1"), name("p/1.state"), name("p/10.state"))
	lists(t, s, name("p/.h"), name("p/.hidden"))
	lists(t, s, name("p"), name("pp.state"))
	lists(t, s, name("p/3"))
	lists(t, s, name("gone/"))
	holds(t, s, name("p/2 b.state"), content(5, 2))
}

// Starred checks that [store.Expand] finds the matching files.
func Starred(t *testing.T, s store.Store, name func(string) string) {
	put(t, s, name("p/0.state"), nil)
	put(t, s, name("p/1.state"), nil)
	star := func(path string) string { return strings.Replace(name(path+"ZZ"), "ZZ", "*", 1) }
	got, err := store.Expand(t.Context(), s, []string{name("p/1.state"), star("p/"), name("gone")})
	want := []string{name("p/1.state"), name("p/0.state"), name("p/1.state"), name("gone")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, error %v; want %q", got, err, want)
	}
	if _, err := store.Expand(t.Context(), s, []string{star("p/2")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}
