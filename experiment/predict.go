package experiment

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// Predicted describes the predictions that were written.
type Predicted struct {
	Rows int `json:"rows"`
	// Skipped is the number of invalid rows in Options.SkipInvalid.
	Skipped int `json:"skipped,omitempty"`
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

// PredictFile is the function [Predict] to a file, written atomically. The file must not be an input. The extension .json implies
// Options.JSON; extensions of other data formats are an error.
func (o Options) PredictFile(ctx context.Context, model, data, out string) (done Predicted, err error) {
	m, err := openModel(model)
	if err != nil {
		return done, err
	}
	switch format := reader.FormatOf(out); {
	case strings.EqualFold(filepath.Ext(out), ".json"):
		o.JSON = true
	case format != "" && format != "csv" || strings.HasSuffix(strings.ToLower(out), ".gz"):
		return done, fmt.Errorf("experiment: predictions must be a .csv or .json file, got %s", out)
	}
	if out != "" && out == o.SkipInvalid {
		return done, fmt.Errorf("experiment: predictions and invalid rows must be different files, got %s", out)
	}
	err = m.writeFile(data, out, o, func(w *bufio.Writer) error {
		done, err = m.predict(ctx, data, w, o)
		return err
	})
	return done, err
}

// predict writes predictions, and invalid rows to the file of SkipInvalid. Without that file the error lists all of the
// first invalid rows: a stream is read on, a file is read again.
func (m *opened) predict(ctx context.Context, data string, w *bufio.Writer, o Options) (done Predicted, err error) {
	if o.SkipInvalid != "" {
		err = m.writeFile(data, o.SkipInvalid, o, func(list *bufio.Writer) error {
			skip := &skippedRows{write: invalidWriter(list)}
			done, err = m.predictRows(ctx, data, w, o, skip)
			return err
		})
		if err == nil && done.Skipped > 0 && o.OnWarning != nil {
			o.OnWarning(fmt.Sprintf("%d of %d rows are invalid and have no prediction; their reasons are in %s", done.Skipped,
				done.Skipped+done.Rows, o.SkipInvalid))
		}
		return done, err
	}
	var first invalidRows
	if slices.ContainsFunc(append([]string{data}, o.ExtraFiles...), reader.ReadOnce) {
		done, err = m.predictRows(ctx, data, w, o, &skippedRows{write: first.add, listing: true})
		return done, cmp.Or(first.err(), err)
	}
	done, err = m.predictRows(ctx, data, w, o, nil)
	var line *datasets.LineError
	var row *datasets.RowError
	ofRow := errors.As(err, &line) || errors.As(err, &row) || errors.Is(err, datasets.ErrMissing)
	if err == nil || ctx.Err() != nil || !ofRow {
		return done, err
	}
	o.Progress = nil
	_, again := m.predictRows(ctx, data, bufio.NewWriter(io.Discard), o, &skippedRows{write: first.add, listing: true})
	if len(first.list) > 1 && (again == nil || errors.Is(again, errStop)) {
		err = first.err()
	}
	return done, err
}

// predictRows predicts rows. Without skip an invalid row is an error.
func (m *opened) predictRows(ctx context.Context, data string, w *bufio.Writer, o Options,
	skip *skippedRows) (done Predicted, err error) {
	o.Progress.report("load", 0, 0)
	if skip != nil {
		o.onInvalid = skip.add
	}
	source, end, err := m.rows(ctx, data, false, o)
	if err != nil {
		return done, err
	}
	defer end()
	defer func() { err = m.explain(ctx, err, source, data) }()
	p := predictions.NewWriter(w, m.Task, m.Schema, false)
	p.Keep, p.JSON = o.Keep, o.JSON
	if o.JSON {
		w.WriteString(`{"predictions":`)
		defer func() {
			if err == nil {
				err = closeJSON(w, p, done)
			}
		}()
	}
	numbers := []int(nil) // of the rows of a block
	if skip != nil {
		p.Numbers = func(row int) int { return numbers[row-done.Rows] }
	}
	explained, err := m.explanations(ctx, o)
	if err != nil {
		return done, err
	}
	unknown := m.unknown()
	err = source.Blocks(ctx, func(block datasets.Set) error {
		numbers = skip.number(block.Rows())
		output, err := estimator.Predict(ctx, m.Predictor, block.X, estimator.Request{})
		for err != nil && skip != nil {
			if block, numbers, err = skip.reject(ctx, block, numbers, err); err != nil || len(numbers) == 0 {
				return err
			}
			output, err = estimator.Predict(ctx, m.Predictor, block.X, estimator.Request{})
		}
		if err != nil {
			return datasets.FromRow(err, p.Row)
		}
		if skip != nil && skip.listing && len(skip.rows) > 0 {
			return nil // the predictions are not complete
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
		done.Rows = p.Row
		o.Progress.report("predict", p.Row, 0)
		return nil
	})
	if skip != nil {
		done.Skipped = len(skip.rows)
	}
	if done.Rows = p.Row; err == nil {
		done.UnknownCategories = o.warnUnknown(unknown)
	}
	return done, err
}

// closeJSON ends the JSON object of predictions with what is known of them.
func closeJSON(w *bufio.Writer, p *predictions.Writer, done Predicted) error {
	p.Close()
	text, err := json.Marshal(done)
	w.Write(append(append([]byte{','}, text[1:]...), '\n'))
	return err
}
