package transformertest

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// stranger is a step that belongs to no family.
type stranger struct{}

func (stranger) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return nil, errors.New("a stranger was fitted")
}

// memberIsLoneFit checks that the features of family members equal those of separate fits, for
// which a search substitutes them.
func memberIsLoneFit(s *suite) {
	f, ok := s.spec.(transformer.FamilyFitter)
	if !ok || !f.SameFamily(s.spec) {
		s.Skip("in no family")
	}
	specs := append([]transformer.Fitter{s.spec}, s.Related...)
	for _, spec := range specs {
		other, ok := spec.(transformer.FamilyFitter)
		if !ok || !f.SameFamily(spec) || !other.SameFamily(s.spec) {
			s.Fatalf("%T and %T are related one way only: %+v", s.spec, spec, spec)
		}
	}
	if f.SameFamily(stranger{}) {
		s.Error("it is related to a step of another type")
	}
	if _, err := f.FitFamily(context.Background(), s.Data, []transformer.Fitter{s.spec, stranger{}}); err == nil {
		s.Error("a family with a stranger was fitted")
	}
	members := f.FamilyMembers(s.Data.Shape(), specs)
	if len(members) != len(specs) {
		s.Fatalf("FamilyMembers must describe %[2]d members, got %[1]d", len(members), len(specs))
	}
	family, err := f.FitFamily(context.Background(), s.Data, specs)
	if err != nil {
		s.Fatalf("FitFamily: %v", err)
	}
	s.singleMembers(family, specs)
	inputs := []mat.Matrix{s.Data.X}
	if !s.DenseOnly {
		inputs = append(inputs, s.sparseData())
	}
	for _, X := range inputs {
		for k, Z := range s.ofMembers(family, specs, X) {
			lone, err := specs[k].Fit(context.Background(), s.Data)
			if err != nil {
				s.Fatalf("Fit of member %d alone: %v", k, err)
			}
			s.equal(Z, s.transform(lone, s.Data.X), s.Tolerance,
				fmt.Sprintf("member %d of a family equals a separate fit of its spec", k))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := f.FitFamily(ctx, s.Data, specs); !errors.Is(err, context.Canceled) || got != nil {
		s.Errorf("cancelled, FitFamily returns %v and %v", got, err)
	}
}

// singleMembers compares the float32 features of members that are whole maps with separate fits,
// bit for bit: other members are columns of a wide map, rounded before scaling.
func (s *suite) singleMembers(family *transformer.Family, specs []transformer.Fitter) {
	s.Helper()
	f, ok := family.Maps.(batch.Float32Maps)
	if !ok {
		return
	}
	n, _ := s.Data.X.Dims()
	seen := 0
	for k, m := range family.Members {
		width := f.Widths()[m.Map]
		err := f.EachFloat32(context.Background(), s.Data.X, []int{m.Map}, func(which int, Z *matrices.Dense32) error {
			if r, c := Z.Dims(); which != m.Map || r != n || c != width {
				return fmt.Errorf("map %d makes %d×%d features in single precision of map %d, %d×%d", which, r, c, m.Map, n, width)
			}
			if m.Width != width {
				return nil
			}
			seen++
			lone, err := specs[k].Fit(context.Background(), s.Data)
			if err != nil {
				return err
			}
			want := matrices.NewDense32(n, width, nil)
			if err := lone.(transformer.SingleTransformer).TransformSingle(context.Background(), want, s.Data.X); err != nil {
				return err
			}
			if !mat.Equal(Z, want) {
				return fmt.Errorf("member %d has other features in single precision than a separate fit of its spec", k)
			}
			return nil
		})
		if err != nil {
			s.Errorf("EachFloat32: %v", err)
		}
	}
	if seen == 0 {
		s.Error("EachFloat32: no member is a whole map")
	}
}

// ofMembers returns the features of every member, made by the wide maps of the family.
func (s *suite) ofMembers(family *transformer.Family, specs []transformer.Fitter, X mat.Matrix) []mat.Matrix {
	s.Helper()
	members, widths := family.Members, family.Widths()
	if len(members) != len(specs) {
		s.Fatalf("%d members of %d specs", len(members), len(specs))
	}
	which := make([]int, len(widths))
	for i := range which {
		which[i] = len(widths) - 1 - i
	}
	out, seen := make([]mat.Matrix, len(specs)), map[int]bool{}
	n, _ := X.Dims()
	err := family.Each(context.Background(), X, which, func(i int, Z mat.Matrix) error {
		if r, c := Z.Dims(); i < 0 || i >= len(widths) || seen[i] || r != n || c != widths[i] {
			return fmt.Errorf("map %d must be yielded once with its declared width, got %d×%d features", i, r, c)
		}
		seen[i] = true
		if family.Fitted != nil {
			s.equal(family.Fitted[i], Z, s.Tolerance, "Fitted is what Each makes of the same rows")
		}
		for k, m := range members {
			if m.Map != i {
				continue
			}
			if m.Width < 1 || m.Width > widths[i] {
				return fmt.Errorf("member %d has %d columns of %d", k, m.Width, widths[i])
			}
			part := mat.DenseCopyOf(mat.DenseCopyOf(Z).Slice(0, n, 0, m.Width))
			part.Scale(m.Scale, part)
			out[k] = part
		}
		return nil
	})
	if err != nil {
		s.Fatalf("Each: %v", err)
	}
	for k, Z := range out {
		if Z == nil {
			s.Fatalf("member %d is part of map %d, which Each does not make", k, members[k].Map)
		}
	}
	return out
}
