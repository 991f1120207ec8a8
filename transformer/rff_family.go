package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
)

// fourierFamily is the maps of a [Family] of Fourier maps.
type fourierFamily struct {
	maps     []*FittedRFF
	features *fourier.Family // of the maps
}

var (
	_ FamilyFitter = RFF{}
)

// SameFamily reports whether other is a Fourier map with the same draws. γ and the number of
// features may differ, and also the kernel if both are scale mixtures of gaussian kernels.
func (s RFF) SameFamily(other Fitter) bool {
	o, ok := other.(RFF)
	if !ok || s.Draw != o.Draw || s.Map != o.Map || s.Seed != o.Seed {
		return false
	}
	return s.mixes() && o.mixes() ||
		s.Kernel == o.Kernel && s.shape() == o.shape() && s.Custom == o.Custom
}

// mixes reports whether the kernel is a scale mixture of gaussian kernels.
func (s RFF) mixes() bool {
	k, ok := s.knownKernel()
	return ok && k.Spread != nil
}

// baseKernel is a kernel but for its width.
type baseKernel struct {
	kernel string
	shape  spectral.Shape
}

func (s RFF) base() baseKernel {
	return baseKernel{kernel: string(s.Kernel), shape: spectral.ShapeOf(string(s.Kernel), s.shape())}
}

// FitFamily fits maps with the same draws: one for each kernel and γ, as wide as the widest spec.
func (s RFF) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (*Family, error) {
	if err := checkFamily("rff", s, specs); err != nil {
		return nil, err
	}
	widest := 0
	for i, spec := range specs {
		if spec.(RFF).Features > specs[widest].(RFF).Features {
			widest = i
		}
	}
	fit, err := specs[widest].Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	first := fit.(*FittedRFF)
	f, out := &fourierFamily{}, &Family{}
	out.Maps = f
	bases := map[baseKernel]*FittedRFF{specs[widest].(RFF).base(): first}
	type rule struct {
		baseKernel
		gamma string
	}
	resolved := map[rule][]float64{} // γ by rule
	for _, spec := range specs {
		r := spec.(RFF)
		base := bases[r.base()]
		if base == nil {
			own := r
			own.Gamma, own.Features = kernel.FixedGamma(1), specs[widest].(RFF).Features
			if fit, err = own.Fit(ctx, data); err != nil {
				return nil, err
			}
			base = fit.(*FittedRFF)
			bases[r.base()] = base
		}
		key := rule{r.base(), r.Gamma.Rule()}
		gamma, known := resolved[key]
		if !known || r.Gamma.Rule() == "" {
			if gamma, err = resolveGamma(ctx, r.Gamma, "rff", base.kernel, data.Source(), s.Seed); err != nil {
				return nil, err
			}
			resolved[key] = gamma
		}
		out.Members = append(out.Members, FamilyMember{Map: f.mapOf(base, gamma), Width: r.Features})
	}
	if err := f.trim(out.Members); err != nil {
		return nil, err
	}
	if err := f.share(ctx, s.law(), first.features.Draws, len(bases) > 1); err != nil {
		return nil, err
	}
	if f.features.Projects() {
		out.Shared = []string{"projection"}
	}
	return out, nil
}

// share sets up the shared projection of the maps. If several is true, their kernels are scale
// mixtures of gaussian kernels. No map has more frequencies than widest.
func (f *fourierFamily) share(ctx context.Context, law fourier.Law, widest fourier.Draws, several bool) (err error) {
	maps := make([]*fourier.Map, len(f.maps))
	for i, m := range f.maps {
		maps[i] = &m.features
	}
	if several {
		f.features, err = fourier.NewMixedFamily(ctx, maps, widest, law)
		return err
	}
	f.features = fourier.NewFamily(maps, widest)
	return nil
}

// FamilyMembers treats γ of different rules as different.
func (s RFF) FamilyMembers(_ datasets.Shape, specs []Fitter) []FamilyMember {
	var kinds []RFF
	members := make([]FamilyMember, len(specs))
	for k, spec := range specs {
		r := spec.(RFF)
		at := slices.IndexFunc(kinds, func(o RFF) bool {
			return o.base() == r.base() && o.Gamma.Rule() == r.Gamma.Rule() &&
				slices.Equal(o.Gamma.Fixed(), r.Gamma.Fixed())
		})
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, r)
		}
		members[k] = FamilyMember{Map: at, Width: r.Features}
	}
	return members
}

// mapOf returns the index of base's map with γ, and appends it if it is new. A new map is as wide
// as base until trim.
func (f *fourierFamily) mapOf(base *FittedRFF, gamma []float64) int {
	for i, m := range f.maps {
		if m.features.Base == base.features.Base && m.features.Signs == base.features.Signs && slices.Equal(m.gamma, gamma) {
			return i
		}
	}
	m := *base
	m.gamma = gamma
	f.maps = append(f.maps, &m)
	return len(f.maps) - 1
}

// trim shrinks every map to the width of its widest member and sets the scales of the members.
func (f *fourierFamily) trim(members []FamilyMember) error {
	for i, m := range f.maps {
		width := 0
		for _, member := range members {
			if member.Map == i {
				width = max(width, member.Width)
			}
		}
		if err := m.finish(m.features.Draws); err != nil {
			return err
		}
		narrow, err := m.WithFeatures(width)
		if err != nil {
			return err
		}
		f.maps[i] = narrow
	}
	for k := range members {
		member := &members[k]
		member.Scale = math.Sqrt(float64(f.maps[member.Map].OutputWidth()) / float64(member.Width))
	}
	return nil
}

// Widths returns the number of features of each wide map.
func (f *fourierFamily) Widths() []int {
	out := make([]int, len(f.maps))
	for i, m := range f.maps {
		out[i] = m.OutputWidth()
	}
	return out
}

// Each maps the rows of X by the maps listed in which and calls yield with the features of each.
// The matrix is valid only during the call.
func (f *fourierFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	X, err := checkRows("rff", X, len(f.maps[0].gamma))
	if err != nil {
		return err
	}
	if err := checkEntries("rff", X, datasets.Schema{}, 0, f.features.Limit(which), false); err != nil {
		return err
	}
	return f.features.Each(ctx, X, which, yield)
}

// EachFloat32 is Each in float32. Maps share no projection, so that the features equal those of a
// separate fit exactly: frequencies are scaled before they are rounded.
func (f *fourierFamily) EachFloat32(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *matrices.Dense32) error) error {
	return eachFloat32(ctx, f.maps, X, which, yield)
}
