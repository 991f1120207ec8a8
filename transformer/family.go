package transformer

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/single"
)

// FamilyFitter is a Fitter whose maps come in feature families: specs that differ in some parameters
// only, as the width of a kernel, the kernel, the number of features or of grids, and make their maps
// from the same draws. A search over such parameters makes the maps of a family together.
//
// Invariant: the features of a member equal those of a separate fit of its spec, up to rounding.
type FamilyFitter interface {
	Fitter
	// SameFamily reports whether the map of other is of the receiver's family. It is an equivalence
	// relation; specs of different types are never related.
	SameFamily(other Fitter) bool
	// FitFamily fits specs that are related to the receiver to the same data. It fails where any of
	// them does.
	FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (Family, error)
	// FamilyMembers predicts how the maps of the specs will be related, with estimates where widths
	// depend on the rows.
	FamilyMembers(shape datasets.Shape, specs []Fitter) []FamilyMember
}

// Family is maps of the same draws, fitted to the same rows: one or a few wide maps, and any number of
// members, each some leading columns of a wide map times a factor. It is immutable and safe for
// concurrent use.
//
// Dense features are made a tile of rows at a time, for estimators that learn from the tiles of many
// maps together. Sparse ones are made once for all rows, and members get their leading columns.
type Family interface {
	// Members returns, for each spec, the map that contains its map.
	Members() []FamilyMember
	// Widths returns the numbers of features of the wide maps.
	Widths() []int
	// Each maps the rows of X by some of the wide maps and calls yield with the features of each, a
	// *mat.Dense or a *sparse.CSR that may be used again after yield. Meant for a tile of rows where they
	// are dense.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error
	// Fitted returns the features of a wide map for the training rows of the family, or nil if the
	// fit did not compute them.
	Fitted(which int) mat.Matrix
	// Shared names the work shared by mapping rows by all maps jointly: "projection", "grids".
	Shared() []string
}

// eachSingle does it for maps that work in single precision.
func eachSingle[M SingleTransformer](ctx context.Context, maps []M, X mat.Matrix, which []int,
	yield func(which int, Z *single.Dense) error) error {
	n, _ := X.Dims()
	most := 0
	for _, i := range which {
		most = max(most, maps[i].OutputWidth())
	}
	hold := design.Borrow[float32](n * most)
	defer hold.Release()
	for _, i := range which {
		width := maps[i].OutputWidth()
		Z := single.New(n, width, hold.Data[:n*width])
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

// checkFamily looks whether there are specs, each of them right, that are all related to the first of a family of a
// step's maps.
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
