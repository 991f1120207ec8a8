package transformer

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/kernel"
)

// landmarkFamily is a [Family] of maps by landmarks that are leading ones of the same.
type landmarkFamily struct {
	members  []FamilyMember
	features *landmarks.Family
	widths   []int
}

var (
	_ FamilyFitter = Nystroem{}
	_ Family       = (*landmarkFamily)(nil)
)

// SameFamily reports whether other takes the same landmarks, fewer or more of them. Uniform ones are the same for every
// kernel and γ; those of randomly pivoted Cholesky are of one kernel and one γ.
func (s Nystroem) SameFamily(other Fitter) bool {
	o, ok := other.(Nystroem)
	if !ok || s.Choose != o.Choose || s.Seed != o.Seed || s.LandmarksFrom != o.LandmarksFrom ||
		(s.Kernel == kernel.Precomputed) != (o.Kernel == kernel.Precomputed) {
		return false
	}
	return s.Choose == "uniform" || s.mapping() == o.mapping() && slices.Equal(s.Gamma.Fixed(), o.Gamma.Fixed())
}

// mapping is a kernel with the rule for its γ.
type mapping struct {
	kernel string
	shape  spectral.Shape
	rule   string
}

func (s Nystroem) mapping() mapping {
	return mapping{string(s.Kernel), spectral.ShapeOf(string(s.Kernel), s.shape()), s.Gamma.Rule()}
}

// wideMaps returns a spec for each kernel and γ, with as many landmarks as the most of the specs
// with these, and which of them each spec belongs to.
func wideMaps(specs []Fitter) (wide []Nystroem, of []int) {
	for _, spec := range specs {
		own := spec.(Nystroem)
		at := slices.IndexFunc(wide, func(w Nystroem) bool {
			return w.mapping() == own.mapping() && slices.Equal(w.Gamma.Fixed(), own.Gamma.Fixed())
		})
		if at < 0 {
			at = len(wide)
			wide = append(wide, own)
		}
		wide[at].Landmarks = max(wide[at].Landmarks, own.Landmarks)
		of = append(of, at)
	}
	return wide, of
}

// FitFamily draws the landmarks once, and makes a map for each kernel and γ.
func (s Nystroem) FitFamily(ctx context.Context, data datasets.Set, specs []Fitter) (Family, error) {
	if err := checkFamily("nystroem", s, specs); err != nil {
		return nil, err
	}
	if err := checkFinite("nystroem", s, data); err != nil {
		return nil, err
	}
	wide, of := wideMaps(specs)
	most := slices.MaxFunc(wide, func(a, b Nystroem) int { return a.Landmarks - b.Landmarks })
	source, gram, err := s.precomputed(ctx, data.Source())
	if err != nil {
		return nil, err
	}
	rows, err := most.sample(ctx, source)
	if err != nil {
		return nil, err
	}
	f := &landmarkFamily{}
	maps, kept := make([]*landmarks.Map, len(wide)), make([][]int, len(wide))
	for i, w := range wide {
		own := rows
		if n, _ := rows.Dims(); w.Choose == "uniform" && w.Landmarks < n {
			own = landmarks.First(rows, w.Landmarks)
		}
		fit, list, err := w.fitted(ctx, source, own, gram)
		if err != nil {
			return nil, err
		}
		maps[i], kept[i] = fit.features, list
		f.widths = append(f.widths, fit.OutputWidth())
	}
	if s.Choose != "uniform" {
		rows = maps[0].Landmarks // one map, whose landmarks are all kept
		kept[0] = nil
	}
	f.features = landmarks.NewFamily(maps, kept, rows)
	for i, spec := range specs {
		m := FamilyMember{Map: of[i], Scale: 1, Width: f.widths[of[i]]}
		if list := kept[of[i]]; s.Choose == "uniform" {
			m.Width, _ = slices.BinarySearch(list, spec.(Nystroem).Landmarks)
		} else {
			m.Width = min(m.Width, spec.(Nystroem).Landmarks)
		}
		f.members = append(f.members, m)
	}
	return f, nil
}

// FamilyMembers takes no landmark to be left out.
func (s Nystroem) FamilyMembers(shape datasets.Shape, specs []Fitter) []FamilyMember {
	_, of := wideMaps(specs)
	members := make([]FamilyMember, len(specs))
	for i, spec := range specs {
		members[i] = FamilyMember{Map: of[i], Width: spec.(Nystroem).Cost(shape).OutputWidth, Scale: 1}
	}
	return members
}

// Members returns the map of each spec and its number of columns.
func (f *landmarkFamily) Members() []FamilyMember { return slices.Clone(f.members) }

// Widths returns the numbers of landmarks of the wide maps.
func (f *landmarkFamily) Widths() []int { return slices.Clone(f.widths) }

// Fitted returns nil: the fit maps no rows.
func (f *landmarkFamily) Fitted(int) mat.Matrix { return nil }

// Shared names the distances to the landmarks where several maps come from them, else the landmarks.
func (f *landmarkFamily) Shared() []string {
	switch {
	case f.features.Shares():
		return []string{"distances"}
	case len(f.members) > 1:
		return []string{"landmarks"}
	}
	return nil
}

// Each maps the rows of X by some of the wide maps.
func (f *landmarkFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	X, err := checkRows("nystroem", X, f.features.Inputs())
	if err != nil {
		return err
	}
	if err := checkEntries("nystroem", X, datasets.Schema{}, 0, f.features.Limit(which), false); err != nil {
		return err
	}
	if err := checkDomain(X, f.features.Domain); err != nil {
		return err
	}
	return f.features.Each(ctx, f.features.NewRows(X), which, yield)
}
