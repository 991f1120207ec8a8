package reader

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// MaxInferredClasses is the maximum number of different integers of a file that are inferred to be class codes.
const MaxInferredClasses = 10

// Inferred contains the options that were inferred from the rows.
type Inferred struct {
	Target  string // the last column, where no target is given; "" otherwise
	Classes int    // number of distinct values if an integer target is treated as classes; 0 otherwise
}

// OpenInferred opens training rows. Without a target it uses the last column, and a target of at
// most [MaxInferredClasses] different integers is a class unless a task is given. With subset, columns to
// drop may be missing.
func (f Files) OpenInferred(ctx context.Context, paths []string, subset bool) (datasets.Source, Inferred, error) {
	var found Inferred
	names, err := f.Header(ctx, paths)
	if err != nil {
		return nil, found, err
	}
	roles := f.Roles(names)
	if subset {
		roles.Drop = slices.DeleteFunc(slices.Clone(roles.Drop), func(name string) bool { return !MatchName(names, name) })
	}
	if len(roles.Target) > len(f.Target) {
		found.Target = roles.Target[0]
	}
	src, err := f.Open(ctx, paths, roles)
	if err != nil || f.Task != "auto" {
		return src, found, err
	}
	if schema := src.Schema(); len(schema.Classes()) > 0 {
		return src, found, CheckClasses(schema.Targets[0].Name, schema.Classes())
	}
	found.Classes, err = countIntegers(ctx, src)
	if err != nil || found.Classes == 0 {
		return src, found, err
	}
	roles.Task = datasets.Classification
	src, err = f.Open(ctx, paths, roles)
	return src, found, err
}

// Read returns all rows of a file in memory. target names the target column; "" means the last
// column.
func Read(ctx context.Context, path, target string) (datasets.Set, error) {
	f := NewFiles()
	if target != "" {
		f.Target = Strings{target}
	}
	return f.read(ctx, path)
}

// ReadInputs is [Read] of a file without a target, all columns of which are inputs.
func ReadInputs(ctx context.Context, path string) (datasets.Set, error) {
	f := NewFiles()
	f.Task = string(datasets.Clustering)
	return f.read(ctx, path)
}

func (f Files) read(ctx context.Context, path string) (datasets.Set, error) {
	paths := []string{path}
	if err := f.Spool(ctx, paths, nil); err != nil {
		return datasets.Set{}, err
	}
	if err := f.Sniff(paths); err != nil {
		return datasets.Set{}, err
	}
	f.KeepBytes = MaxInMemory
	src, _, err := f.OpenInferred(ctx, paths, false)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.ReadAll(ctx, src)
}

// errStop ends a pass that has seen enough.
var errStop = errors.New("enough")

// countIntegers returns the number of distinct values of the target, 0 if they are too many or not
// integers.
func countIntegers(ctx context.Context, source datasets.Source) (int, error) {
	seen := map[float64]bool{}
	err := rowsource.DropInputs(source).Blocks(ctx, func(block datasets.Set) error {
		if block.Targets != nil {
			return errStop
		}
		for _, y := range block.Y {
			if seen[y] {
				continue
			}
			if seen[y] = true; y != math.Trunc(y) || len(seen) > MaxInferredClasses {
				return errStop
			}
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return 0, nil
	}
	return len(seen), err
}
