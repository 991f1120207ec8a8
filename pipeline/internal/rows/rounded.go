package rows

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
)

// Cache selects how the mapped rows of a step are cached.
type Cache int

const (
	// NoCache maps the rows in every pass.
	NoCache Cache = iota
	// Cached maps the rows once and stores them.
	Cached
	// CachedFloat32 maps rows in every pass and also caches them in float32, see
	// [datasets.Float32Source].
	CachedFloat32
)

// CachesFloat32 reports whether to cache features of the given cost in float32 and recompute them where
// float64 is required. This applies to many features if they are cheap to compute, or if float64
// features do not fit in memory.
func CachesFloat32(cost datasets.Cost, shape datasets.Shape, memory int64) bool {
	const minBytes = 32 << 20 // bytes; smaller results stay in the CPU caches
	mapped := shape.After(cost)
	features := float64(shape.Rows) * float64(mapped.Cols)
	if mapped.NonZeros > 0 || 8*features < minBytes {
		return false
	}
	return 8*features > float64(memory) || !cost.WidthEstimated && cost.CheapToRecompute
}

// float32Source is a mapped source with float32 rows in addition.
type float32Source struct {
	mappedSource
	single datasets.Source
}

var _ datasets.Float32Source = float32Source{}

func (r float32Source) Float32() datasets.Source { return r.single }

// withFloat32 returns the in-memory output of a fitted step, whose float32 features are cached if they
// fit, else recomputed in each pass.
func (r Rows) withFloat32(ctx context.Context, s *Step) (datasets.Source, error) {
	exact := Mapped(r.Source(), s).(mappedSource)
	single := *s
	single.Float32 = true
	if 4*int64(s.Width)*int64(r.Set.Rows()) > r.memory {
		return float32Source{exact, Mapped(r.Source(), &single)}, nil
	}
	set := r.Set
	set.Schema = exact.schema
	var err error
	if set.X, err = MapAll(ctx, &single, r.Set.X); err != nil {
		return nil, err
	}
	return float32Source{exact, set.Source()}, nil
}
