package svmlight_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/svmlight"
)

// TestChangedFileIsNoticed checks that a file truncated after it was opened is an error.
func TestChangedFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	write := func(rows int) {
		if err := os.WriteFile(path, []byte(strings.Repeat("1 1:2\n-1 1:3\n", rows/2)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(10)
	src, err := svmlight.Options{}.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	write(8)
	err = src.Blocks(context.Background(), func(datasets.Set) error { return nil })
	if !errors.Is(err, datasets.ErrChanged) {
		t.Errorf("the error is %v", err)
	}
}

// A target that takes a new value in every row is no class.
func TestTooManyClasses(t *testing.T) {
	var text bytes.Buffer
	for i := range 1<<16 + 1 {
		fmt.Fprintf(&text, "%d 1:1\n", i)
	}
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := svmlight.Options{Task: datasets.Classification}.Open(context.Background(), path)
	if err == nil || !strings.Contains(err.Error(), "more than 65536 classes; is this a regression?") {
		t.Errorf("the error is %v", err)
	}
}

// Rows whose targets are of another number are not written.
func TestWriteRefusesTargetsOfAnotherNumber(t *testing.T) {
	err := svmlight.Options{}.Write(new(bytes.Buffer), datasets.Set{X: mat.NewDense(2, 1, nil), Y: []float64{1}})
	if err == nil || !strings.Contains(err.Error(), "2 rows, 1 targets") {
		t.Errorf("the error is %v", err)
	}
}

// An index that claims more columns than memory has place for is an error.
func TestIndexIsBoundedByMemory(t *testing.T) {
	debug.SetMemoryLimit(1 << 30)
	defer debug.SetMemoryLimit(math.MaxInt64)
	_, err := svmlight.Options{}.Read(context.Background(), strings.NewReader("1 1:1 2000000000:1\n0 2:1\n"))
	if !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(), "2000000000 columns, by the largest index") {
		t.Error(err)
	}
}
