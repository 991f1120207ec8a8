package design

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// mostCached is the number of bytes of sparse rows that are cached in memory rather than mapped or read
// again for every pass.
const mostCached = 1 << 30

// Cached returns the rows in memory where they are sparse and not too many, otherwise the rows as they
// are.
func (r *Rows) Cached(ctx context.Context) (*Rows, error) {
	if r.Set != nil || !r.Sparse {
		return r, nil
	}
	var blocks []datasets.Set
	bytes := 0
	err := r.Each(ctx, func(_ int, block datasets.Set) error {
		x, ok := block.X.(*sparse.CSR)
		if !ok {
			return errEnough
		}
		if bytes += sparseBytes(x); bytes > mostCached {
			return errEnough
		}
		blocks = append(blocks, copied(block))
		return nil
	})
	if errors.Is(err, errEnough) || err == nil && len(blocks) == 0 {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r.stacked(blocks)
}

func sparseBytes(x *sparse.CSR) int {
	indptr, indices, values := x.Raw()
	return 8*len(indptr) + 4*len(indices) + 8*len(values)
}
