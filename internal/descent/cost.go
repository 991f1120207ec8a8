package descent

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/solve"
)

// Cost is that of some passes with the rows in memory, for which a core waits; on index rows there
// are fewer, and it waits longer. Narrow rows may want the matrix of the interior point method, and 30
// numbers a row. Each output has a problem of its own.
func Cost(shape datasets.Shape) datasets.Cost {
	n, d, k := float64(shape.Rows), float64(shape.Cols), float64(max(shape.Outputs, 1))
	numbers := n*min(shape.Entries()*1.5, d) + 11*n + 2*n*k + 3*d*k
	if d <= solve.WidestInterior {
		numbers += 30*n + d*(d+512)
	}
	return datasets.Cost{Flops: passes * 80 * n * shape.Entries() * k, Width: max(shape.Outputs, 1), Bytes: design.Bytes(numbers)}
}

// passes is about how many passes coordinate descent takes at the usual C and tolerance.
const passes = 40
