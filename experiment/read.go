package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"

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
	trainLeft, testLeft := r.leftOut(all, s.Data.Train), r.leftOut(test, s.Data.Test)
	faults, err := s.check(ctx, all, test, r.task)
	if err != nil {
		return nil, err
	}
	memory := s.Data.Dataset == "" && !s.streams(all) // not in memory already, and wanted there
	if memory {
		if all, err = gather(ctx, all, o, "load"); err != nil {
			return nil, s.rowsError(ctx, "data.train", err)
		}
	}
	more, err := s.checkParts(ctx, all, test != nil, r.task)
	if err != nil {
		return nil, err
	}
	if err := append(faults, more...).Err(); err != nil {
		return nil, err
	}
	switch {
	case memory && test != nil:
		if test, err = gather(ctx, test, o, "load"); err != nil {
			return nil, s.rowsError(ctx, "data.test", err)
		}
	case !memory && s.Data.Dataset == "":
		r.streamed, all = true, datasets.Prefetch(all)
		if test != nil {
			test = datasets.Prefetch(test)
		}
	}
	r.train, r.test = all, test
	if test == nil && s.Data.Split.Test > 0 {
		err = s.split(ctx, r)
		r.numbers = inFile(r.numbers, trainLeft)
	} else if len(testLeft) > 0 {
		n, _ := test.Dims()
		for k := range n {
			r.numbers = append(r.numbers, k)
		}
		r.numbers = inFile(r.numbers, testLeft)
	}
	return r, err
}

// leftOut returns the rows of a file that its source leaves out, and warns of them.
func (r *rows) leftOut(source datasets.Source, file string) []int {
	partial, ok := source.(datasets.Partial)
	if !ok || len(partial.LeftOut()) == 0 {
		return nil
	}
	left := partial.LeftOut()
	n, _ := source.Dims()
	r.warnings = append(r.warnings, fmt.Sprintf("%s: %d of %d rows have no target and are left out", file, len(left), n+len(left)))
	return left
}

// inFile turns numbers among the rows that are left into numbers of rows in the file.
func inFile(numbers, left []int) []int {
	out := make([]int, len(numbers))
	for i, k := range numbers {
		// left[i] − i rows that are kept stand before the row left[i].
		out[i] = k + sort.Search(len(left), func(i int) bool { return left[i]-i > k })
	}
	return out
}

// rowsError is what is wrong with a file of rows, as [Faults] where the spec is one of a file.
func (s Spec) rowsError(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.places == nil || errors.Is(err, datasets.ErrChanged):
		return fmt.Errorf("experiment: %w", err)
	}
	return s.places.ofRows(path, err)
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
