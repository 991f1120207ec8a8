package attention

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/softmax"
)

// Features are random features of the weights exp(q'k/sqrt(width)). They never change, and many goroutines may use them.
type Features struct{ features softmax.Map }

// mostFeatures is a bound on the number of features that no machine comes near.
const mostFeatures = 1 << 26

// NewFeatures draws features for queries and keys of a width. Draw is iid, or orthogonal, whose error is smaller. The
// first features of a seed are the same whatever their number. Cost: width·features normal numbers, and
// 4·width²·features flops for orthogonal draws.
func NewFeatures(width, features int, draw string, seed uint64) (*Features, error) {
	var faults []error
	for _, n := range []struct {
		name  string
		value int
	}{{"width", width}, {"features", features}} {
		if n.value < 1 || n.value > mostFeatures {
			faults = append(faults, fmt.Errorf("attention: %s: got %d, wanted a number from 1 to %d", n.name, n.value, mostFeatures))
		}
	}
	known := false
	for _, d := range softmax.Draws {
		known = known || d == draw
	}
	if !known {
		faults = append(faults, fmt.Errorf("attention: draw: got %q, wanted one of %v", draw, softmax.Draws))
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	normal, err := softmax.Draw(context.Background(), draw, seed, width, features)
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	return newFeatures(normal)
}

// FeaturesOf returns the features of given ω, one after the other in a flat slice, each as wide as a query: those that a
// model was trained with.
func FeaturesOf(width int, omega []float64) (*Features, error) {
	if width < 1 || len(omega) == 0 || len(omega)%width != 0 {
		return nil, fmt.Errorf("attention: features: %d numbers, wanted a multiple of the width, %d", len(omega), width)
	}
	if bad := outside(omega, math.MaxFloat64); bad.count > 0 {
		return nil, fmt.Errorf("attention: features: feature %d, column %d: %s", bad.place/width, bad.place%width, bad.problem(math.MaxFloat64))
	}
	return newFeatures(mat.DenseCopyOf(mat.NewDense(len(omega)/width, width, omega).T()))
}

func newFeatures(normal *mat.Dense) (*Features, error) {
	width, _ := normal.Dims()
	factor := make([]float64, width)
	for j := range factor {
		factor[j] = math.Pow(float64(width), -0.25)
	}
	features, err := softmax.New(normal, factor)
	if err == nil && features.Float32.Limit < 0 {
		err = errors.New("the features' numbers are too large")
	}
	if err != nil {
		return nil, fmt.Errorf("attention: features: %w", err)
	}
	return &Features{features}, nil
}

// check reports features that nobody made.
func (f *Features) check() error {
	if f == nil || f.features.Normal == nil {
		return errors.New("attention: no features, wanted those of NewFeatures or FeaturesOf")
	}
	return nil
}

// Width returns the width of queries and keys.
func (f *Features) Width() int {
	if f.check() != nil {
		return 0
	}
	return f.features.Float64.Inputs()
}

// Len returns m, the number of features.
func (f *Features) Len() int {
	if f.check() != nil {
		return 0
	}
	return f.features.Width()
}

// Map returns the features φ of queries or keys, one after the other in a flat slice: φ(q)'φ(k) is exp(q'k/sqrt(width)) in
// the mean. Attention needs them not, it makes its own, which cannot overflow; here a feature that would is an error.
func (f *Features) Map(ctx context.Context, x []float64) ([]float64, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	width, m := f.Width(), f.Len()
	if len(x) == 0 || len(x)%width != 0 {
		return nil, fmt.Errorf("attention: %d numbers, wanted a multiple of the width, %d", len(x), width)
	}
	n := len(x) / width
	if bad := outside(x, f.features.Float64.Limit); bad.count > 0 {
		return nil, fmt.Errorf("attention: position %d, column %d: %s", bad.place/width, bad.place%width, bad.problem(f.features.Float64.Limit))
	}
	if err := memory.Check(8 * int64(n) * int64(m)); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	out := make([]float64, n*m)
	if err := f.features.Float64.Transform(ctx, kern.Dense(n, m, m, out), mat.NewDense(n, width, x)); err != nil {
		if large := (*softmax.OverflowError)(nil); errors.As(err, &large) {
			return nil, fmt.Errorf("attention: position %d: a feature is exp(%.4g), at most exp(%.4g) is possible", large.Row, large.Exponent, large.Most)
		}
		return nil, err
	}
	return out, nil
}

// rounded returns the arithmetic in T.
func rounded[T kern.Float](f *Features) *softmax.Rounded[T] {
	if r, ok := any(&f.features.Float32).(*softmax.Rounded[T]); ok {
		return r
	}
	return any(&f.features.Float64).(*softmax.Rounded[T])
}
