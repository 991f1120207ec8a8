package runfolder

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// publish writes outputs with a content, and publishes them.
func publish(t *testing.T, f *Folder, content string, names ...string) error {
	t.Helper()
	for _, name := range names {
		if err := f.Write(name, func(w *bufio.Writer) error { _, err := w.WriteString(content); return err }); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.Publish()
	return err
}

// Only one run at a time uses an output directory; a run that has ended leaves only its outputs.
func TestFolderLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	first, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("the second run: %v, want ErrLocked", err)
	}
	if err := publish(t, first, "first", "result.json"); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("before the first run ends: %v, want ErrLocked", err)
	}
	first.Close()
	second, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "result.json" {
		t.Errorf("left %v, want result.json", left)
	}
	empty, err := NewFolder(filepath.Join(dir, "new", "er"))
	if err != nil {
		t.Fatal(err)
	}
	empty.Close()
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a failed run: %v", err)
	}
}

// A publication that fails or is killed halfway leaves no result among outputs of another run, and
// the next run completes it.
func TestFolderPublishesOnce(t *testing.T) {
	dir := t.TempDir()
	all := []string{"a.csv", "model", "old.csv", "result.json"}
	f, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Outputs = all
	if err := publish(t, f, "old", "a.csv", "old.csv", "result.json"); err != nil {
		t.Fatal(err)
	}
	obstacle := filepath.Join(dir, "model", "full")
	if err := os.MkdirAll(obstacle, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := publish(t, f, "new", "a.csv", "model", "result.json"); err == nil {
		t.Fatal("the model replaced a directory")
	}
	f.Close()
	if _, err := os.Stat(filepath.Join(dir, "result.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a result among outputs of two runs: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "model")); err != nil {
		t.Fatal(err)
	}
	next, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if name == "old.csv" {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("an output of the earlier run is left: %q, %v", text, err)
			}
		} else if string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	next.Close()
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"a.csv", "model", "result.json"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
