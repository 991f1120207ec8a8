package transformer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/fourier"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/single"
)

// fourierFamily is a [Family] of Fourier maps.
type fourierFamily struct {
	members  []FamilyMember
	maps     []*FittedRFF
	features *fourier.Family // of the maps
}

// Members returns, for each spec, the map that contains its map.
func (f *fourierFamily) Members() []FamilyMember { return slices.Clone(f.members) }

// Fitted returns nil: the fit maps no rows.
func (f *fourierFamily) Fitted(int) mat.Matrix { return nil }

// Shared returns "projection" if at least two maps share one.
func (f *fourierFamily) Shared() []string {
	if f.features.Projects() {
		return []string{"projection"}
	}
	return nil
}

var (
	_ FamilyFitter = RFF{}
)

// SameFamily reports whether other is a Fourier map of the same draws; γ and the number of features may be
// others, and the kernel, where both are mixtures of gaussian ones.
func (s RFF) SameFamily(other Fitter) bool {
	o, ok := other.(RFF)
	if !ok || s.Draw != o.Draw || s.Map != o.Map || s.Seed != o.Seed {
		return false
	}
	return s.mixes() && o.mixes() ||
		s.Kernel == o.Kernel && s.Nu == o.Nu && s.Alpha == o.Alpha && s.Custom == o.Custom && slices.Equal(s.Of, o.Of)
}

// mixes reports whether the kernel is a mixture of gaussian ones.
func (s RFF) mixes() bool {
	k, ok := s.known()
	return ok && k.Spread != nil
}

// shape is a kernel but for its width.
type shape struct {
	kernel    string
	parameter float64
	parts     string
}

func (s RFF) shape() shape {
	switch s.Kernel {
	case "matern":
		return shape{kernel: string(s.Kernel), parameter: s.Nu}
	case "rational_quadratic":
		return shape{kernel: string(s.Kernel), parameter: s.Alpha}
	case "mixture", "product":
		return shape{kernel: string(s.Kernel), parts: fmt.Sprint(s.Of)}
	}
	return shape{kernel: string(s.Kernel)}
}

// FitFamily fits maps of the same draws: one for each kernel and γ, as wide as the widest of the
// specs.
func (s RFF) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (Family, error) {
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
	f := &fourierFamily{}
	bases := map[shape]*FittedRFF{specs[widest].(RFF).shape(): first}
	type rule struct {
		shape
		gamma string
	}
	resolved := map[rule][]float64{} // γ by rule
	for _, spec := range specs {
		r := spec.(RFF)
		base := bases[r.shape()]
		if base == nil {
			own := r
			own.Gamma, own.Features = kernel.FixedGamma(1), specs[widest].(RFF).Features
			if fit, err = own.Fit(ctx, data); err != nil {
				return nil, err
			}
			base = fit.(*FittedRFF)
			bases[r.shape()] = base
		}
		key := rule{r.shape(), r.Gamma.Rule()}
		gamma, known := resolved[key]
		if !known || r.Gamma.Rule() == "" {
			if gamma, err = resolveGamma(ctx, r.Gamma, "rff", base.kernel, data.Source(), s.Seed); err != nil {
				return nil, err
			}
			resolved[key] = gamma
		}
		f.members = append(f.members, FamilyMember{Map: f.mapOf(base, gamma), Width: r.Features})
	}
	if err := f.trim(); err != nil {
		return nil, err
	}
	if err := f.share(ctx, s.law(), first.features.Draws, len(bases) > 1); err != nil {
		return nil, err
	}
	return f, nil
}

// share lets the maps share projections: they have one kernel, or several mixtures of gaussians,
// and widest has the most frequencies.
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

// FamilyMembers assumes that rules for γ give values different from all numbers.
func (s RFF) FamilyMembers(_ datasets.Shape, specs []Fitter) []FamilyMember {
	var kinds []RFF
	members := make([]FamilyMember, len(specs))
	for k, spec := range specs {
		r := spec.(RFF)
		at := slices.IndexFunc(kinds, func(o RFF) bool {
			return o.shape() == r.shape() && o.Gamma.Rule() == r.Gamma.Rule() && slices.Equal(o.Gamma.Fixed(), r.Gamma.Fixed())
		})
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, r)
		}
		members[k] = FamilyMember{Map: at, Width: r.Features}
	}
	return members
}

// mapOf returns the number of base's map with γ, which is for now as wide as base.
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

// trim makes every map as wide as its widest member and relates the members to it.
func (f *fourierFamily) trim() error {
	for i, m := range f.maps {
		width := 0
		for _, member := range f.members {
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
	for k := range f.members {
		member := &f.members[k]
		member.Scale = math.Sqrt(float64(f.maps[member.Map].OutputWidth()) / float64(member.Width))
	}
	return nil
}

// Widths returns the numbers of features of the wide maps.
func (f *fourierFamily) Widths() []int {
	out := make([]int, len(f.maps))
	for i, m := range f.maps {
		out[i] = m.OutputWidth()
	}
	return out
}

// Each maps the rows of X by some of the wide maps and calls yield with the features of each, in a
// matrix that the next one reuses.
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

// EachFloat32 maps the rows in float32, separately for each map: frequencies are scaled before they
// are rounded, so the features equal those of a separate fit bit for bit.
func (f *fourierFamily) EachFloat32(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *single.Dense) error) error {
	return eachSingle(ctx, f.maps, X, which, yield)
}
