package store_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/testing/storetest"
)

func TestLocal(t *testing.T) {
	storetest.Laws(t, store.Local{}, func(t *testing.T) func(string) string {
		dir := t.TempDir()
		return func(path string) string { return dir + string(filepath.Separator) + filepath.FromSlash(path) }
	})
}

func TestFileURL(t *testing.T) {
	storetest.Laws(t, store.Schemes{}, func(t *testing.T) func(string) string {
		dir := "/" + strings.TrimPrefix(filepath.ToSlash(t.TempDir()), "/")
		return func(path string) string { return (&url.URL{Scheme: "file", Path: dir + "/" + path}).String() }
	})
}

// write writes a few bytes.
func write(s store.Store, name, text string) error {
	return s.Write(context.Background(), name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// TestLink checks that a symbolic link remains, and that its target is replaced.
func TestLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.WriteFile("file", []byte("old"), 0o666), os.Symlink("file", "link")); err != nil {
		t.Skip(err)
	}
	if err := write(store.Local{}, "link", "new"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("file"); err != nil || string(text) != "new" {
		t.Errorf("%q, error %v", text, err)
	}
	if info, err := os.Lstat("link"); err != nil || info.Mode().IsRegular() {
		t.Error("the link has become a file")
	}
}

// TestDevice checks that devices are written to, and never replaced.
func TestDevice(t *testing.T) {
	if _, err := os.Stat(os.DevNull); err != nil || os.DevNull != "/dev/null" {
		t.Skip("no /dev/null")
	}
	if err := write(store.Local{}, os.DevNull, "nothing"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Error("/dev/null has become a file")
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := errors.Join(os.Mkdir("folder", 0o777), os.WriteFile("file", nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	files := store.Schemes{"s3": store.Local{}}
	for _, c := range []struct{ name, read, write string }{
		{"", "a file without a name", "a file without a name"},
		{"folder", "folder: it is a folder", "files: writing folder: it is a folder"},
		{"gone/", "gone/: no such file or directory", "gone/: it is a folder"},
		{"file/1.state", "file/1.state: not a directory", "files: writing file/1.state: not a directory"},
		{"gs://me:secret@bucket/1.state?key=secret", "gs://bucket/1.state: no gs:// here, only paths, file:// and s3://",
			"gs://bucket/1.state: no gs:// here, only paths, file:// and s3://"},
		{"file://other/1.state", "file://other/1.state: files are those of this machine: file:///other/1.state",
			"file://other/1.state: files are those of this machine: file:///other/1.state"},
		{"file:///a%zz", "file:///a%zz: no URL; write % as %25", "file:///a%zz: no URL; write % as %25"},
		{"file:///a?b", "file:///a: the path ends at the ? or the #; write %3F or %23",
			"file:///a: the path ends at the ? or the #; write %3F or %23"},
		{"file://", "file://: a file without a name", "file://: a file without a name"},
	} {
		if r, err := files.Read(t.Context(), c.name); err == nil || err.Error() != c.read {
			t.Errorf("Read of %q: %v, want %s", c.name, err, c.read)
			if r != nil {
				r.Close()
			}
		}
		if err := write(files, c.name, "x"); err == nil || err.Error() != c.write {
			t.Errorf("Write of %q: %v, want %s", c.name, err, c.write)
		}
	}
	if names, err := files.List(t.Context(), ""); err != nil || strings.Join(names, " ") != "file" {
		t.Errorf("what is left: %q, error %v", names, err)
	}
}

func TestScheme(t *testing.T) {
	for name, want := range map[string]string{
		"a/b": "", "s3://b/k": "s3", "S3://b/k": "s3", `C:\x`: "", "C:/x": "", "://x": "", "a b://c": "", "file:///x": "file",
		"x/s3://b": "",
	} {
		if got := store.Scheme(name); got != want {
			t.Errorf("Scheme(%q) = %q, want %q", name, got, want)
		}
	}
}
