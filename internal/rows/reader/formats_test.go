package reader

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
)

// A format that the program has not imported is an error that names the command that has it, and the import.
func TestUnregisteredFormat(t *testing.T) {
	f := NewFiles()
	f.FS = fstest.MapFS{"rows.parquet": {Data: []byte("PAR1")}}
	_, err := f.Open(context.Background(), []string{"rows.parquet"}, f.Roles(nil))
	const want = "the program does not read parquet; use the released binary, or build ./cmd/bochner in distributed/ of a " +
		`checkout (in Go: import _ "github.com/bochner-ml/bochner/datasets/parquet")`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
