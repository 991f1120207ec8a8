package experiment

import (
	"context"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/metrics"
)

// rows is the data of an experiment as it is worked on.
type rows struct {
	train, test datasets.Source // test is nil where there is none
	numbers     []int           // of the test rows in the file they come from; nil for all in order
	task        metrics.Task
	streamed    bool // whether the rows stay in the file
	warnings    []string
}

// read opens the training and test rows, infers the task, splits, and gathers them in memory
// unless they are to be streamed.
func (s Spec) read(ctx context.Context, o Options) (*rows, error) {
	all, test, r, err := s.openAll(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Data.Dataset != "": // in memory already
	case s.streams(all):
		r.streamed, all = true, datasets.Prefetch(all)
		if test != nil {
			test = datasets.Prefetch(test)
		}
	default:
		if all, err = gather(ctx, all, o, "load"); err != nil {
			return nil, err
		}
		if test != nil {
			if test, err = gather(ctx, test, o, "load"); err != nil {
				return nil, err
			}
		}
	}
	r.train, r.test = all, test
	if test == nil && s.Data.Split.Test > 0 {
		err = s.split(ctx, r)
	}
	return r, err
}

// gather reads a source into memory.
func gather(ctx context.Context, source datasets.Source, o Options, phase string) (datasets.Source, error) {
	n, _ := source.Dims()
	set, err := datasets.Gather(ctx, reported{source, func(rows int) { o.report(phase, rows, max(n, 0)) }})
	if err != nil {
		return nil, err
	}
	return set.Source(), nil
}

// reported is a source that tells how many rows it has handed out.
type reported struct {
	datasets.Source
	tell func(rows int)
}

func (r reported) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	rows := 0
	return r.Source.Blocks(ctx, func(block datasets.Set) error {
		rows += block.Rows()
		r.tell(rows)
		return yield(block)
	})
}

// smallData is how many bytes of rows are always held in memory.
const smallData = 256 << 20

// streams says whether the rows stay in the file: when they are asked to, when they would take too
// much memory, or when they would take much and the model reads them just once.
func (s Spec) streams(train datasets.Source) bool {
	switch {
	case s.Data.Stream == "always":
		return s.Data.Dataset == ""
	case s.Data.Stream == "never" || s.Search != nil || s.Data.Dataset != "":
		return false
	}
	size := s.memoryOf(train)
	return size > memory.Available()/4 || size > smallData && s.Pipeline.EstimatorReadsOnce(train.Dims())
}

// memoryOf estimates what the rows of the files take in memory.
func (s Spec) memoryOf(train datasets.Source) int64 {
	n, d := train.Dims()
	if info, err := os.Stat(s.Data.Train); err == nil && s.Data.svm(s.Data.Train) {
		return 4 * info.Size()
	}
	return int64(max(n, 0)) * int64(d+2) * 8
}
