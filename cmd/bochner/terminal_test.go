package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Names in data cannot move the cursor, set the title of a window or turn a line around.
func TestTerminalShowsControls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shown")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &terminal{File: file}
	for _, text := range []string{"plain é ☃ 👩\u200d🔬\n\ttab\n", "\x1b]0;title\a \x1b[2J", "back\r", "\u009b1m",
		"\u202eabc\u2066", "\xff half \xe2\x98", "\x83 whole"} {
		if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	file.Close()
	got, err := os.ReadFile(path)
	want := "plain é ☃ 👩\u200d🔬\n\ttab\n" + `\x1b]0;title\a \x1b[2Jback\r\u009b1m\u202eabc\u2066` + "\xff half ☃ whole"
	if err != nil || string(got) != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}
