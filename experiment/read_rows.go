package experiment

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
)

// ReadRows returns all rows of a file, or of the files of a pattern or a folder, with their target, the last column
// where target is "". The ending of the file's name says its format, or else its first lines do; these also tell what separates fields
// and whether there is a header. A target of texts, or of at most 10 different whole numbers, is one of
// classes, as it is in an experiment. For anything else there are the readers in datasets/csv,
// datasets/arff and datasets/svmlight.
func ReadRows(ctx context.Context, path, target string) (datasets.Set, error) {
	spec := document.New()
	if target != "" {
		spec.Data.Target = document.Texts{target}
	}
	return readRows(ctx, path, spec)
}

// ReadInputs is [ReadRows] of a file without a target, all columns of which are inputs: for models that learn without
// one, and for rows to predict for.
func ReadInputs(ctx context.Context, path string) (datasets.Set, error) {
	spec := document.New()
	spec.Data.Task = string(datasets.Clustering)
	return readRows(ctx, path, spec)
}

func readRows(ctx context.Context, path string, spec document.Spec) (datasets.Set, error) {
	spec.Data.Train = document.Paths{path}
	if err := rows.Hold(ctx, &spec.Data, nil); err != nil {
		return datasets.Set{}, fmt.Errorf("experiment: %w", err)
	}
	if err := rows.Sniff(&spec.Data, spec.Data.Train); err != nil {
		return datasets.Set{}, err
	}
	parts, err := rows.Open(ctx, spec)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, parts.Train)
}
