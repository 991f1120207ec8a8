package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/validate"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// loaded is the data of a run.
type loaded struct {
	*dataload.Parts
	spec   Spec           // with the database that answers, and the schema of the model before
	shape  datasets.Shape // of the training rows
	before *opened        // the model to update; nil for none

	start []gridsearch.Candidate // of an earlier run, that the search starts from; nil for none
	end   func() error           // of the database
}

// load opens the outputs, reads the data and records notes about it.
func load(ctx context.Context, spec Spec, o Options, out *outputs) (data *loaded, err error) {
	began := time.Now()
	o.Progress.report("load", 0, 0)
	before, err := filesNow(spec)
	if err != nil {
		return nil, err
	}
	end, err := connect(ctx, &spec)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			end() // it has answered
		}
	}()
	data = &loaded{end: end}
	found := &out.result
	if found.SHA256, err = digestsOf(ctx, spec); err != nil {
		return nil, err
	}
	if o.Continue != "" {
		if data.before, err = openBefore(ctx, &spec, o.Continue, found); err != nil {
			return nil, err
		}
	}
	if o.StartFrom != "" {
		if data.start, found.Search, err = readStart(ctx, spec, o.StartFrom); err != nil {
			return nil, fmt.Errorf("experiment: cannot start from %s: %w", o.StartFrom, err)
		}
	}
	if err := out.open(spec, o.Force); err != nil {
		return nil, err
	}
	data.spec = spec
	if data.Parts, err = read(ctx, spec, o); err != nil {
		return nil, err
	}
	if err := checkUnchanged(spec, before); err != nil {
		return nil, err // the digest is of other rows
	}
	if err := checkUnchangedDatabase(ctx, spec, found.SHA256); err != nil {
		return nil, err
	}
	out.warn(data.Warnings...)
	found.Task = string(data.Task)
	found.Positive = positiveOf(data.Task, data.Train.Schema())
	found.Rows.Train, found.Features = data.Train.Dims()
	if data.shape, err = shapeOf(ctx, data.Parts); err != nil {
		return nil, err
	}
	if err := spec.CheckLevel(data.shape).Err(); err != nil {
		return nil, err
	}
	_, bytes := memoryOfFit(finalPipeline(spec, spec.Pipeline, data.shape, data.Streamed), data.shape, found.Rows)
	if err := checkMemory(bytes, memory.Available(), data.Streamed, false); err != nil { // a search checks its candidates
		return nil, err
	}
	found.Seconds.Load = time.Since(began).Seconds()
	return data, nil
}

// openBefore opens the model to update; its schema applies to the data of the experiment. It
// returns an error if the pipeline of the experiment cannot update it.
func openBefore(ctx context.Context, spec *Spec, path string, found *result.Result) (*opened, error) {
	if spec.Search != nil {
		return nil, errors.New("experiment: a search does not support incremental learning; use --no-search")
	}
	m, err := openModel(path)
	if err != nil {
		return nil, err
	}
	if err := spec.Pipeline.Continues(m.Predictor); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	spec.Data.Known = m.known()
	found.Before.Model, found.Before.Name = m.path, m.Name
	found.Before.SHA256, err = files.Digest(ctx, reader.Files{}, m.path)
	return m, err
}

// shapeOf returns the shape of the training rows.
func shapeOf(ctx context.Context, parts *dataload.Parts) (datasets.Shape, error) {
	train := parts.Train
	if parts.Task.Unsupervised() {
		train = rowsource.DropTargets(train)
	}
	n, cols := train.Dims()
	shape := datasets.Shape{Rows: n, Cols: cols, Outputs: train.Schema().Outputs(), Columns: train.Schema().Columns}
	if !parts.Streamed {
		set, err := datasets.ReadAll(ctx, train) // it is in memory, which is not copied
		if err != nil {
			return shape, err
		}
		shape = set.Shape()
	}
	shape.Streamed = parts.Streamed
	return shape.WithDocuments(ctx, train), nil
}

// read opens the training and test rows, infers the task, splits, and gathers the rows in memory
// unless they are streamed.
func read(ctx context.Context, s Spec, o Options) (*dataload.Parts, error) {
	p, err := dataload.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	train, test := s.Data.Where()
	trainLeft, testLeft := p.SkippedRows(p.Train, train.String()), p.SkippedRows(p.Test, test.String())
	errs, err := validate.Rows(ctx, s, p)
	if err != nil {
		return nil, err
	}
	p.Streamed = s.Data.Dataset == "" && dataload.Streams(ctx, s, p.Train)
	memory := s.Data.Dataset == "" && !p.Streamed // not in memory yet, and needed in memory
	report := func(done, total int) { o.Progress.report("load", done, total) }
	if memory {
		if p.Train, err = dataload.Gather(ctx, p.Train, report); err != nil {
			return nil, dataload.ErrorOf(ctx, s, "data.train", err)
		}
	}
	more, err := validate.Parts(ctx, s, p)
	if err != nil {
		return nil, err
	}
	if err := append(errs, more...).Err(); err != nil {
		return nil, err
	}
	if memory && p.Test != nil {
		if p.Test, err = dataload.Gather(ctx, p.Test, report); err != nil {
			return nil, dataload.ErrorOf(ctx, s, "data.test", err)
		}
	}
	if p.Streamed {
		p.Prefetch()
	}
	if p.Test == nil && s.Data.Split.Test > 0 {
		err = p.Split(ctx, s)
		p.Numbers = dataload.InFile(p.Numbers, trainLeft)
	} else if len(testLeft) > 0 {
		p.Numbers = remainingRows(p.Test, testLeft)
	} else if p.Test == nil && p.Task.Unsupervised() && len(trainLeft) > 0 {
		p.Numbers = remainingRows(p.Train, trainLeft)
	}
	return p, err
}

// remainingRows returns the row numbers in the file of a source without the rows in left.
func remainingRows(source datasets.Source, left []int) []int {
	n, _ := source.Dims()
	all := make([]int, n)
	for k := range all {
		all[k] = k
	}
	return dataload.InFile(all, left)
}

// connect connects to the database of a spec, if it has one.
func connect(ctx context.Context, s *Spec) (end func() error, err error) {
	end, err = dataload.Connect(ctx, &s.Data)
	if err != nil {
		return nil, dataload.ErrorOf(ctx, *s, "data.sql.url", err)
	}
	return end, nil
}
