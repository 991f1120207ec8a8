package landmarks

import (
	"context"
	"errors"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// Map turns rows into features by landmarks. It is immutable and safe for concurrent use.
type Map struct {
	Landmarks mat.Matrix // m×d, linearly independent in feature space
	Factor    []float64  // L, m×m, zeros above its diagonal

	kernel  *pairwise.Kernel
	frame   pairwise.Frame
	float64 arithmetic[float64]
	once    sync.Once
	float32 arithmetic[float32] // computed on first use
}

// arithmetic is a map in one precision.
type arithmetic[T kern.Float] struct {
	rows   pairwise.Rows[T] // the landmarks
	factor kern.View[T]
}

// dependent is the part of k(x, x) that must be left of a landmark when the ones before are known. Less would be
// lost in the rounding of float32, and adds no more to any kernel value.
const dependent = 1e-7

// Bytes returns about how much memory a map of m landmarks takes, in both precisions.
func Bytes(m, d int) int64 {
	return int64(min(12*float64(m)*(float64(m)+float64(d))+8*float64(m)*float64(d), math.MaxInt64/2))
}

// Check returns an error if a map of m landmarks does not fit in memory.
func Check(m, d int) error { return memory.Check(Bytes(m, d)) }

// Limit returns the largest number that landmarks may have under the factors.
func Limit(k *pairwise.Kernel, factors []float64, landmarks mat.Matrix) float64 {
	return pairwise.Limit[float64](k.Frame(factors, landmarks))
}

// NewMap returns the map of landmarks, a *mat.Dense or *matrices.CSR, for a kernel of inputs
// multiplied by factors. kept lists the retained landmarks: the features of the others are linearly
// dependent on theirs.
func NewMap(ctx context.Context, k *pairwise.Kernel, factors []float64, landmarks mat.Matrix) (f *Map, kept []int,
	err error) {
	m, d := landmarks.Dims()
	if err := Check(m, d); err != nil {
		return nil, nil, err
	}
	rows := pairwise.NewRows[float64](k.Frame(factors, landmarks), landmarks)
	if err := pairwise.CheckOwn(ctx, k, rows); err != nil {
		return nil, nil, pairwise.RefuseNegative(k, err)
	}
	kept, factor, err := independent(ctx, k, rows)
	if err != nil {
		return nil, nil, err
	}
	if len(kept) == 0 {
		return nil, nil, errors.New("the kernel of all landmarks is 0")
	}
	if len(kept) < m {
		landmarks = Take(landmarks, kept)
	}
	return Restore(k, factors, landmarks, factor), kept, nil
}

// Restore returns the map of landmarks and their factor, as one that was kept in a file.
func Restore(k *pairwise.Kernel, factors []float64, landmarks mat.Matrix, factor []float64) *Map {
	m, _ := landmarks.Dims()
	f := &Map{Landmarks: landmarks, Factor: factor, kernel: k, frame: k.Frame(factors, landmarks)}
	f.float64 = arithmetic[float64]{pairwise.NewRows[float64](f.frame, landmarks), kern.Dense(m, m, m, factor)}
	return f
}

// Width returns the number of features.
func (f *Map) Width() int { return f.float64.rows.Len() }

// Inputs returns the number of columns that go in.
func (f *Map) Inputs() int { return f.float64.rows.Inputs() }

// First returns the map of the first m landmarks.
func (f *Map) First(m int) *Map {
	factor := make([]float64, m*m)
	for i := range m {
		copy(factor[i*m:(i+1)*m], f.float64.factor.Row(i)[:m])
	}
	return Restore(f.kernel, f.frame.Factor, First(f.Landmarks, m), factor)
}

// Limit returns the largest input that may go in, in float32 or float64.
func (f *Map) Limit(short bool) float64 {
	if short {
		return pairwise.Limit[float32](f.frame)
	}
	return pairwise.Limit[float64](f.frame)
}

// Float64 writes the features of the rows of X, a *mat.Dense or *matrices.CSR without values beyond
// the limit, to dst.
func (f *Map) Float64(ctx context.Context, dst kern.View[float64], X mat.Matrix) error {
	return transform(ctx, f, &f.float64, dst, X)
}

// Float32 is [Map.Float64] in the other precision.
func (f *Map) Float32(ctx context.Context, dst kern.View[float32], X mat.Matrix) error {
	f.once.Do(func() {
		m := f.Width()
		short := make([]float32, m*m)
		design.Round(short, f.Factor)
		f.float32 = arithmetic[float32]{pairwise.NewRows[float32](f.frame, f.Landmarks), kern.Dense(m, m, m, short)}
	})
	return transform(ctx, f, &f.float32, dst, X)
}

// Kernel returns the kernel values of the rows of X and of Y.
func (f *Map) Kernel(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	x, y := pairwise.NewRows[float64](f.frame, X), pairwise.NewRows[float64](f.frame, Y)
	out := mat.NewDense(x.Len(), y.Len(), nil)
	return out, pairwise.Matrix(ctx, design.View(out), x, y, f.kernel)
}

// tileRows is the number of rows mapped at a time.
const tileRows = 2048

func transform[T kern.Float](ctx context.Context, f *Map, a *arithmetic[T], dst kern.View[T], X mat.Matrix) error {
	hold := prepared[T]().Get().(*pairwise.Rows[T])
	defer prepared[T]().Put(hold)
	for lo := 0; lo < dst.Rows; lo += tileRows {
		hi := min(lo+tileRows, dst.Rows)
		hold.Prepare(f.frame, X, lo, hi)
		tile := dst.Slice(lo, hi, 0, dst.Cols)
		if err := pairwise.Matrix(ctx, tile, *hold, a.rows, f.kernel); err != nil {
			return err
		}
		if err := solve(ctx, a.factor, tile); err != nil {
			return err
		}
	}
	return nil
}

// solve overwrites the rows of a tile, kernel values of the landmarks, with L⁻¹ times these.
func solve[T kern.Float](ctx context.Context, factor, tile kern.View[T]) error {
	const few = 8 // package kern solves fewer columns by another algorithm, with other rounding errors
	if tile.Rows >= few {
		return kern.SolveLower(ctx, factor, tile.T())
	}
	hold := design.Borrow[T](few * tile.Cols)
	defer hold.Release()
	clear(hold.Data)
	padded := kern.Dense(few, tile.Cols, tile.Cols, hold.Data)
	for i := range tile.Rows {
		copy(padded.Row(i), tile.Row(i))
	}
	if err := kern.SolveLower(ctx, factor, padded.T()); err != nil {
		return err
	}
	for i := range tile.Rows {
		copy(tile.Row(i), padded.Row(i))
	}
	return nil
}

// Rooms for tiles of prepared rows.
var (
	prepared64 = sync.Pool{New: func() any { return new(pairwise.Rows[float64]) }}
	prepared32 = sync.Pool{New: func() any { return new(pairwise.Rows[float32]) }}
)

func prepared[T kern.Float]() *sync.Pool {
	if _, ok := any(T(0)).(float32); ok {
		return &prepared32
	}
	return &prepared64
}
