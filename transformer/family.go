package transformer

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// Family is a set of maps with shared draws that are fitted to the same rows. It has one or more
// wide maps and any number of members, each of which is a multiple of the leading columns of a wide
// map. It is immutable and safe for concurrent use.
//
// Dense features are computed for a tile of rows at a time, for estimators that accumulate many
// maps in one pass. Sparse features are computed once for all rows, and members use their leading
// columns.
type Family struct {
	// Maps are the wide maps. Features are a *mat.Dense or *matrices.CSR; if they are dense, X should be a
	// tile of rows.
	batch.Maps
	Members []FamilyMember // the map of each spec
	Fitted  []mat.Matrix   // features of the training rows under each wide map; nil if the fit computed none
	Shared  []string       // computations that the maps share, such as "projection" or "grids"
}

// eachFloat32 implements Each in float32.
func eachFloat32[M SingleTransformer](ctx context.Context, maps []M, X mat.Matrix, which []int,
	yield func(which int, Z *matrices.Dense32) error) error {
	n, _ := X.Dims()
	maxWidth := 0
	for _, i := range which {
		maxWidth = max(maxWidth, maps[i].OutputWidth())
	}
	buffer := design.Borrow[float32](n * maxWidth)
	defer buffer.Release()
	for _, i := range which {
		width := maps[i].OutputWidth()
		Z := matrices.NewDense32(n, width, buffer.Data[:n*width])
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
