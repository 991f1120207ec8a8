package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/datasets/reader"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/files"
	"github.com/bochner-ml/bochner/pipeline"
)

// known is the rows that the model has learned from.
func (m *opened) known() *document.Known {
	return &document.Known{Schema: m.Schema, Cols: pipeline.Find(m.Predictor).InputWidth()}
}

// openBefore opens the model to learn on from, and looks whether the experiment's pipeline does.
func (r *run) openBefore(ctx context.Context) (err error) {
	path := r.options.Continue
	if path == "" {
		return nil
	}
	if r.spec.Search != nil {
		return errors.New("experiment: a search fits its pipelines from the beginning and does not learn on; leave it out (--no-search)")
	}
	if r.before, err = openModel(path); err != nil {
		return err
	}
	if err := r.spec.Pipeline.Continues(r.before.Predictor); err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	path = r.before.path
	r.spec.Data.Known = r.before.known()
	r.result.Before = &result.Before{Model: path, Name: r.before.Name}
	r.result.Before.SHA256, err = files.Digest(ctx, reader.Files{}, path)
	return err
}

// learnOn goes once over the training rows from the model before.
func (r *run) learnOn(ctx context.Context) (err error) {
	if r.model, err = r.spec.Pipeline.Continue(ctx, r.before.Predictor, r.rows.Train); err != nil {
		return err
	}
	var learned estimator.LearnedOn
	if estimator.AsWithin(r.model, &learned) {
		r.result.Before.Rows = learned.RowsLearned()
	}
	return nil
}
