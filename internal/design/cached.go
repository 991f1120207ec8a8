package design

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// maxCachedBytes bounds the sparse rows that CacheSparse keeps in memory.
const maxCachedBytes = 1 << 30

// CacheSparse returns sparse rows in memory if they take at most maxCachedBytes. Otherwise it
// returns r.
func (r *Rows) CacheSparse(ctx context.Context) (*Rows, error) {
	if r.Set != nil || !r.Sparse {
		return r, nil
	}
	var blocks []datasets.Set
	bytes := 0
	err := r.Each(ctx, func(_ int, block datasets.Set) error {
		x, ok := block.X.(*matrices.CSR)
		if !ok {
			return errStop
		}
		if bytes += sparseBytes(x); bytes > maxCachedBytes {
			return errStop
		}
		blocks = append(blocks, copyBlock(block))
		return nil
	})
	if errors.Is(err, errStop) || err == nil && len(blocks) == 0 {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r.concat(blocks)
}

func sparseBytes(x *matrices.CSR) int {
	indptr, indices, values := x.Raw()
	return 8*len(indptr) + 4*len(indices) + 8*len(values)
}
