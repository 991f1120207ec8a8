//go:build unix

package experiment

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
)

// A pipe as a data file is rejected immediately, without waiting for a writer.
func TestPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("rows.csv", 0o600); err != nil {
		t.Skip(err)
	}
	put(t, "good.csv", complete(20, class))
	const want = "rows.csv: not a regular file but a pipe, and rows are read more than once; write them into a file before"
	for _, data := range []string{"{train: rows.csv, target: y}", "{train: good.csv, target: y, test: rows.csv}"} {
		_, err := Parse(context.Background(), "spec.yaml", []byte("data: "+data+"\npipeline: [logistic]\n"))
		var errs param.FieldErrors
		if !errors.As(err, &errs) || !strings.HasSuffix(errs[0].Error(), want) || errs[0].Line != 1 {
			t.Errorf("%s: %v", data, err)
		}
	}
	s := config.New()
	s.Data.Train, s.Output.Dir = reader.Paths{"rows.csv"}, "out"
	if _, err := Run(context.Background(), s, Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a run: %v", err)
	}
	if _, err := scaffold.Experiment(context.Background(), "rows.csv", scaffold.Options{}); err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("a draft: %v", err)
	}
}
