package transformer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// claim is a source that claims to have columns, and has no rows to show.
type claim struct{ rows, cols int }

func (c claim) Schema() datasets.Schema { return datasets.Schema{} }
func (c claim) Dims() (rows, cols int)  { return c.rows, c.cols }
func (c claim) Blocks(context.Context, func(datasets.Set) error) error {
	return nil
}

// TestFitSourceChecksClaims checks that the claims of a source are checked before
// allocation, and that a source without rows is an error.
func TestFitSourceChecksClaims(t *testing.T) {
	rff, binning := NewRFF(), NewBinning()
	rff.Gamma, rff.Features = kernel.FixedGamma(1), maxFeatures
	binning.Gamma, binning.Grids = kernel.FixedGamma(1), 1<<20
	few := NewRFF()
	few.Gamma = kernel.FixedGamma(1)
	for _, c := range []struct {
		spec BlockFitter
		data claim
		want string
	}{
		{rff, claim{-1, 1 << 10}, "more memory than there is"},
		{binning, claim{-1, 1<<12 + 1}, "more memory than there is"},
		{NewPCA(), claim{-1, maxCovariance + 1}, "does not fit in memory"},
		{NewStandardize(), claim{-1, 3}, datasets.ErrEmpty.Error()},
		{few, claim{-1, 0}, datasets.ErrEmpty.Error()},
		{few, claim{0, 3}, datasets.ErrEmpty.Error()},
	} {
		f, err := c.spec.FitSource(context.Background(), c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || f != nil {
			t.Errorf("%T of %+v: %v and the error %v, want one with %q", c.spec, c.data, f, err, c.want)
		}
	}
}

// Numbers whose squares overflow have no covariance.
func TestPCARefusesOverflow(t *testing.T) {
	X := mat.NewDense(3, 2, []float64{1e160, 1, -1e160, 2, 1e160, 3})
	if f, err := NewPCA().Fit(context.Background(), datasets.Set{X: X}); err == nil ||
		!strings.Contains(err.Error(), "the variance overflows") {
		t.Errorf("%v and the error %v", f, err)
	}
}

// A kernel of the user's own needs its draws; errors in it need the kernel itself.
func TestCustomKernelsNeedTheirFunctions(t *testing.T) {
	binning := NewBinning()
	binning.Kernel, binning.Custom = "custom", &CustomKernel{}
	data := datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 3})}
	if f, err := binning.Fit(context.Background(), data); err == nil ||
		!strings.Contains(err.Error(), "custom, with a Pitch function") {
		t.Errorf("%v and the error %v", f, err)
	}
	rff := NewRFF()
	rff.Features, rff.Kernel = 4, "custom"
	rff.Custom = &CustomKernel{Frequency: func(rng *rand.Rand, omega []float64) {
		for j := range omega {
			omega[j] = rng.NormFloat64()
		}
	}}
	fitted, err := rff.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := fitted.(*FittedRFF).KernelErrors(context.Background(), data.X, []int{4}); !errors.Is(err,
		errNoKernel) {
		t.Errorf("%v and the error %v", list, err)
	}
}

// A family is of related maps.
func TestFamiliesRefuseStrangers(t *testing.T) {
	ctx := context.Background()
	data := datasets.Set{X: mat.NewDense(3, 1, []float64{1, 2, 3})}
	for _, fitter := range []FamilyFitter{NewRFF(), NewBinning(), NewNystroem()} {
		for want, specs := range map[string][]Fitter{"a family of no specs": nil,
			"spec 1 is not of the family": {fitter, NewPCA()}} {
			if f, err := fitter.FitFamily(ctx, data, specs); err == nil || f != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v and the error %v, want %q", f, err, want)
			}
		}
	}
	rare := NewBinning()
	rare.MinCount = 4
	if f, err := rare.FitFamily(ctx, data, []Fitter{rare, rare}); err == nil ||
		!strings.Contains(err.Error(), "no bin has min_count = 4 rows") {
		t.Errorf("%v and the error %v", f, err)
	}
}

// TestMapsReportAllErrors checks that a map reports all errors of the rows and of the destination
// matrix at once.
func TestMapsReportAllErrors(t *testing.T) {
	ctx := context.Background()
	X := mat.NewDense(3, 2, []float64{1, 2, 0.5, 1, 3, 1})
	rff, softmax, landmarks := NewRFF(), NewSoftmaxFeatures(), NewNystroem()
	rff.Gamma, softmax.Gamma, landmarks.Gamma = kernel.FixedGamma(0.1), kernel.FixedGamma(0.1), kernel.FixedGamma(0.1)
	rff.Features, softmax.Features, landmarks.Landmarks = 4, 4, 2
	bad := mat.DenseCopyOf(X)
	bad.Set(1, 1, math.NaN())
	for name, spec := range map[string]Fitter{"rff": rff, "softmax_features": softmax, "nystroem": landmarks} {
		f := mustFit(t, spec, datasets.Set{X: X}).(interface {
			DenseTransformer
			SingleTransformer
		})
		for want, err := range map[string]error{
			"destination must be 3×|, got nil":               f.TransformTo(ctx, nil, X),
			", got nil|destination must be 3×":               f.TransformSingle(ctx, nil, X),
			"destination must be 3×|, got 5×1|row 1, column": f.TransformTo(ctx, mat.NewDense(5, 1, nil), bad),
			"destination must be 3×|, got 5×2|row 1, column": f.TransformSingle(ctx, matrices.NewDense32(5, 2, nil), bad),
			"2 columns at fit, 3 now": f.TransformTo(ctx, mat.NewDense(3, 4, nil),
				mat.NewDense(3, 3, nil)),
		} {
			for part := range strings.SplitSeq(want, "|") {
				if err == nil || !strings.Contains(err.Error(), "transformer: "+name) || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: the error is %v, want %q", name, err, part)
				}
			}
		}
	}
}
