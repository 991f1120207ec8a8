package reader

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
)

// A format that the program has not imported is an error that names the import.
func TestUnregisteredFormat(t *testing.T) {
	f := NewFiles()
	f.FS = fstest.MapFS{"rows.parquet": {Data: []byte("PAR1")}}
	_, err := f.Open(context.Background(), []string{"rows.parquet"}, f.Roles(nil))
	if err == nil || !strings.Contains(err.Error(), `import _ "github.com/bochner-ml/bochner/datasets/parquet"`) {
		t.Error(err)
	}
}
