package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/sparse"
)

// fourierFamily is a [Family] of Fourier maps.
type fourierFamily struct {
	members []FamilyMember
	maps    []*FittedRFF
	widest  *mat.Dense  // d×m, the base of all, or what is normal in the bases of several kernels
	factors [][]float64 // of each map's frequencies to widest, for several kernels
	limit   float64     // inputs up to which projections on widest are finite
}

// Members says, for each spec, which map its own is a part of.
func (f *fourierFamily) Members() []FamilyMember { return slices.Clone(f.members) }

// Fitted returns nil: the fit maps no rows.
func (f *fourierFamily) Fitted(int) mat.Matrix { return nil }

// Shared names the projection of the rows, where two or more of the maps come from one.
func (f *fourierFamily) Shared() []string {
	if f.projects() {
		return []string{"projection"}
	}
	return nil
}

var (
	_ FamilyFitter = RFF{}
	_ Family       = (*fourierFamily)(nil)
)

// Related reports whether other is a Fourier map of the same draws; γ and the number of features may be
// others, and the kernel, where both are mixtures of gaussian ones.
func (s RFF) Related(other Fitter) bool {
	o, ok := other.(RFF)
	if !ok || s.Draw != "iid" || s.Draw != o.Draw || s.Map != o.Map || s.Seed != o.Seed {
		return false
	}
	return s.mixes() && o.mixes() ||
		s.Kernel == o.Kernel && s.Nu == o.Nu && s.Alpha == o.Alpha && s.Custom == o.Custom
}

// mixes reports whether the kernel is a mixture of gaussian ones.
func (s RFF) mixes() bool {
	k, ok := fourierKernel(s.Kernel, s.Nu, s.Alpha)
	return ok && k.spread != nil
}

// shape is a kernel but for its width.
type shape struct {
	kernel    string
	parameter float64
}

func (s RFF) shape() shape {
	switch s.Kernel {
	case "matern":
		return shape{s.Kernel, s.Nu}
	case "rational_quadratic":
		return shape{s.Kernel, s.Alpha}
	}
	return shape{kernel: s.Kernel}
}

