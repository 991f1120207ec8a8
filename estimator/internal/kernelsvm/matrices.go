package kernelsvm

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/smo"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Matrices makes the kernel matrices of the same rows for several kernels and γ. Those that are functions of the same
// distance, with one γ for all inputs, share it.
type Matrices struct {
	set       datasets.Set
	distances map[pairwise.Metric]kern.View[float32]
	memory    chan kern.View[float32] // of the matrices in use at a time
	mu        sync.Mutex
}

// wholeShare is the part of the cache that a whole kernel matrix may take.
const wholeShare = 4

// Whole reports whether all kernel values of the given number of rows are computed and stored, rather than cached as
// they are used. It does not depend on the host.
func (s Spec) Whole(rows int) bool {
	return 4*int64(rows)*int64(rows) <= s.cacheBytes(1<<20)/wholeShare
}

// NewMatrices returns the matrices of rows, at most live of them at a time.
func NewMatrices(set datasets.Set, live int) *Matrices {
	m := &Matrices{set: set, distances: map[pairwise.Metric]kern.View[float32]{},
		memory: make(chan kern.View[float32], live)}
	for range live {
		m.memory <- kern.View[float32]{}
	}
	return m
}

// Live returns how many matrices of the given number of rows fit into the memory at a time, up to a limit, and
// an error if there is none.
func Live(rows, limit int) (int, error) {
	const total = 2 << 30
	live := int(min(int64(limit), max(1, total/(4*int64(max(rows, 1))*int64(max(rows, 1))))))
	for ; live > 1 && memory.Check(MatricesBytes(rows, live)) != nil; live-- {
	}
	return live, memory.Check(MatricesBytes(rows, live))
}

// MatricesBytes returns the memory of matrices and of their distances.
func MatricesBytes(rows, live int) int64 { return 4 * int64(rows) * int64(rows) * int64(live+1) }

// Matrix returns the matrix of the kernel and γ of some of the rows. It waits while too many others are in use.
func (m *Matrices) Matrix(ctx context.Context, some *kernelridge.Rows) (*smo.Matrix, error) {
	rows, err := some.With(ctx, m.set)
	if err != nil {
		return nil, err
	}
	f, err := rows.Frame(rows.X)
	if err != nil {
		return nil, err
	}
	out, err := smo.NewMatrix(rows.Kernel, f, rows.X, 0)
	if err != nil {
		return nil, err
	}
	dst := <-m.memory
	if n := m.set.Rows(); dst.Rows < n {
		dst = kern.Dense(n, n, n, kern.MakeLarge[float32](n*n))
	}
	distances, scale := dst, 1.0
	if shares(rows) {
		distances, scale, err = m.shared(ctx, rows)
	} else {
		err = smo.Distances(ctx, dst, rows.Kernel.Metric, f, rows.X)
	}
	if err == nil {
		err = out.Fill(ctx, dst, distances, scale)
	}
	if err != nil {
		m.memory <- dst
		return nil, err
	}
	return out, nil
}

// Release ends the use of a matrix.
func (m *Matrices) Release(k *smo.Matrix) { m.memory <- k.Whole() }

// shares reports whether the distances of a kernel are those of γ = 1 but for a factor.
func shares(r *kernelridge.Rows) bool {
	return r.Kernel.Metric != pairwise.Cauchy && r.Kernel.Metric < pairwise.Columns && slices.Max(r.Gamma) == slices.Min(r.Gamma)
}

// shared returns the distances that kernels share, and what they are multiplied by. Their frame depends on the
// data only.
func (m *Matrices) shared(ctx context.Context, rows *kernelridge.Rows) (kern.View[float32], float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	metric := rows.Kernel.Metric
	_, exponent := math.Frexp(rows.Largest())
	factor := math.Ldexp(1, -exponent)
	scale := rows.Kernel.Scale(rows.Gamma[0]) / factor
	if metric == pairwise.Squared || metric == pairwise.Dot {
		scale /= factor
	}
	dst, ok := m.distances[metric]
	if !ok {
		n, d := rows.X.Dims()
		dst = kern.Dense(n, n, n, kern.MakeLarge[float32](n*n))
		f := rows.Kernel.Frame(slices.Repeat([]float64{factor}, d), rows.X)
		if err := smo.Distances(ctx, dst, metric, f, rows.X); err != nil {
			return dst, 0, err
		}
		m.distances[metric] = dst
	}
	return dst, scale, nil
}
