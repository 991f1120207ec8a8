package transformer

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

var _ FamilyFitter = Binning{}

// SameFamily reports whether other draws the same grids, possibly another number of them, with
// exact columns. The number of hashed columns per grid depends on the number of grids.
func (s Binning) SameFamily(other Fitter) bool {
	o, ok := other.(Binning)
	if !ok || s.Columns != 0 {
		return false
	}
	o.Grids = s.Grids
	return reflect.DeepEqual(s, o)
}

// gridFamily is the map of a [Family] whose members are its first grids.
type gridFamily struct{ wide *FittedBinning }

// FitFamily fits the map with the most grids. Members equal separate fits exactly, except that
// values of the smooth kernel are rounded again.
func (s Binning) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (*Family, error) {
	if err := checkFamily("binning", s, specs); err != nil {
		return nil, err
	}
	widest := s
	widest.Grids = 0
	for _, spec := range specs {
		widest.Grids = max(widest.Grids, spec.(Binning).Grids)
	}
	fit, rows, err := widest.FitTransform(ctx, data)
	if err != nil {
		return nil, err
	}
	f := &gridFamily{wide: fit.(*FittedBinning)}
	if rows, err = f.unscaled(rows); err != nil {
		return nil, err
	}
	out := &Family{Maps: f, Fitted: []mat.Matrix{rows}, Shared: []string{"grids"}}
	for _, spec := range specs {
		own, err := f.wide.WithGrids(spec.(Binning).Grids)
		if err == nil {
			err = wrapError(ctx, "binning", own.bins.Place(s.MinCount))
		}
		if err != nil {
			return nil, err
		}
		m := FamilyMember{Width: own.OutputWidth(), Scale: 1 / math.Sqrt(float64(own.bins.Grids))}
		if own.bins.Smooth {
			m.Scale = math.Sqrt(float64(f.wide.bins.Grids) / float64(own.bins.Grids))
		}
		out.Members = append(out.Members, m)
	}
	return out, nil
}

// unscaled divides out the common factor 1/sqrt(P), so that a member's features equal those of its own
// fit exactly.
func (f *gridFamily) unscaled(Z mat.Matrix) (mat.Matrix, error) {
	rows, ok := Z.(*matrices.CSR)
	if !ok {
		return nil, fmt.Errorf("transformer: binning: features in a %T", Z)
	}
	if _, shared := rows.Shared(); !shared {
		return rows, nil
	}
	indptr, indices, _ := rows.Raw()
	n, width := rows.Dims()
	return matrices.NewSharedCSR(n, width, indptr, indices, 1)
}

// FamilyMembers returns members of a single map, the one with the most grids.
func (s Binning) FamilyMembers(shape datasets.Shape, specs []Fitter) []FamilyMember {
	members := make([]FamilyMember, len(specs))
	for k, spec := range specs {
		members[k].Width = spec.(Binning).Cost(shape).OutputWidth
	}
	return members
}

// Widths returns the number of bins in all grids.
func (f *gridFamily) Widths() []int { return []int{f.wide.OutputWidth()} }

// Each maps the rows of X by the map with the most grids.
func (f *gridFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	for _, i := range which {
		Z, err := f.wide.Transform(ctx, X)
		if err == nil {
			Z, err = f.unscaled(Z)
		}
		if err == nil {
			err = yield(i, Z)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
