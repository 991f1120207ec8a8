package experiment

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
)

// ReadRows returns all rows of a file with their target, the last column where target is "". The ending
// of the file's name says its format, or else its first lines do; these also tell what separates fields
// and whether there is a header. A target of texts, or of at most 10 different whole numbers, is one of
// classes, as it is in an experiment. For anything else there are the readers in datasets/csv,
// datasets/arff and datasets/svmlight.
func ReadRows(ctx context.Context, path, target string) (datasets.Set, error) {
	spec := New()
	spec.Data.Train = path
	if target != "" {
		spec.Data.Target = Texts{target}
	}
	if err := spec.Data.sniff(path); err != nil {
		return datasets.Set{}, err
	}
	source, _, _, err := spec.openAll(ctx)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, source)
}
