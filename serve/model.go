package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowencoding"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Model is a loaded version of a model. It is immutable.
type Model struct {
	Name, Version string
	LoadedAt      time.Time
	File          *modelfile.Model      // read only
	Classes       []string              // nil unless a classifier
	Inputs        []protocol.TensorSpec // input tensors
	Outputs       []protocol.TensorSpec
	Encoding      *rowencoding.Coding // encoding of rows

	outputTensors outputs
	encoder       predictionEncoder
	empty         estimator.Prediction // prediction of zero rows
	batch         *batch               // for single rows; nil if the model is not batch invariant, or takes text
}

// newModel prepares a model for requests.
func newModel(name, version string, file *modelfile.Model) (*Model, error) {
	p := pipeline.Find(file.Predictor)
	if p == nil {
		return nil, fmt.Errorf("serve: predictor must be a fitted pipeline, got %T", file.Predictor)
	}
	data, err := decodeRowFormat(file.Reading)
	if err != nil {
		return nil, fmt.Errorf("serve: cannot decode the data section of model %s: %w", name, err)
	}
	ignored := slices.Concat([]string(data.Target), []string{data.Weight, data.Group}, data.Drop)
	m := &Model{Name: name, Version: version, LoadedAt: time.Now(), File: file,
		Encoding: rowencoding.New(file.Schema, p.InputWidth(), data.CSV.Missing, data.Dates, ignored...)}
	m.Encoding.Index()
	m.Classes = estimator.OutputsOf(file.Predictor).Classes
	if m.empty, err = estimator.Predict(context.Background(), file.Predictor, &mat.Dense{},
		estimator.Request{}); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	targets := estimator.OutputsOf(file.Predictor).Labels
	if targets == nil && m.empty.Targets != nil && len(file.Schema.Targets) > 1 {
		targets = m.targetNames()
	}
	m.outputTensors = newOutputs(m.empty, file.Task, m.Classes, len(targets))
	m.Inputs, m.Outputs = inputs{m.Encoding}.specs(), m.outputTensors.specs
	m.encoder = newPredictionEncoder(name, version, m.Classes, targets)
	b := &batch{width: m.Encoding.Width, predict: func(rows []float64, n int) (estimator.Prediction, error) {
		return m.score(context.Background(), rows, n) // the rows belong to several requests
	}}
	if !m.Encoding.HasText() && b.isBatchInvariant(file.Schema) {
		m.batch = b
	}
	return m, nil
}

// unknown returns the columns in which rows have categories that the training rows do not have.
func (m *Model) unknown(rows []float64) (out []unknownColumn) {
	for j, f := range m.Encoding.Fields[:m.Encoding.Width] {
		n := 0
		for k := j; f.Kind == datasets.Categorical && k < len(rows); k += m.Encoding.Width {
			if rows[k] == datasets.Unknown {
				n++
			}
		}
		if n > 0 {
			out = append(out, unknownColumn{f.Name, n})
		}
	}
	return out
}

// ForRequest returns the model with an encoding for the rows of one request, which stores their text.
func (m *Model) ForRequest() *Model {
	if !m.Encoding.HasText() {
		return m
	}
	own := *m
	own.Encoding = m.Encoding.ForRequest()
	return &own
}

func (m *Model) targetNames() (names []string) {
	for _, t := range m.File.Schema.Targets {
		names = append(names, t.Name)
	}
	return names
}

// score predicts n rows.
func (m *Model) score(ctx context.Context, rows []float64, n int) (estimator.Prediction, error) {
	return estimator.Predict(ctx, m.File.Predictor, m.Encoding.Rows(rows, n), estimator.Request{})
}

// predict predicts n rows and checks that the result is finite. It calls wait before it waits for
// another request.
func (m *Model) predict(ctx context.Context, rows []float64, n int, wait func()) (p estimator.Prediction, err error) {
	switch {
	case n == 0:
		return m.empty, nil
	case n == 1 && m.batch != nil:
		p, err = m.batch.predictRow(rows, wait)
	default:
		p, err = m.score(ctx, rows, n)
	}
	if err != nil {
		return p, err
	}
	if i := nonFiniteRow(p); i >= 0 {
		return p, newError(protocol.InvalidArgument, "row %d: the prediction is not finite; the input values are too large",
			i)
	}
	for i, v := range p.Values {
		if m.Classes != nil && !(v >= 0 && v < float64(len(m.Classes))) {
			return p, newError(protocol.Internal, "row %d: predicted class index must be below %d, got %v", i, len(m.Classes), v)
		}
	}
	return p, nil
}
