package transformer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/softmax"
	"github.com/bochner-ml/bochner/matrices"
)

// softmaxFamily is the maps of a [Family] of softmax feature maps.
type softmaxFamily struct {
	maps     []*FittedSoftmaxFeatures
	features *softmax.Family // of the maps
}

var (
	_ FamilyFitter = SoftmaxFeatures{}
)

// SameFamily reports whether other has the same draws. γ and the number of features may differ.
func (s SoftmaxFeatures) SameFamily(other Fitter) bool {
	o, ok := other.(SoftmaxFeatures)
	return ok && s.Draw == o.Draw && s.Seed == o.Seed
}

// wideSoftmax returns one spec per distinct γ, as wide as the widest spec with that γ, and the
// index of the wide spec of each spec.
func wideSoftmax(specs []Fitter) (wide []SoftmaxFeatures, of []int) {
	for _, spec := range specs {
		own := spec.(SoftmaxFeatures)
		at := slices.IndexFunc(wide, func(w SoftmaxFeatures) bool {
			return w.Gamma.Rule() == own.Gamma.Rule() && slices.Equal(w.Gamma.Fixed(), own.Gamma.Fixed())
		})
		if at < 0 {
			at = len(wide)
			wide = append(wide, own)
		}
		wide[at].Features = max(wide[at].Features, own.Features)
		of = append(of, at)
	}
	return wide, of
}

// FitFamily draws once and returns a map for each γ.
func (s SoftmaxFeatures) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (*Family, error) {
	if err := checkFamily("softmax_features", s, specs); err != nil {
		return nil, err
	}
	wide, _ := wideSoftmax(specs)
	most := slices.MaxFunc(wide, func(a, b SoftmaxFeatures) int { return a.Features - b.Features })
	fit, err := most.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	normal := fit.(*FittedSoftmaxFeatures).features.Normal
	d, _ := normal.Dims()
	f := &softmaxFamily{}
	var maps []*softmax.Map
	for _, w := range wide {
		gamma, err := w.resolve(ctx, data.Source())
		if err != nil {
			return nil, err
		}
		own, err := newSoftmaxFeatures(normal.Slice(0, d, 0, w.Features).(*mat.Dense), gamma)
		if err != nil {
			return nil, err
		}
		f.maps, maps = append(f.maps, own), append(maps, &own.features)
	}
	if f.features, err = softmax.NewFamily(maps, normal); err != nil {
		return nil, wrapError(ctx, "softmax_features", err)
	}
	out := &Family{Maps: f, Members: s.FamilyMembers(datasets.Shape{}, specs)}
	if f.features.Projects() {
		out.Shared = []string{"projection"}
	}
	return out, nil
}

// FamilyMembers treats γ of different rules as different.
func (s SoftmaxFeatures) FamilyMembers(_ datasets.Shape, specs []Fitter) []FamilyMember {
	wide, of := wideSoftmax(specs)
	members := make([]FamilyMember, len(specs))
	for i, spec := range specs {
		width := spec.(SoftmaxFeatures).Features
		members[i] = FamilyMember{Map: of[i], Width: width, Scale: math.Sqrt(float64(wide[of[i]].Features) / float64(width))}
	}
	return members
}

// Widths returns the number of features of each wide map.
func (f *softmaxFamily) Widths() []int {
	out := make([]int, len(f.maps))
	for i, m := range f.maps {
		out[i] = m.OutputWidth()
	}
	return out
}

// Each maps the rows of X by the maps listed in which and calls yield with the features of each.
// The matrix is valid only during the call.
func (f *softmaxFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	X, err := checkRows("softmax_features", X, f.maps[0].InputWidth())
	if err != nil {
		return err
	}
	if err := checkEntries("softmax_features", X, datasets.Schema{}, 0, f.features.Limit(which), false); err != nil {
		return err
	}
	var failure error // error of yield, returned unchanged
	err = f.features.Each(ctx, X, which, func(which int, Z mat.Matrix) error {
		failure = yield(which, Z)
		return failure
	})
	if failure != nil {
		return failure
	}
	return locateOverflow(ctx, err)
}

// EachFloat32 is Each in float32; maps share no projection.
func (f *softmaxFamily) EachFloat32(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z *matrices.Dense32) error) error {
	return eachFloat32(ctx, f.maps, X, which, yield)
}
