package model

// Report describes the optimization of a fit.
type Report struct {
	Solver     string  // name of the solver: "cholesky", "newton-cg"
	Iterations int     // 0 for a direct solver
	Converged  bool    // whether the tolerance was reached; true for a direct solver
	Gradient   float64 // final gradient norm relative to the initial one
	Gap        float64 // duality gap relative to the objective, if the solver computes it
	Objective  float64 // final value of the objective
	Warnings   []string
}

// State serializes the report.
func (r *Report) State(s *State) {
	s.String("solver", &r.Solver)
	s.Int("iterations", &r.Iterations)
	s.Bool("converged", &r.Converged)
	s.Float("gradient", &r.Gradient)
	s.Float("gap", &r.Gap)
	s.Float("objective", &r.Objective)
	warnings := append([]string{}, r.Warnings...)
	if s.Strings("warnings", &warnings); s.Restoring() {
		r.Warnings = warnings
	}
}
