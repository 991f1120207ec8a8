package rows

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
)

// Cache says what is done with rows that a step has mapped.
type Cache int

const (
	// Afresh rows are mapped whenever they are read.
	Afresh Cache = iota
	// Cached rows are mapped once.
	Cached
	// Rounded rows are mapped whenever they are read, and cached in single precision beside: see [datasets.Float32Source].
	Rounded
)

// Rounds reports whether features of a step of some cost, made of rows of a shape, are better cached in single
// precision and made again where they must be right. So are many, which a model would have to wait for, if their step says
// that they are soon made, or if there is not enough memory for them otherwise.
func Rounds(cost datasets.Cost, shape datasets.Shape, memory int64) bool {
	const many = 32 << 20 // bytes, beyond which caches of processors do not hold them
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

// rounded returns rows in memory as they come out of a fitted step, whose features in single precision are cached where
// there is room, else mapped whenever they are read.
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
