package transformer

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/single"
)

// FamilyFitter is a Fitter whose specs form feature families: specs that differ only in some
// parameters, such as the kernel width or the number of features, and share random draws. A search
// over these parameters computes the features of a family together.
//
// Invariant: the features of a member equal those of a separate fit of its spec, up to rounding.
type FamilyFitter interface {
	Fitter
	// SameFamily reports whether the map of other belongs to the receiver's family. It is an
	// equivalence relation and false for specs of another type.
	SameFamily(other Fitter) bool
	// FitFamily fits specs of the receiver's family to the same data. It returns an error if any of
	// the fits would.
	FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (Family, error)
	// FamilyMembers predicts the members of FitFamily's result. Widths that depend on the rows are
	// estimates.
	FamilyMembers(shape datasets.Shape, specs []Fitter) []FamilyMember
}

// Family is a set of maps with shared draws that are fitted to the same rows. It has one or more
// wide maps and any number of members, each of which is a multiple of the leading columns of a wide
// map. It is immutable and safe for concurrent use.
//
// Dense features are computed for a tile of rows at a time, for estimators that accumulate many
// maps in one pass. Sparse features are computed once for all rows, and members use their leading
// columns.
type Family interface {
	// Members returns the wide map, width and scale of each spec.
	Members() []FamilyMember
	// Widths returns the number of features of each wide map.
	Widths() []int
	// Each maps the rows of X by the wide maps listed in which and calls yield with each result, a
	// *mat.Dense or *sparse.CSR that is valid only during the call. If the features are dense, X
	// should be a tile of rows.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error
	// Fitted returns the features of the training rows under a wide map, or nil if the fit did not
	// compute them.
	Fitted(which int) mat.Matrix
	// Shared names the computations that the maps share, such as "projection" or "grids".
	Shared() []string
}

// eachFloat32 implements Each in float32.
func eachFloat32[M SingleTransformer](ctx context.Context, maps []M, X mat.Matrix, which []int,
	yield func(which int, Z *single.Dense) error) error {
	n, _ := X.Dims()
	maxWidth := 0
	for _, i := range which {
		maxWidth = max(maxWidth, maps[i].OutputWidth())
	}
	buffer := design.Borrow[float32](n * maxWidth)
	defer buffer.Release()
	for _, i := range which {
		width := maps[i].OutputWidth()
		Z := single.New(n, width, buffer.Data[:n*width])
		if err := maps[i].TransformSingle(ctx, Z, X); err != nil {
			return err
		}
		if err := yield(i, Z); err != nil {
			return err
		}
	}
	return ctxerr.Check(ctx)
}

// FamilyMember is the map of one spec: Scale times the first Width columns of the wide map Map.
type FamilyMember struct {
	Map, Width int
	Scale      float64
}

// checkFamily returns an error if specs is empty, contains an invalid spec, or contains a spec
// outside the family of first.
func checkFamily(step string, first FamilyFitter, specs []Fitter) error {
	if len(specs) == 0 {
		return errors.New("transformer: " + step + ": a family of no specs")
	}
	for i, spec := range specs {
		if !first.SameFamily(spec) {
			return fmt.Errorf("transformer: %s: spec %d is not of the family", step, i)
		}
		if err := checkSpec(step, spec); err != nil {
			return err
		}
	}
	return nil
}
