package serve

import (
	"context"

	"github.com/bochner-ml/bochner/estimator"
)

// Platform is the name of the software of the models, for the Open Inference Protocol.
const Platform = "bochner"

// InferRequest is a request of the Open Inference Protocol.
type InferRequest struct {
	Model   string
	Version string // "" is the latest
	ID      string
	Inputs  []Tensor
	Outputs []string // that are wanted; none is all
}

// InferResponse is the answer.
type InferResponse struct {
	Model   string
	Version string
	ID      string
	Outputs []Tensor
}

// Refused returns why a parameter of the protocol is an error; "" for those that are not, and for unknown ones, which are
// ignored.
func Refused(parameter string) string {
	switch parameter {
	case "shared_memory_region", "shared_memory_offset", "shared_memory_byte_size":
		return "this server has no shared memory; send the data"
	case "classification":
		return "this server does not sort classes; ask for the output probabilities or scores"
	}
	return ""
}

// Admission is a request that the server has admitted.
type Admission struct {
	server *Server
	memory reservation
}

// Admit admits a request of which nothing has been read, or turns it away if too many wait or the server ends. The request
// ends with [Admission.Done]. The error is an [Error].
func (s *Server) Admit() (*Admission, error) {
	if err := s.gate.admit(); err != nil {
		return nil, err
	}
	return &Admission{s, reservation{gate: s.gate}}, nil
}

// Take reserves further bytes for the request or its answer, or turns the request away. The error is an [Error].
func (a *Admission) Take(bytes int64) error { return a.memory.take(bytes) }

// Done ends the request and frees its memory.
func (a *Admission) Done() {
	a.memory.free()
	a.server.gate.release()
}

// Infer is [Server.Infer] of the request.
func (a *Admission) Infer(ctx context.Context, r *InferRequest) (*InferResponse, error) {
	ctx, leave, err := a.server.gate.enter(ctx)
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

// Infer predicts the rows of the tensors of a request, when it is its turn and within the limits of the server. The error
// is an [Error].
func (s *Server) Infer(ctx context.Context, r *InferRequest) (*InferResponse, error) {
	a, err := s.Admit()
	if err != nil {
		return nil, err
	}
	defer a.Done()
	return a.Infer(ctx, r)
}

// Predict returns the predictions of rows, one after the other, when it is their turn and within the limits of the server.
// The error is an [Error].
func (s *Server) Predict(ctx context.Context, m *Model, rows []float64) (p estimator.Prediction, err error) {
	n := len(rows) / max(m.Coding.Width, 1)
	if n > s.options.Limits.Rows {
		return p, refuse(TooLarge, "more than %d rows, which is the server's limit", s.options.Limits.Rows)
	}
	ctx, leave, err := s.gate.enter(ctx)
	if err != nil {
		return p, err
	}
	defer leave()
	a := Admission{s, reservation{gate: s.gate}}
	defer a.memory.free()
	if err := a.Take(8 * int64(len(rows))); err != nil {
		return p, err
	}
	if p, err = a.predict(ctx, m, rows, n, leave); err != nil {
		return p, ErrorOf(err)
	}
	return p, nil
}

// infer is Infer of a request whose turn it is, which it ends by leave before it waits for another request.
func (a *Admission) infer(ctx context.Context, m *Model, r *InferRequest, leave func()) (*InferResponse, error) {
	specs, err := m.outputs.selected(r.Outputs)
	if err != nil {
		return nil, err
	}
	in := inputs{m.Coding}
	n, err := in.rowCount(r.Inputs, a.server.options.Limits.Rows)
	if err != nil {
		return nil, err
	}
	if err := a.Take(16 * int64(n) * int64(m.Coding.Width)); err != nil {
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
	out := &InferResponse{Model: m.Name, Version: m.Version, ID: r.ID}
	for _, spec := range specs {
		out.Outputs = append(out.Outputs, m.outputs.tensor(spec, p, n))
	}
	return out, nil
}

// predict returns the predictions of n rows, for whose answer it reserves memory, and counts them.
func (a *Admission) predict(ctx context.Context, m *Model, rows []float64, n int, leave func()) (estimator.Prediction, error) {
	if err := a.Take(int64(n) * m.outputs.bytes()); err != nil {
		return estimator.Prediction{}, err
	}
	p, err := m.predict(ctx, rows, n, leave)
	if err == nil {
		a.server.counts.rows.WithLabelValues(m.Name).Add(float64(n))
	}
	return p, err
}
