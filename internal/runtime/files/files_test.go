package files

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestReplaceFails checks that a failed write leaves the existing file unchanged, and no other
// file.
func TestReplaceFails(t *testing.T) {
	dir, full := t.TempDir(), errors.New("full")
	path := filepath.Join(dir, "a")
	if err := ReplaceText(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	err := Replace(path, func(w *bufio.Writer) error {
		w.WriteString("half of it")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
	left, _ := os.ReadDir(dir)
	text, _ := os.ReadFile(path)
	if len(left) != 1 || string(text) != "before" {
		t.Errorf("left %v with %q", left, text)
	}
}

// TestReplaceAtOnce checks that of concurrent writers of one file one wins, and that its content is
// complete.
func TestReplaceAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := make([]byte, 1<<18)
			for k := range text {
				text[k] = byte('a' + i)
			}
			if err := ReplaceText(path, text); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 1<<18 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	for _, c := range text {
		if c != text[0] {
			t.Fatal("the file has parts of two writers")
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
