package kernelridge

import (
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/kernel"
)

// Given the rest that fits found, the steps they took are within a factor of 1.5 of the formula.
func TestStepsAreThoseOfFits(t *testing.T) {
	for _, fit := range []struct {
		kernel     kernel.Name
		rows, rank int
		rest       float64
		alpha, tol float64
		steps      float64
	}{
		{"exponential", 41157, 1420, 0.127, 0.1, 1e-4, 24},
		{"exponential", 15000, 1959, 0.104, 0.01, 1e-4, 39},
		{"exponential", 15000, 1661, 0.111, 0.1, 1e-4, 16},
		{"exponential", 15000, 1959, 0.237, 0.01, 1e-4, 34},
		{"exponential", 15000, 1313, 0.266, 1, 1e-4, 8},
		{"laplacian", 15000, 1147, 0.2, 1, 1e-4, 7},
		{"exponential", 7000, 1338, 0.281, 0.01, 1e-4, 28},
		{"exponential", 7000, 1338, 0.281, 0.01, 1e-6, 49},
		{"exponential", 7000, 818, 0.332, 1, 1e-6, 12},
		{"matern", 10000, 1126, 0.00652, 0.01, 1e-5, 20},
		{"matern", 10000, 735, 0.000129, 0.01, 1e-5, 7},
		{"gaussian", 7000, 1141, 0.0156, 0.01, 1e-4, 21},
		{"gaussian", 20000, 1441, 0.0262, 0.1, 1e-6, 22},
	} {
		s := Spec{Kernel: fit.kernel, Nu: 1.5, Alpha: fit.alpha, Tol: fit.tol, MaxIter: 1000}
		if got := s.steps(fit.rows, float64(fit.rank), fit.rest) / fit.steps; got < 1/1.5 || got > 1.5 {
			t.Errorf("%+v: %.2f times as many", fit, got)
		}
	}
}

// TestCostFollowsTheSpec checks that the cost depends on the parameters.
func TestCostFollowsTheSpec(t *testing.T) {
	shape := datasets.Shape{Rows: 20_000, Cols: 8, Outputs: 1}
	base := Spec{Kernel: "exponential", Nu: 1.5, Shape: 1, Alpha: 1, Solver: "cg", Preconditioner: "rpcholesky", Tol: 1e-4,
		MaxIter: 1000}
	cost := func(change func(s *Spec)) float64 {
		s := base
		change(&s)
		return s.Cost(shape).Flops
	}
	usual := cost(func(*Spec) {})
	for name, change := range map[string]func(s *Spec){
		"a smaller penalty":              func(s *Spec) { s.Alpha = 0.01 },
		"a lower tolerance":              func(s *Spec) { s.Tol = 1e-6 },
		"a larger rank":                  func(s *Spec) { s.Rank = 4000 },
		"no preconditioner":              func(s *Spec) { s.Preconditioner = "none" },
		"a penalty lost in float32":      func(s *Spec) { s.Alpha = 1e-5 },
		"a distance that is no product":  func(s *Spec) { s.Kernel = "laplacian" },
		"a kernel that is rough, indeed": func(s *Spec) { s.Kernel, s.Nu = "matern", 0.5 },
	} {
		got, than := cost(change), usual
		if name == "a kernel that is rough, indeed" {
			than = cost(func(s *Spec) { s.Kernel = "matern" })
		}
		if !(got > 1.02*than) {
			t.Errorf("%s costs %.3g, less than %.3g", name, got, than)
		}
	}
}

// sized is a kernel matrix that counts the requested entries.
type sized struct {
	rows    int
	entries atomic.Int64
}

func (s *sized) Rows() int { return s.rows }

func (s *sized) Tile(dst kern.View[float64], _, _ int) { s.entries.Add(int64(dst.Rows * dst.Cols)) }

func (s *sized) TileFloat32(dst kern.View[float32], _, _ int) {
	s.entries.Add(int64(dst.Rows * dst.Cols))
}

// TestCostCountsTiles checks that the cost counts the entries of computed tiles, including those
// above the diagonal.
func TestCostCountsTiles(t *testing.T) {
	// the last tile is smaller
	for rows, most := range map[int]float64{100: 1, tileRows: 1, 2 * tileRows: 1, 3*tileRows + 200: 1.04} {
		k := &sized{rows: rows}
		if _, err := FullMatrix(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if got := tileEntries(float64(rows)) / float64(k.entries.Load()); got < 1 || got > most {
			t.Errorf("%d rows: %v times the entries that are made", rows, got)
		}
	}
}
