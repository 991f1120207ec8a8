package experiment

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/check"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
)

// read opens the training and test rows, infers the task, splits, and gathers them in memory
// unless they are to be streamed.
func read(ctx context.Context, s Spec, o Options) (*rows.Parts, error) {
	p, err := rows.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	train, test := s.Data.Where()
	trainLeft, testLeft := p.LeftOut(p.Train, train.String()), p.LeftOut(p.Test, test.String())
	faults, err := check.Rows(ctx, s, p)
	if err != nil {
		return nil, err
	}
	p.Streamed = s.Data.Dataset == "" && rows.Streams(s, p.Train)
	memory := s.Data.Dataset == "" && !p.Streamed // not in memory already, and wanted there
	tell := func(done, total int) { o.report("load", done, total) }
	if memory {
		if p.Train, err = rows.Gather(ctx, p.Train, tell); err != nil {
			return nil, rows.ErrorOf(ctx, s, "data.train", err)
		}
	}
	more, err := check.Parts(ctx, s, p)
	if err != nil {
		return nil, err
	}
	if err := append(faults, more...).Err(); err != nil {
		return nil, err
	}
	if memory && p.Test != nil {
		if p.Test, err = rows.Gather(ctx, p.Test, tell); err != nil {
			return nil, rows.ErrorOf(ctx, s, "data.test", err)
		}
	}
	if p.Streamed {
		p.Prefetch()
	}
	if p.Test == nil && s.Data.Split.Test > 0 {
		err = p.Split(ctx, s)
		p.Numbers = rows.InFile(p.Numbers, trainLeft)
	} else if len(testLeft) > 0 {
		p.Numbers = numbers(p.Test, testLeft)
	} else if p.Test == nil && p.Task.Targetless() && len(trainLeft) > 0 {
		p.Numbers = numbers(p.Train, trainLeft)
	}
	return p, err
}

// numbers are those in the file of rows of which some are left out.
func numbers(source datasets.Source, left []int) []int {
	n, _ := source.Dims()
	all := make([]int, n)
	for k := range all {
		all[k] = k
	}
	return rows.InFile(all, left)
}

// connect begins to ask the database that a spec names, if it names one.
func connect(ctx context.Context, s *Spec) (end func() error, err error) {
	end, err = rows.Connect(ctx, &s.Data)
	if err != nil {
		return nil, rows.ErrorOf(ctx, *s, "data.sql.url", err)
	}
	return end, nil
}
