package serve

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/inspection"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
)

// explanationRounds bounds the pairs of permutations of sampled Shapley values.
const explanationRounds = 10

// explanation is the response to POST /v1/models/NAME:explain.
type explanation struct {
	Model   string `json:"model"`
	Version string `json:"version"`
	inspection.ShapleyValues
}

// explainRows explains the predictions of rows of JSON objects relative to the typical row.
func explainRows(c *call) error {
	return c.handleRows(func(ctx context.Context, m *Model, rows []float64, n int, _ func()) error {
		typical, err := m.TypicalRow()
		if err != nil {
			return err
		}
		values, err := c.explain(ctx, m, typical, rows, n)
		if err != nil {
			return err
		}
		values.Data, values.EfficiencyGap = nil, 0 // known to the client, and checked
		text, err := json.Marshal(explanation{m.Name, m.Version, values})
		c.out = append(append(c.out[:0], text...), '\n')
		return err
	})
}

// TypicalRow returns the medians of the numeric columns and the most frequent categories of the
// training rows. The error is an [*Error] if the model file does not describe them.
func (m *Model) TypicalRow() ([]float64, error) {
	known := m.File.Profile
	if known == nil || len(known.Columns) < m.Encoding.Width {
		return nil, newError(protocol.InvalidArgument, "model %s: the file has no statistics of all training columns, "+
			"which an explanation requires", m.Name)
	}
	row := make([]float64, m.Encoding.Width)
	for j := range row {
		c := known.Columns[j]
		row[j] = math.NaN()
		if len(c.Quantiles) == 11 {
			row[j] = c.Quantiles[5]
		}
		if len(c.Categories) > 0 {
			for code, name := range m.File.Schema.Column(j).Categories {
				if name == c.Categories[0].Name {
					row[j] = float64(code)
				}
			}
		}
	}
	return row, nil
}

// Explain waits for a slot of explanations and returns the Shapley values of rows with the single background row typical, in the
// encoding of the model: contributions to the difference between the predictions of the row and of the typical row. The
// error is an [*Error].
func (s *Server) Explain(ctx context.Context, m *Model, typical, rows []float64) (inspection.ShapleyValues, error) {
	none := inspection.ShapleyValues{}
	ctx, leave, err := s.limiter.acquire(ctx, s.limiter.explanations)
	if err != nil {
		return none, err
	}
	defer leave()
	a := admission{s, reservation{limiter: s.limiter}}
	defer a.memory.free()
	values, err := a.explain(ctx, m, typical, rows, len(rows)/max(m.Encoding.Width, 1))
	if err != nil {
		return none, ErrorOf(err)
	}
	return values, nil
}

// explain limits the work, reserves memory, explains n rows and counts them.
func (a *admission) explain(ctx context.Context, m *Model, typical, rows []float64, n int) (inspection.ShapleyValues,
	error) {
	none, width := inspection.ShapleyValues{}, m.Encoding.Width
	switch limit := a.server.options.Limits.MaxRows; {
	case m.File.Task == datasets.Clustering:
		return none, newError(protocol.InvalidArgument, "model %s: a clustering has no explanation", m.Name)
	case n == 0:
		return none, newError(protocol.InvalidArgument, "rows: must not be empty")
	case n*width > limit:
		return none, newError(protocol.TooLarge, "rows × columns: must be at most %d, got %d; split the request", limit,
			n*width)
	}
	if err := a.Reserve(16 * int64(n) * (int64(width) + m.outputTensors.bytes()*int64(width))); err != nil {
		return none, err
	}
	set := func(x []float64, n int) datasets.Set {
		return datasets.Set{X: mat.NewDense(n, width, x), Schema: m.File.Schema}
	}
	values, err := inspection.Shapley(ctx, m.File.Predictor, set(typical, 1), set(rows, n),
		inspection.ShapleyOptions{MaxRounds: explanationRounds})
	var at *datasets.RowError
	if err != nil && ctx.Err() == nil && !errors.As(err, &at) {
		err = newError(protocol.InvalidArgument, "cannot explain: %v", err)
	}
	if err == nil {
		a.countRows(m, rows, n)
	}
	return values, err
}
