package attention

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/transformer/internal/softmax"
)

// Features are positive random features of the kernel exp(q'k/sqrt(width)). They are immutable and
// safe for concurrent use. Use [NewFeatures]: the zero value is invalid.
type Features struct{ features softmax.Map }

// maxFeatures is the maximum width and number of features.
const maxFeatures = 1 << 26

// NewFeatures draws features for queries and keys of the given width. Draw is "iid" or
// "orthogonal"; the latter has the smaller error. For a given seed, the first features do not
// depend on their number. Cost: width·features normal variates, and 4·width²·features flops if
// orthogonal.
func NewFeatures(width, features int, draw string, seed uint64) (*Features, error) {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{{"width", width}, {"features", features}} {
		if n.value < 1 || n.value > maxFeatures {
			errs = append(errs, fmt.Errorf("attention: %s must be 1 to %d, got %d", n.name, maxFeatures, n.value))
		}
	}
	known := false
	for _, d := range softmax.Draws {
		known = known || d == draw
	}
	if !known {
		errs = append(errs, fmt.Errorf("attention: draw must be one of %v, got %q", softmax.Draws, draw))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	normal, err := softmax.Draw(context.Background(), draw, seed, width, features)
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	return newFeatures(normal)
}

// newFeatures returns features with the given ω, width × features.
func newFeatures(normal *mat.Dense) (*Features, error) {
	width, _ := normal.Dims()
	factor := make([]float64, width)
	for j := range factor {
		factor[j] = math.Pow(float64(width), -0.25)
	}
	features, err := softmax.New(normal, factor)
	if err == nil && features.Float32.Limit < 0 {
		err = errors.New("omega is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("attention: features: %w", err)
	}
	return &Features{features}, nil
}

// check returns an error for a zero Features.
func (f *Features) check() error {
	if f == nil || f.features.Normal == nil {
		return errors.New("attention: empty features; use NewFeatures")
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

// Len returns the number of features m.
func (f *Features) Len() int {
	if f.check() != nil {
		return 0
	}
	return f.features.Width()
}

// Map returns the features φ of queries or keys as a flat slice, with E[φ(q)'φ(k)] =
// exp(q'k/sqrt(width)). It returns an error if a feature overflows; attention itself rescales
// features and cannot overflow.
func (f *Features) Map(ctx context.Context, x []float64) ([]float64, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	width, m := f.Width(), f.Len()
	if len(x) == 0 || len(x)%width != 0 {
		return nil, fmt.Errorf("attention: x must have a positive multiple of %d elements, got %d", width, len(x))
	}
	n := len(x) / width
	if bad := findInvalid(x, f.features.Float64.Limit); bad.count > 0 {
		return nil, fmt.Errorf("attention: position %d, column %d %s", bad.index/width, bad.index%width,
			bad.describe(f.features.Float64.Limit))
	}
	if err := memory.Check(8 * int64(n) * int64(m)); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	out := make([]float64, n*m)
	if err := f.features.Float64.Transform(ctx, kern.Dense(n, m, m, out), mat.NewDense(n, width, x)); err != nil {
		if large := (*softmax.OverflowError)(nil); errors.As(err, &large) {
			return nil, fmt.Errorf("attention: position %d: features must be at most exp(%.4g), got exp(%.4g)", large.Row,
				large.Most, large.Exponent)
		}
		return nil, err
	}
	return out, nil
}

// mapOf returns the map in precision T.
func mapOf[T kern.Float](f *Features) *softmax.Rounded[T] {
	if r, ok := any(&f.features.Float32).(*softmax.Rounded[T]); ok {
		return r
	}
	return any(&f.features.Float64).(*softmax.Rounded[T])
}
