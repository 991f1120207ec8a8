package transformertest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// TryDamaged restores a step of the type of fitted from a copy of a with one to three random changes: an entry
// removed, a scalar or number replaced by another value or type, or an array truncated, extended or reshaped.
// If that succeeds, it maps the data and queries width and schema. Errors are allowed; a panic fails the test.
func TryDamaged(t *testing.T, a *archive.Archive, fitted transformer.Transformer, data datasets.Set, rng *rand.Rand) {
	t.Helper()
	try(t, damaged(a, rng), fitted, data)
}

func try(t reporter, a *archive.Archive, fitted transformer.Transformer, data datasets.Set) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("a damaged archive makes a panic: %v\nscalars %v", r, a.Scalars)
		}
	}()
	back := zero(fitted)
	if err := model.Restore(a, back.(model.Stateful)); err != nil {
		return
	}
	if d, ok := back.(transformer.Describer); ok && d.OutputWidth() > 1<<20 {
		return // too wide to check entry by entry
	}
	Z, err := back.Transform(context.Background(), data.X)
	if err == nil {
		Z.Dims()
	}
	if d, ok := back.(transformer.Describer); ok {
		d.OutputSchema(data.Schema)
	}
}

// damaged returns a copy of a with one to three random changes.
func damaged(a *archive.Archive, rng *rand.Rand) *archive.Archive {
	a = copyArchive(a)
	for range 1 + rng.IntN(3) {
		scalars, arrays := names(a.Scalars), names(a.Arrays)
		k := rng.IntN(len(scalars) + len(arrays) + 1)
		switch {
		case k < len(scalars):
			damageScalar(a, scalars[k], rng)
		case k < len(scalars)+len(arrays):
			damageArray(a, arrays[k-len(scalars)], rng)
		}
	}
	return a
}

func names[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// numbers are extreme or invalid values.
var numbers = []float64{0, -1, 1, 2, 3, 0.5, 1e9, -1e9, 1 << 32, 1 << 52, 1e300, -1e300, 1e-300, math.MaxFloat64,
	math.Inf(1), math.NaN()}

func damageScalar(a *archive.Archive, name string, rng *rand.Rand) {
	number := numbers[rng.IntN(len(numbers))]
	switch rng.IntN(6) {
	case 0:
		delete(a.Scalars, name)
	case 1:
		a.Scalars[name] = []any{nil, "", "nonsense", true, false, 0.0, []string{}}[rng.IntN(7)]
	default:
		switch v := a.Scalars[name].(type) {
		case float64:
			a.Scalars[name] = number
		case bool:
			a.Scalars[name] = !v
		case string:
			others := []string{"", "custom", "paired", "phase", "gaussian", "laplacian", "matern", "triangular", "code", "error"}
			a.Scalars[name] = others[rng.IntN(len(others))]
		}
	}
}

func damageArray(a *archive.Archive, name string, rng *rand.Rand) {
	v := a.Arrays[name]
	size := len(v.Floats) + len(v.Ints) + len(v.Uint32s)
	switch rng.IntN(5) {
	case 0:
		delete(a.Arrays, name)
		return
	case 1:
		v = resized(v, rng.IntN(size+3))
	case 2: // the same numbers in another shape
		if len(v.Shape) == 2 {
			v.Shape = []int{v.Shape[1], v.Shape[0]}
		} else {
			v.Shape = append(slices.Clone(v.Shape), 1)
		}
	default:
		number := numbers[rng.IntN(len(numbers))]
		if k := rng.IntN(size + 1); k < len(v.Floats) {
			v.Floats[k] = number
		} else if k < len(v.Ints) {
			v.Ints[k] = int64(max(-1e18, min(1e18, number)))
		} else if k < len(v.Uint32s) {
			v.Uint32s[k] = rng.Uint32()
		}
	}
	a.Arrays[name] = v
}

// resized returns v with another number of elements, in as many dimensions.
func resized(v archive.Array, size int) archive.Array {
	switch {
	case v.Floats != nil:
		v.Floats = slices.Grow(v.Floats[:min(size, len(v.Floats))], size)[:size]
	case v.Ints != nil:
		v.Ints = slices.Grow(v.Ints[:min(size, len(v.Ints))], size)[:size]
	default:
		v.Uint32s = slices.Grow(v.Uint32s[:min(size, len(v.Uint32s))], size)[:size]
	}
	if len(v.Shape) == 2 {
		v.Shape = []int{1, size}
	} else {
		v.Shape = []int{size}
	}
	return v
}

func copyArchive(a *archive.Archive) *archive.Archive {
	out := &archive.Archive{Scalars: map[string]any{}, Arrays: map[string]archive.Array{}}
	for name, v := range a.Scalars {
		out.Scalars[name] = v
	}
	for name, v := range a.Arrays {
		out.Arrays[name] = archive.Array{Shape: slices.Clone(v.Shape), Floats: slices.Clone(v.Floats),
			Ints: slices.Clone(v.Ints), Uint32s: slices.Clone(v.Uint32s)}
	}
	return out
}
