//go:build unix

package text

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe is rejected without waiting for its writer.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(nil, path); err == nil || !strings.Contains(err.Error(), "not a regular file but a pipe") {
		t.Error(err)
	}
}
