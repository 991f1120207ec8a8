package experiment

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/param"
)

// The cause of a file error can be unwrapped.
func TestFileErrorsUnwrap(t *testing.T) {
	dir := t.TempDir()
	parse := func(rows string) error {
		path := filepath.Join(dir, "rows.csv")
		if rows != "" {
			if err := os.WriteFile(path, []byte(rows), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Parse(context.Background(), filepath.Join(dir, "e.yaml"),
			[]byte("data: {train: rows.csv}\npipeline: [ridge]\n"))
		return err
	}
	var errs param.FieldErrors
	if err := parse(""); !errors.As(err, &errs) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	var at *datasets.LineError
	if err := parse("a,\xff,y\n1,2,3\n"); !errors.As(err, &errs) || !errors.Is(err, rowerrors.ErrEncoding) ||
		!errors.As(err, &at) || at.Line != 1 {
		t.Errorf("of a file in another encoding: %v", err)
	}
}
