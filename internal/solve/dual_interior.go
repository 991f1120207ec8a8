package solve

import (
	"context"
	"math"
)

func (d *descent) patience() int { return math.MaxInt }

func (d *descent) interior(ctx context.Context, tol float64, maxEpochs int) error { return nil }
