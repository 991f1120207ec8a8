package rows

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
)

// Cache selects how the mapped rows of a step are cached.
type Cache int

const (
	// Afresh maps rows in every pass.
	Afresh Cache = iota
	// Cached maps rows once.
	Cached
	// Rounded maps rows in every pass and also caches them in float32, see
	// [datasets.Float32Source].
	Rounded
)

// Rounds reports whether to cache features of the given cost in float32 and recompute them where
// float64 is required. This applies to many features if they are cheap to compute, or if float64
// features do not fit in memory.
func Rounds(cost datasets.Cost, shape datasets.Shape, memory int64) bool {
	const many = 32 << 20 // bytes; larger arrays exceed processor caches
	mapped := shape.After(cost)
	features := float64(shape.Rows) * float64(mapped.Cols)
	if mapped.NonZeros > 0 || 8*features < many {
		return false
	}
	return 8*features > float64(memory) || !cost.WidthEstimated && cost.CheapToRecompute
}

// rounded is mapped rows with the same rows in single precision.
type rounded struct {
	mapped
	single datasets.Source
}

var _ datasets.Float32Source = rounded{}

func (r rounded) Float32() datasets.Source { return r.single }

// rounded returns the output of a fitted step on rows in memory. Its float32 features are cached if
// they fit, else recomputed in each pass.
func (r Rows) rounded(ctx context.Context, s *Step) (datasets.Source, error) {
	exact := Mapped(r.Source(), s).(mapped)
	single := *s
	single.Float32 = true
	if 4*int64(s.Width)*int64(r.Set.Rows()) > r.memory {
		return rounded{exact, Mapped(r.Source(), &single)}, nil
	}
	set := r.Set
	set.Schema = exact.schema
	var err error
	if set.X, err = MapAll(ctx, &single, r.Set.X); err != nil {
		return nil, err
	}
	return rounded{exact, set.Source()}, nil
}
