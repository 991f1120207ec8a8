package serve

import (
	"context"
	"maps"
	"net/http"
	"slices"
)

// predictRows predicts rows of JSON objects.
func predictRows(c *call) error {
	return c.handleRows(func(ctx context.Context, m *Model, rows []float64, n int, leave func()) error {
		p, err := c.predict(ctx, m, rows, n, leave)
		if err == nil {
			c.out = m.encoder.append(c.out[:0], p, n, m.unknown(rows))
		}
		return err
	})
}

// handleRows handles a request with rows of JSON objects. Work writes the response to c.out.
func (c *call) handleRows(work func(ctx context.Context, m *Model, rows []float64, n int, leave func()) error) error {
	return c.handlePost(func(ctx context.Context, m *Model, leave func()) ([]string, error) {
		// A column of a row takes at least four bytes of the body, and eight of the matrix.
		if err := c.Reserve(2*int64(len(c.body)) + 8*int64(m.Encoding.Width)); err != nil {
			return nil, err
		}
		if err := c.scan.Begin(c.body); err != nil {
			return nil, err
		}
		m = m.ForRequest()
		r := &c.reader
		*r = rowReader{JSON: &c.scan, Coding: m.Encoding, maxRows: c.server.options.Limits.MaxRows,
			fieldNumbers: r.fieldNumbers, x: r.x[:0]}
		if err := r.read(); err != nil {
			return nil, err
		}
		c.rows = r.n
		return headerJSON, work(ctx, m, r.x, r.n, leave)
	}, "application/json")
}

// listModels lists all models.
func listModels(c *call) error {
	return c.sendValue(http.StatusOK, map[string][]modelStatus{"models": c.server.Status()})
}

// modelDescription is the response to GET /v1/models/NAME.
type modelDescription struct {
	modelStatus
	Columns []columnDescription `json:"columns"`
	Dates   []string            `json:"dates,omitempty"`   // dates that may replace their parts
	Targets []string            `json:"targets,omitempty"` // predicted targets
	Classes []string            `json:"classes,omitempty"`
	Missing []string            `json:"missing"` // strings that mean a missing value, like null
	Outputs []string            `json:"outputs"` // output tensors
	Metrics map[string]float64  `json:"metrics,omitempty"`
}

type columnDescription struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Levels []string `json:"levels,omitempty"`
}

// describeModel returns the schema of a model.
func describeModel(c *call) error {
	m, err := c.find()
	if err != nil {
		return err
	}
	out := modelDescription{
		modelStatus: c.server.models.status(m.Name)[0], Targets: m.targetNames(), Classes: m.Classes,
		Missing: slices.Sorted(maps.Keys(m.Encoding.Missing)), Outputs: m.outputTensors.names(), Metrics: m.File.Metrics,
	}
	out.Version, out.Task = m.Version, string(m.File.Task)
	for k, f := range m.Encoding.Fields {
		switch {
		case k < m.Encoding.Width:
			out.Columns = append(out.Columns, columnDescription{f.Name, f.Kind.String(), f.Levels})
		case f.Date != nil:
			out.Dates = append(out.Dates, f.Name)
		}
	}
	return c.sendValue(http.StatusOK, out)
}
