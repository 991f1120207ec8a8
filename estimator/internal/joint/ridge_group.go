package joint

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/leastsquares"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// mappedRidges is one call of FitMappedRidges.
type mappedRidges struct {
	Batch
	candidates   []Ridge
	parts        [][]int // rows with the same set of training folds
	trains       [][]int // parts of the training rows, by fold
	groups       []*ridgeGroup
	shared       map[string]bool
	minTrainRows int // smallest training set
	folds        sync.Mutex
	spareMoments []*leastsquares.Moments // memory for reuse
}

// ridgeGroup is a set of candidates with the same sums on the same map.
type ridgeGroup struct {
	members        []int
	which          int  // map number
	inFloat32      bool // whether features are float32
	widen          bool // whether float32 features are summed in float64
	precisionKnown bool // whether widen is decided
	width          int
	secondWidth    int                     // second largest width
	sums           []*leastsquares.Moments // by part
	// problems has one element per part, because a Problem is not safe for concurrent use.
	problems []*leastsquares.Problem
	seconds  float64         // of the sums
	models   [][]fittedModel // by fold, for included members
	solved   int             // completed folds
}

// chunkRows returns the number of rows mapped at a time. Float64 features and angles stay in cache
// until all maps are done; float32 features are summed [tileRows] at a time.
func (s *mappedRidges) chunkRows() int {
	if slices.ContainsFunc(s.Candidates, func(f batch.Candidate) bool { return f.Float32 }) {
		return tileRows
	}
	return float64ChunkRows
}

// float64ChunkRows is the number of float64 rows processed at a time.
const float64ChunkRows = 256

// eachFloat64 calls f with rows [lo, hi) of Z in float64, in chunks if Z is float32.
func eachFloat64(Z mat.Matrix, f func(lo, hi int, Z mat.Matrix) error) error {
	n, _ := Z.Dims()
	m, ok := Z.(*matrices.Dense32)
	if !ok {
		return f(0, n, Z)
	}
	for lo := 0; lo < n; lo += float64ChunkRows {
		hi := min(lo+float64ChunkRows, n)
		if err := design.WithFloat64(m.Slice(lo, hi), func(Z mat.Matrix) error { return f(lo, hi, Z) }); err != nil {
			return err
		}
	}
	return nil
}

