package shardfit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/validate"
	"github.com/bochner-ml/bochner/param"
)

// inspectColumns infers the columns of the shard's files.
func inspectColumns(ctx context.Context, s *State, o Options) error {
	inputs, err := inputsOf(s, o)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		p, err := lookAt(ctx, s, in, o)
		if err != nil {
			return dataload.ErrorOf(ctx, s.spec, "data.train", err)
		}
		if err := checkTask(s, p.Schema); err != nil {
			return err
		}
		s.pieces = append(s.pieces, p)
		if o.Progress != nil {
			o.Progress(p.Rows)
		}
	}
	return nil
}

func lookAt(ctx context.Context, s *State, in input, o Options) (piece, error) {
	p := piece{index: in.index, name: filepath.Base(in.path)}
	if info, err := os.Stat(in.path); err == nil && info.Mode().IsRegular() {
		if p.bytes = info.Size(); p.bytes == 0 {
			return p, nil
		}
	}
	file, name, _, end, err := open(ctx, s, in.path, o)
	if err != nil {
		return p, err
	}
	defer end()
	p.Piece, err = dataload.Look(ctx, file, name, s.again)
	return p, err
}

// finishInspection merges the inferred columns into one schema, and starts the first pass of the pipeline.
func finishInspection(ctx context.Context, s *State, next *State) (*Outcome, error) {
	for k, p := range s.pieces {
		if p.index != k {
			return nil, fmt.Errorf("shardfit: the schema pass lacks file %d of the data", k)
		}
	}
	pieces := make([]dataload.Piece, len(s.pieces))
	for k, p := range s.pieces {
		pieces[k] = p.Piece
	}
	all, again, err := dataload.Together(s.spec.Data.Files, pieces)
	if err != nil {
		return nil, fmt.Errorf("shardfit: %w", err)
	}
	out := &Outcome{Rows: all.Rows}
	if len(again) > 0 {
		next.pass, next.pieces, next.again = 0, nil, append(slices.Clone(s.again), again...)
		out.Next, out.Again = next, again
		return out, nil
	}
	next.all = all
	if err := checkRows(ctx, next); err != nil {
		return nil, err
	}
	if next.begun, err = next.start(ctx); err != nil {
		return nil, err
	}
	out.Next, out.Learns = next, learns(next.begun)
	return out, nil
}

// checkRows looks whether the experiment and its rows go together.
func checkRows(ctx context.Context, s *State) error {
	if err := checkTask(s, s.all.Schema); err != nil {
		return err
	}
	task := s.spec.Task()
	if task == datasets.AnyTask {
		task = datasets.Regression
		if len(s.all.Schema.Classes()) > 0 {
			task = datasets.Classification
		}
	}
	parts := &dataload.Parts{Train: glance{s.all}, Task: task}
	errs, err := validate.Rows(ctx, s.spec, parts)
	if err != nil {
		return err
	}
	return errs.Err()
}

// checkTask returns an error if the task is neither given nor determined by the schema: a part of
// the rows does not show whether a numeric target contains classes.
func checkTask(s *State, schema datasets.Schema) error {
	if s.spec.Task() == datasets.MultiLabel {
		return param.FieldErrors{s.spec.Locate("data.task", param.FieldError{
			Problem: "must be another task than multilabel in a sharded fit; use bochner run"})}
	}
	if s.spec.Task() != datasets.AnyTask || len(schema.Targets) == 0 || len(schema.Classes()) > 0 {
		return nil
	}
	return param.FieldErrors{s.spec.Locate("data.task", param.FieldError{
		Problem: "required by a sharded fit: the target " + schema.Targets[0].Name + " is numeric",
		Hint:    "--set data.task=regression, or classification for numeric class labels",
	})}
}

// glance is a source of which only the columns are known.
type glance struct{ dataload.Piece }

func (g glance) Schema() datasets.Schema { return g.Piece.Schema }
func (g glance) Dims() (n, cols int)     { return g.Rows, g.Cols }
func (g glance) ScanContent(context.Context) ([]datasets.ColumnContent, error) {
	return g.Content, nil
}
func (g glance) Blocks(context.Context, func(datasets.Set) error) error {
	return errors.New("shardfit: rows are not available")
}
