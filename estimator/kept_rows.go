package estimator

import (
	"context"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/sparse"
)

// mostKept is the number of bytes of sparse rows that are kept in memory rather than mapped or read
// again for every pass.
const mostKept = 1 << 30

// kept returns the rows in memory where they are sparse and not too many, otherwise the rows as they
// are.
func (r *rows) kept(ctx context.Context) (*rows, error) {
	if r.set != nil || !r.sparse {
		return r, nil
	}
	var blocks []datasets.Set
	bytes := 0
	err := r.each(ctx, func(_ int, block datasets.Set) error {
		x, ok := block.X.(*sparse.CSR)
		if !ok {
			return errEnough
		}
		if bytes += sparseBytes(x); bytes > mostKept {
			return errEnough
		}
		all := make([]int, block.Rows())
		for i := range all {
			all[i] = i
		}
		blocks = append(blocks, block.Select(all))
		return nil
	})
	if err == errEnough || err == nil && len(blocks) == 0 {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	set, err := datasets.Stack(blocks...)
	if err != nil {
		return nil, err
	}
	set.Schema = r.schema
	return setRows(set)
}

func sparseBytes(x *sparse.CSR) int {
	indptr, indices, values := x.Raw()
	return 8*len(indptr) + 4*len(indices) + 8*len(values)
}
