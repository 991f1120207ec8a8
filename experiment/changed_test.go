package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// A file that changes between two passes, or within one, is an error that names it, for every
// format.
func TestChangedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	var plain, pairs strings.Builder
	for i := range 3 * rowblock.Size {
		fmt.Fprintf(&plain, "%d,%d\n", 1000+i, i%7)
		fmt.Fprintf(&pairs, "%d 1:%d\n", i%2, 1000+i)
	}
	ctx := context.Background()
	readers := map[string]struct {
		text string
		open func(path string) (datasets.Source, error)
	}{
		"f.csv": {"a,b\n" + plain.String(), func(path string) (datasets.Source, error) {
			return csv.Options{}.Open(ctx, path)
		}},
		"f.svm": {pairs.String(), func(path string) (datasets.Source, error) {
			return svmlight.Options{}.Open(ctx, path)
		}},
		"f.arff": {"@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n" + plain.String(),
			func(path string) (datasets.Source, error) {
				return arff.Options{}.Open(ctx, path)
			}},
	}
	other := func(text string) string { return strings.Replace(text, "1000", "2000", 1) } // of the same length
	changes := map[string]func(t *testing.T, name, text string){
		"grown": func(t *testing.T, name, text string) { put(t, name, text+"\n") },
		"replaced": func(t *testing.T, name, text string) {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			put(t, "new", other(text))
			if err := errors.Join(os.Chtimes("new", info.ModTime(), info.ModTime()), os.Rename("new", name)); err != nil {
				t.Fatal(err)
			}
		},
		"written over": func(t *testing.T, name, text string) {
			put(t, name, other(text))
			if err := os.Chtimes(name, time.Time{}, time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, r := range readers {
		for kind, change := range changes {
			for _, moment := range []string{"between two passes", "in the middle of one"} {
				t.Run(name+" "+kind+" "+moment, func(t *testing.T) {
					put(t, name, r.text)
					source, err := r.open(name)
					if err != nil {
						t.Fatal(err)
					}
					if moment == "between two passes" {
						change(t, name, r.text)
					}
					blocks := 0
					err = source.Blocks(ctx, func(datasets.Set) error {
						if blocks++; blocks == 1 && moment != "between two passes" {
							change(t, name, r.text)
						}
						return nil
					})
					if !errors.Is(err, datasets.ErrChanged) || !strings.HasPrefix(err.Error(), name+":") {
						t.Errorf("after %d blocks: %v", blocks, err)
					}
				})
			}
		}
	}
}

// A run in memory notices that a file is another one when it is read than when its digest was taken.
func TestChangedWhileLoading(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(60, class))
	s := spec(t, "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [logistic]\noutput: {dir: out}\n")
	changed := false
	_, err := Run(context.Background(), s, Options{Progress: func(phase string, done, total int) {
		if phase == "load" && done > 0 && !changed {
			changed = true
			put(t, "rows.csv", complete(61, class))
		}
	}})
	if !errors.Is(err, datasets.ErrChanged) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat("out"); !os.IsNotExist(err) {
		t.Error("it has written something")
	}
}
