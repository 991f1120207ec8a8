package beamjob

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/model"
)

// readFile returns what is in a file.
func readFile(ctx context.Context, name string) ([]byte, error) {
	return os.ReadFile(name)
}

// failing is asked before and after a file is written, for tests of what happens then.
var failing func(name string, done bool) error

// writeFile makes a file, all of it or nothing.
func writeFile(ctx context.Context, name string, write func(w io.Writer) error) (err error) {
	if failing != nil {
		if err := failing(name, false); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = failing(name, true)
			}
		}()
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return model.Replace(name, write)
}
