package serve

import "context"

// Admission is a request that has been let in, of another protocol than HTTP.
type Admission struct {
	server *Server
	room   share
}

// Admit lets a request in of which nothing has been read, or turns it away, where too many wait already or the server
// ends. Who is let in says when it is over, by [Admission.Done]. The error is an [Error].
func (s *Server) Admit() (*Admission, error) {
	if err := s.gate.come(); err != nil {
		return nil, s.turnedAway(err)
	}
	return &Admission{s, share{gate: s.gate}}, nil
}

// Take makes room for so many bytes of the request or of its answer, or turns the request away. The error is an [Error].
func (a *Admission) Take(bytes int64) error {
	if err := a.room.take(bytes); err != nil {
		return a.server.turnedAway(err)
	}
	return nil
}

// Infer is [Server.Infer] of the request.
func (a *Admission) Infer(ctx context.Context, r *InferRequest) (*InferResponse, error) {
	s := a.server
	ctx, leave, err := s.turn(ctx)
	if err != nil {
		return nil, s.turnedAway(err)
	}
	defer leave()
	m, err := s.find(r.Model, r.Version)
	if err != nil {
		return nil, err
	}
	out, err := s.infer(ctx, m, r, &a.room, leave)
	if err != nil {
		return nil, s.turnedAway(err)
	}
	return out, nil
}

// Done ends the request and gives back what it had.
func (a *Admission) Done() {
	a.room.free()
	a.server.gate.gone()
}
