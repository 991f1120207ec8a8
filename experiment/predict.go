package experiment

import (
	"bufio"
	"context"
	"io"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/experiment/predictions"
)

// Predicted describes the predictions that were written.
type Predicted struct {
	Rows int `json:"rows"`
	// UnknownCategories is the number of rows, by column, with a category that the training rows do not have.
	UnknownCategories map[string]int `json:"unknown_categories,omitempty"`
}

// Predict writes the predictions of a model file for the rows of a file, pattern or directory to w
// as CSV, with true values if the rows have them. It streams the rows.
func Predict(ctx context.Context, model, data string, w io.Writer, o Options) (done Predicted, err error) {
	m, err := openModel(model)
	if err != nil {
		return done, err
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	done, err = m.predict(ctx, data, buffered, o)
	if wrong := buffered.Flush(); err == nil { // what was written of an incomplete output ends with a line
		err = wrong
	}
	return done, err
}

// PredictFile is [Predict] to a file, written atomically. The file must not be an input.
func PredictFile(ctx context.Context, model, data, out string, o Options) (done Predicted, err error) {
	m, err := openModel(model)
	if err != nil {
		return done, err
	}
	err = m.writeFile(data, out, o, func(w *bufio.Writer) error {
		done, err = m.predict(ctx, data, w, o)
		return err
	})
	return done, err
}

func (m *opened) predict(ctx context.Context, data string, w *bufio.Writer, o Options) (done Predicted, err error) {
	o.Progress.report("load", 0, 0)
	source, end, err := m.rows(ctx, data, false, o)
	if err != nil {
		return done, err
	}
	defer end()
	defer func() { err = m.explain(ctx, err, source, data) }()
	p := predictions.NewWriter(w, m.Task, m.Schema, false)
	p.Keep = o.Keep
	var explained *explanations
	if o.Explain != nil {
		if explained, err = m.explanations(ctx, o); err != nil {
			return done, err
		}
	}
	unknown := m.unknown()
	err = source.Blocks(ctx, func(block datasets.Set) error {
		output, err := estimator.Predict(ctx, m.Predictor, block.X, estimator.Request{})
		if err != nil {
			return datasets.FromRow(err, p.Row)
		}
		if err := unknown.Add(ctx, block.X); err != nil {
			return err
		}
		p.Truth = block.Y != nil || block.Targets != nil
		if explained != nil {
			if p.Extra, p.ExtraNames, err = explained.columns(ctx, block); err != nil {
				return err
			}
		}
		if err := p.Block(block, output); err != nil {
			return err
		}
		o.Progress.report("predict", p.Row, 0)
		return nil
	})
	if done.Rows = p.Row; err == nil {
		done.UnknownCategories = o.warnUnknown(unknown)
	}
	return done, err
}