// FitFamily fits maps of the same draws: one for each kernel and γ, as wide as the widest of the
// specs.
func (s RFF) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (Family, error) {
	if len(specs) == 0 {
		return nil, errors.New("transformer: rff: a family of no specs")
	}
	widest := 0
	for i, spec := range specs {
		if !s.Related(spec) {
			return nil, fmt.Errorf("transformer: rff: spec %d is not of the family", i)
		}
		if err := checkSpec("rff", spec); err != nil {
			return nil, err
		}
		if spec.(RFF).Features > specs[widest].(RFF).Features {
			widest = i
		}
	}
	fit, err := specs[widest].Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	first := fit.(*FittedRFF)
	f := &fourierFamily{limit: math.MaxFloat64, widest: first.base}
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
			own.Gamma, own.Features = FixedGamma(1), specs[widest].(RFF).Features
			if fit, err = own.Fit(ctx, data); err != nil {
				return nil, err
			}
			base = fit.(*FittedRFF)
			bases[r.shape()] = base
		}
		key := rule{r.shape(), r.Gamma.rule}
		gamma, known := resolved[key]
		if !known || r.Gamma.rule == "" {
			if gamma, err = r.Gamma.resolve(ctx, "rff", base.kernel, data.Source(), s.Seed); err != nil {
				return nil, err
			}
			resolved[key] = gamma
		}
		f.members = append(f.members, FamilyMember{Map: f.mapOf(base, gamma), Width: r.Features})
	}
	if err := f.trim(); err != nil {
		return nil, err
	}
	if len(bases) > 1 {
		if err := f.mix(ctx, s.Seed); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// mix makes normal numbers the base of maps of several kernels.
func (f *fourierFamily) mix(ctx context.Context, seed uint64) error {
	d, m := f.widest.Dims()
	f.widest = mat.NewDense(d, m, nil)
	rng, column, most := newStream(), make([]float64, d), 0.0
	for j := range m {
		if err := ctx.Err(); err != nil {
			return err
		}
		rng.at(seed, drawFrequencies, j)
		normal(rng.Rand, 1, column)
		f.widest.SetCol(j, column)
		reach := 0.0
		for _, g := range column {
			reach += math.Abs(g)
		}
		most = max(most, reach)
	}
	f.limit = math.MaxFloat64 / max(4, 4*most)
	for _, m := range f.maps {
		factors := slices.Clone(m.spread)
		kern.Scale(m.factor[0], factors)
		f.factors = append(f.factors, factors)
	}
	return nil
}

// FamilyCost takes rules for γ to give others than the numbers there are.
func (s RFF) FamilyCost(shape datasets.Shape, specs []Fitter) ([]FamilyMember, datasets.Cost, []string) {
	var kinds []RFF
	var widths []int
	members := make([]FamilyMember, len(specs))
	for k, spec := range specs {
		r := spec.(RFF)
		at := slices.IndexFunc(kinds, func(o RFF) bool {
			return o.shape() == r.shape() && o.Gamma.rule == r.Gamma.rule && slices.Equal(o.Gamma.values, r.Gamma.values)
		})
		if at < 0 {
			at = len(kinds)
			kinds, widths = append(kinds, r), append(widths, 0)
		}
		members[k] = FamilyMember{Map: at, Width: r.Features}
		widths[at] = max(widths[at], r.Features)
	}
	var cost datasets.Cost
	for _, width := range widths {
		s.Features = width
		part := s.Cost(shape)
		if width == slices.Max(widths) && cost.Flops > 0 { // projected before
			part.Flops -= 2 * float64(shape.Rows) * shape.Entries() * float64(s.frequencies())
		}
		cost.Flops += part.Flops
		cost.Width = max(cost.Width, width)
	}
	cost.Bytes = int64(16 * float64(shape.Cols) * float64(cost.Width))
	if len(widths) > 1 {
		return members, cost, []string{"projection"}
	}
	return members, cost, nil
}

// mapOf returns the number of base's map with γ, which is for now as wide as base.
func (f *fourierFamily) mapOf(base *FittedRFF, gamma []float64) int {
	for i, m := range f.maps {
		if m.base == base.base && slices.Equal(m.gamma, gamma) {
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
		if err := m.finish(); err != nil {
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

// projects reports whether two or more of the maps come from one projection of the rows: those with
// the same γ for all columns.
func (f *fourierFamily) projects() bool {
	uniform := 0
	for _, m := range f.maps {
		if m.uniform() {
			uniform++
		}
	}
	return uniform > 1
}

// uniform reports whether γ is the same for all columns.
func (f *FittedRFF) uniform() bool {
	for _, g := range f.gamma {
		if g != f.gamma[0] {
			return false
		}
	}
	return true
}

// Each maps the rows of X by some of the wide maps and calls yield with the features of each, in a
// matrix that the next one reuses. Meant for a tile of rows: it holds a projection and the features.
func (f *fourierFamily) Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z mat.Matrix) error) error {
	X, err := checkRows("rff", X, len(f.maps[0].gamma))
	if err != nil {
		return err
	}
	n, _ := X.Dims()
	limit, width, projected := f.limit, 0, 0
	for _, i := range which {
		m := f.maps[i]
		limit, width = min(limit, m.double.limit), max(width, m.OutputWidth())
		if f.projects() && m.uniform() {
			projected = max(projected, m.NumFrequencies())
		}
	}
	if err := checkEntries("rff", X, datasets.Schema{}, 0, limit, false); err != nil {
		return err
	}
	hold := tilePool.Get().(*[]float64)
	defer tilePool.Put(hold)
	if need := n * (width + projected); cap(*hold) < need {
		*hold = make([]float64, need)
	}
	tile := (*hold)[:n*width]
	angles := kern.Dense(n, projected, projected, (*hold)[n*width:n*(width+projected)])
	if f.projects() && projected > 0 {
		f.project(angles, X)
	}
	for _, i := range which {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := f.maps[i]
		Z := mat.NewDense(n, m.OutputWidth(), tile[:n*m.OutputWidth()])
		if f.projects() && m.uniform() {
			f.rescale(i, denseView(Z, 0, n), angles.Slice(0, n, 0, m.NumFrequencies()))
		} else if err := m.TransformTo(ctx, Z, X); err != nil {
			return err
		}
		if err := yield(i, Z); err != nil {
			return err
		}
	}
	return nil
}

// tilePool holds features and projections of tiles.
var tilePool = sync.Pool{New: func() any { return new([]float64) }}

// project writes X times what the maps' frequencies are multiples of.
func (f *fourierFamily) project(angles kern.View[float64], X mat.Matrix) {
	d, _ := f.widest.Dims()
	base := denseView(f.widest, 0, d).Slice(0, d, 0, angles.Cols)
	switch m := X.(type) {
	case *mat.Dense:
		kern.Mul(angles, denseView(m, 0, angles.Rows), base, false)
	case *sparse.CSR:
		kern.SparseMul(angles, sparseView(m, 0, angles.Rows), base, false)
	}
}

// rescale writes the features that map i makes of projections.
func (f *fourierFamily) rescale(i int, dst, angles kern.View[float64]) {
	m := f.maps[i]
	switch {
	case f.factors != nil && m.paired:
		kern.SinCosRescaledColumns(dst, angles, f.factors[i], m.norm())
	case f.factors != nil:
		kern.CosRescaledColumns(dst, angles, m.phase, f.factors[i], m.norm())
	case m.paired:
		kern.SinCosRescaled(dst, angles, m.factor[0], m.norm())
	default:
		kern.CosRescaled(dst, angles, m.phase, m.factor[0], m.norm())
	}
}
