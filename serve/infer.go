package serve

import (
	"context"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
)

// admission is a request that the server has admitted. Package distributed/grpc uses it.
type admission struct {
	server *Server
	memory reservation
}

// Admit admits a request before its body is read, or rejects it if the queue is full or the server
// is shutting down. The caller must call Finish of the result. The error is an [*Error].
func (s *Server) Admit() (*admission, error) {
	if err := s.limiter.admit(s.limiter.predictions); err != nil {
		return nil, err
	}
	return &admission{s, reservation{limiter: s.limiter}}, nil
}

// Reserve reserves memory for the request or its response. The error is an [*Error].
func (a *admission) Reserve(bytes int64) error { return a.memory.reserve(bytes) }

// Finish ends the request and releases its memory.
func (a *admission) Finish() {
	a.memory.free()
	a.server.limiter.finish()
}

// Infer waits for a slot and predicts the rows of r. The error is an [*Error].
func (a *admission) Infer(ctx context.Context, r *protocol.InferRequest) (*protocol.InferResponse, error) {
	ctx, leave, err := a.server.limiter.acquire(ctx, a.server.limiter.predictions)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := a.server.Model(r.Model, r.Version)
	if err != nil {
		return nil, err
	}
	out, err := a.infer(ctx, m, r, leave)
	if err != nil {
		return nil, ErrorOf(err)
	}
	return out, nil
}

// Predict waits for a slot and predicts rows, stored contiguously in the encoding of the model. The
// error is an [*Error].
func (s *Server) Predict(ctx context.Context, m *Model, rows []float64) (p estimator.Prediction, err error) {
	n := len(rows) / max(m.Encoding.Width, 1)
	if n > s.options.Limits.MaxRows {
		return p, newError(protocol.TooLarge, "number of rows: must be at most %d; split the request",
			s.options.Limits.MaxRows)
	}
	ctx, leave, err := s.limiter.acquire(ctx, s.limiter.predictions)
	if err != nil {
		return p, err
	}
	defer leave()
	a := admission{s, reservation{limiter: s.limiter}}
	defer a.memory.free()
	if err := a.Reserve(8 * int64(len(rows))); err != nil {
		return p, err
	}
	if p, err = a.predict(ctx, m, rows, n, leave); err != nil {
		return p, ErrorOf(err)
	}
	return p, nil
}

// infer handles a request that occupies a slot. It calls leave before it waits for another request.
func (a *admission) infer(ctx context.Context, m *Model, r *protocol.InferRequest,
	leave func()) (*protocol.InferResponse, error) {
	specs, err := m.outputTensors.selected(r.Outputs)
	if err != nil {
		return nil, err
	}
	m = m.ForRequest()
	in := inputs{m.Encoding}
	n, err := in.rowCount(r.Inputs, a.server.options.Limits.MaxRows)
	if err != nil {
		return nil, err
	}
	if err := a.Reserve(16 * int64(n) * int64(m.Encoding.Width)); err != nil {
		return nil, err
	}
	x, err := in.matrix(r.Inputs, n)
	if err != nil {
		return nil, err
	}
	p, err := a.predict(ctx, m, x, n, leave)
	if err != nil {
		return nil, err
	}
	out := &protocol.InferResponse{Model: m.Name, Version: m.Version, ID: r.ID}
	for _, spec := range specs {
		out.Outputs = append(out.Outputs, m.outputTensors.tensor(spec, p, n))
	}
	return out, nil
}

// predict reserves memory for the response, predicts n rows and counts them.
func (a *admission) predict(ctx context.Context, m *Model, rows []float64, n int, leave func()) (estimator.Prediction,
	error) {
	if err := a.Reserve(int64(n) * m.outputTensors.bytes()); err != nil {
		return estimator.Prediction{}, err
	}
	p, err := m.predict(ctx, rows, n, leave)
	if err == nil {
		a.countRows(m, rows, n)
	}
	return p, err
}

// countRows counts n predicted rows and their unknown categories.
func (a *admission) countRows(m *Model, rows []float64, n int) {
	a.server.metrics.rows.add(float64(n), m.Name)
	for _, c := range m.unknown(rows) {
		a.server.metrics.unknown.add(float64(c.rows), m.Name, c.name)
	}
}