// each maps a tile of rows for each group, to a *mat.Dense or *matrices.Dense32.
func (s *mappedRidges) each(groups []*ridgeGroup, X mat.Matrix, f func(k int, Z mat.Matrix) error) error {
	var float64Maps, float32Maps []int
	for _, g := range groups {
		list := &float64Maps
		if g.inFloat32 {
			list = &float32Maps
		}
		if !slices.Contains(*list, g.which) {
			*list = append(*list, g.which)
		}
	}
	yieldMap := func(m int, float32Maps bool, leading func(width int) mat.Matrix) error {
		for k, g := range groups {
			if g.which == m && g.inFloat32 == float32Maps {
				if err := f(k, leading(g.width)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if len(float64Maps) > 0 {
		err := s.eachDense(s.ctx, X, float64Maps, func(m int, Z *mat.Dense) error {
			n, _ := Z.Dims()
			return yieldMap(m, false, func(width int) mat.Matrix { return Z.Slice(0, n, 0, width) })
		})
		if err != nil {
			return err
		}
	}
	if len(float32Maps) == 0 {
		return nil
	}
	return s.Maps.(batch.Float32Maps).EachFloat32(s.ctx, X, float32Maps, func(m int, Z *matrices.Dense32) error {
		return yieldMap(m, true, func(width int) mat.Matrix { return Z.Leading(width) })
	})
}

// add adds the mapped rows of a block to a part.
func (g *ridgeGroup) add(ctx context.Context, part int, Z mat.Matrix, block datasets.Set) error {
	y, count, weights, err := g.problems[part].Block(0, block)
	if err != nil {
		return err
	}
	if g.sums[part] == nil {
		if part == 0 {
			g.sums[part] = leastsquares.NewMoments(g.width, count, g.problems[part].Intercept)
		} else {
			g.sums[part] = g.sums[0].EmptyLike()
		}
	}
	if !g.widen {
		return g.sums[part].Add(ctx, Z, y, weights)
	}
	return eachFloat64(Z, func(lo, hi int, Z mat.Matrix) error {
		sample := weights
		if sample != nil {
			sample = weights[lo:hi]
		}
		return g.sums[part].Add(ctx, Z, y[lo*count:hi*count], sample)
	})
}

// trainSums returns the moments of a fold's training rows. The caller returns them by releaseSums.
func (s *mappedRidges) trainSums(g *ridgeGroup, fold int) *leastsquares.Moments {
	wide := &leastsquares.Moments{}
	s.folds.Lock()
	if n := len(s.spareMoments); n > 0 {
		wide, s.spareMoments = s.spareMoments[n-1], s.spareMoments[:n-1]
	}
	s.folds.Unlock()
	var parts []*leastsquares.Moments
	for _, p := range s.trains[fold] {
		parts = append(parts, g.sums[p])
	}
	wide.SetSum(g.sums[0], parts)
	return wide
}

// releaseSums releases the moments of a fold unless they are needed, and after the last fold of a
// group the moments of its parts.
func (s *mappedRidges) releaseSums(g *ridgeGroup, wide *leastsquares.Moments, needed bool) {
	s.folds.Lock()
	if !needed {
		s.spareMoments = append(s.spareMoments, wide)
	}
	g.solved++
	last := g.solved == len(s.Folds)
	s.folds.Unlock()
	if !last {
		return
	}
	parts := g.sums
	g.sums = nil
	s.folds.Lock()
	s.spareMoments = append(s.spareMoments, parts...)
	s.folds.Unlock()
}

// runParallel calls f(0), …, f(n−1) in parallel and returns the first error by index.
func runParallel(n int, f func(k int) error) error {
	failed := make([]error, n)
	kern.Parallel(n, 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			failed[k] = f(k)
		}
	})
	return cmp.Or(failed...)
}

// eachWidth calls f with the models of each width, in ascending order, and their regularization
// path. The last path overwrites the matrix of wide. It reports whether models on that path need
// refinement.
func (s *mappedRidges) eachWidth(g *ridgeGroup, models []fittedModel, wide *leastsquares.Moments,
	f func(*leastsquares.Path, []*fittedModel)) (needed bool, err error) {
	byWidth := map[int][]*fittedModel{}
	for k := range models {
		m := &models[k]
		byWidth[m.width] = append(byWidth[m.width], m)
	}
	for _, width := range slices.Sorted(maps.Keys(byWidth)) {
		gram, buffer := wide.Gram, (*design.Buffer[float64])(nil)
		if width < g.width {
			buffer = design.Borrow[float64](width * width)
			gram = buffer.Data
		}
		start := time.Now()
		p, err := leastsquares.NewPath(s.ctx, wide, width, gram, g.count(s.Candidates, width))
		if err != nil {
			return false, err
		}
		list := byWidth[width]
		f(p, list)
		seconds, needsRefinement := time.Since(start).Seconds()/float64(len(list)), false
		for _, m := range list {
			m.seconds += seconds
			if m.needsRefinement {
				m.path, needsRefinement = p, true
			}
		}
		switch {
		case buffer == nil:
			needed = needsRefinement
		case !needsRefinement:
			buffer.Release()
		}
	}
	return needed, ctxerr.Check(s.ctx)
}

// count returns the number of members with the given width, included or not, so that results do not
// depend on inclusion.
func (g *ridgeGroup) count(candidates []batch.Candidate, width int) (n int) {
	for _, i := range g.members {
		if candidates[i].Width == width {
			n++
		}
	}
	return n
}

// finish completes a model from its weights.
func (m *fittedModel) finish(p *leastsquares.Path) {
	model := p.Model(m.weights)
	m.offset, m.report = model.Intercept, model.Report
}
