package reader

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// A spooled stream can be read repeatedly, at any position and concurrently, from memory or from an
// unlinked temporary file.
func TestSpool(t *testing.T) {
	text := strings.Repeat("a,b\n1,2\n", 5000)
	for _, most := range []int64{1 << 20, 100} {
		defer func(before int64) { inMemory = before }(inMemory)
		inMemory = most
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		f := NewFiles()
		train := Paths{"-"}
		if err := f.Spool(context.Background(), Paths{"-", "other.csv"},
			iotest.HalfReader(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
		if format, err := f.FormatOf(train); err != nil || format != "csv" {
			t.Error(format, err)
		}
		paths, err := f.List(train)
		if err != nil || len(paths) != 1 || paths[0] != "standard input" || f.Bytes(train) != int64(len(text)) {
			t.Fatal(paths, err)
		}
		one, err := f.OpenBytes(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 100)
		if _, err := io.ReadFull(one, first); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			two, err := f.OpenBytes(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if all, err := io.ReadAll(two); err != nil || string(all) != text {
				t.Errorf("%d bytes, %v", len(all), err)
			}
		}
		rest, err := io.ReadAll(one)
		if err != nil || string(first)+string(rest) != text {
			t.Errorf("%d bytes, %v", len(rest), err)
		}
		at := make([]byte, 4)
		if _, err := one.(io.ReaderAt).ReadAt(at, 8); err != nil || string(at) != "a,b\n" {
			t.Errorf("%q, %v", at, err)
		}
	}
}

// TestSpoolErrors checks that read errors are returned, and that waiting for input ends with the
// context.
func TestSpoolErrors(t *testing.T) {
	f, train := NewFiles(), Paths{"-"}
	broken := errors.New("broken")
	if err := f.Spool(context.Background(), train, iotest.ErrReader(broken)); !errors.Is(err, broken) ||
		err.Error() != "standard input: broken" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	never, _ := io.Pipe()
	go cancel()
	if err := f.Spool(ctx, train, never); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := f.Spool(context.Background(), Paths{"-", "-"}, strings.NewReader("a\n1\n")); err == nil ||
		err.Error() != "standard input is named twice, and comes once" {
		t.Error(err)
	}
	t.Setenv("TMPDIR", "nowhere")
	defer func(before int64) { inMemory = before }(inMemory)
	inMemory = 1
	f.FS = nil
	if err := f.Spool(context.Background(), train, strings.NewReader("a\n1\n")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
