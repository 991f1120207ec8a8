package pipeline

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// Cost returns the total work of the steps, the maximum memory of any step, and the output width.
// The width is an estimate if that of a step is, unless a later step has a fixed width.
func (c Chain) Cost(shape datasets.Shape) datasets.Cost { return rows.Cost(named(c.Steps), shape) }

// Cost returns the sum of the costs of the parts.
func (u Union) Cost(shape datasets.Shape) datasets.Cost {
	sum := datasets.Cost{CheapToRecompute: true}
	for _, p := range u.Parts {
		sum = addParallel(sum, rows.CostOf(p.Fitter, shape))
	}
	return sum
}

// Cost returns the sum of the costs of the groups. If the shape does not describe the columns, the
// width of a group is an estimate: one column for each name, and equal shares of the remaining
// columns for kinds and patterns.
func (c Columns) Cost(shape datasets.Shape) datasets.Cost {
	groups, rest := c.divide(shape)
	sum := datasets.Cost{CheapToRecompute: true}
	guess := false
	for i, g := range c.Groups {
		sum = addParallel(sum, Chain{Steps: g.Steps}.Cost(groups[i]))
		guess = guess || shape.Columns == nil && !g.names()
	}
	const picked = 150 // measured flops of copying an entry into or out of its group
	moved := picked * float64(max(shape.Rows, 0)) * (shape.Entries() + float64(max(sum.OutputWidth, 0)))
	sum = sum.Add(datasets.Cost{Flops: moved})
	if c.Remainder == "passthrough" {
		sum = addParallel(sum, datasets.Cost{OutputWidth: rest, CheapToRecompute: true})
	}
	sum.WidthEstimated = sum.WidthEstimated || guess
	return sum
}

// divide returns the shape of each group, and the number of columns in no group.
func (c Columns) divide(shape datasets.Shape) (groups []datasets.Shape, rest int) {
	groups = make([]datasets.Shape, len(c.Groups))
	if shape.Columns != nil {
		schema := datasets.Schema{Columns: shape.Columns}
		selected := make([]bool, shape.Cols)
		for i, g := range c.Groups {
			index, _ := g.find(schema, shape.Cols) // Fit reports the error
			groups[i] = shape
			groups[i].Cols, groups[i].Columns = len(index), pick.Schema(schema, index).Columns
			for _, j := range index {
				selected[j] = true
			}
		}
		return groups, len(unselected(selected))
	}
	named, patterns := 0, 0
	for _, g := range c.Groups {
		if g.names() {
			named += len(g.Select)
		} else {
			patterns++
		}
	}
	remaining := max(shape.Cols-named, 0)
	for i, g := range c.Groups {
		groups[i] = shape
		if groups[i].Cols = len(g.Select); !g.names() {
			groups[i].Cols = max(remaining/patterns, 1)
		}
	}
	if patterns > 0 {
		remaining = 0
	}
	return groups, remaining
}

// names reports whether every term of the selection may be a column name.
func (g Group) names() bool {
	for _, term := range g.Select {
		if looksOpen(term) {
			return false
		}
	}
	return true
}

// Cost returns the sum of the costs of the steps and the estimator. It includes the memory of
// mapped rows if they are cached: for an estimator that requires all rows in memory, and for one
// that makes several passes if they fit into p.Memory. In float32 the last step and the estimator
// cost less.
func (p Pipeline) Cost(shape datasets.Shape) datasets.Cost {
	const single = 0.6 // measured
	sum, tiles, last := p.stepsCost(shape)
	mapped := shape.After(sum)
	cost := rows.CostOf(p.Estimator, mapped)
	number := 8.0 // bytes per number
	switch float32Cached := p.cachesFloat32(shape); {
	case mapped.NonZeros > 0:
		number = 12
	case len(p.Steps) > 0 && p.Precision == Float32:
		number = 4
		sum = sum.Add(last.Scale(single - 1))
		cost = cost.Scale(single)
	case float32Cached && cost.Passes > 0: // the cost of the estimator already assumes float32
		number = 4
	case float32Cached:
		number = 4
		cost = cost.Scale(single)
	}
	bytes := sum.Bytes + tiles + cost.Bytes
	sum = sum.Add(cost)
	sum.Bytes = bytes
	size, maxBytes := number*float64(max(shape.Rows, 0))*mapped.Entries(), float64(p.memory())
	_, blocks := p.Estimator.(estimator.BlockEstimator)
	switch {
	case len(p.Steps) == 0 || blocks && cost.Passes == 1: // no rows are cached
	case blocks && size > maxBytes:
		sum = sum.Add(last.Scale(float64(max(cost.Passes-1, 0))))
	default:
		sum.Bytes += int64(min(size, math.MaxInt64/4))
		const kept = 60 // measured flops of writing a feature to new memory
		writing := kept * float64(max(shape.Rows, 0)) * mapped.Entries()
		sum = sum.Add(datasets.Cost{Flops: writing})
	}
	sum.OutputWidth, sum.NonZeros, sum.WidthEstimated = cost.OutputWidth, 0, false
	return sum
}

// stepsCost returns the cost of the steps with the memory of those before the last one. For the
// last step, which maps blocks of rows on demand, it returns the memory of a streamed fit and the
// work.
func (p Pipeline) stepsCost(shape datasets.Shape) (sum datasets.Cost, tiles int64, last datasets.Cost) {
	sum = Chain{Steps: p.Steps}.Cost(shape)
	n := len(p.Steps)
	if n == 0 {
		return sum, 0, last
	}
	before := Chain{Steps: p.Steps[:n-1]}.Cost(shape)
	at := shape.After(before)
	at.Streamed = true
	sum.Bytes = before.Bytes
	lastCost := rows.CostOf(p.Steps[n-1].Fitter, at)
	return sum, lastCost.Bytes, datasets.Cost{Flops: lastCost.Flops}
}

// cachesFloat32 reports whether the features of the last step are cached in float32 for the
// estimator and recomputed where float64 is required.
func (p Pipeline) cachesFloat32(shape datasets.Shape) bool {
	last := len(p.Steps) - 1
	if last < 0 || !p.usesFloat32(shape.Rows, shape.Cols) {
		return false
	}
	before := shape.After(Chain{Steps: p.Steps[:last]}.Cost(shape))
	return rows.CachesFloat32(rows.CostOf(p.Steps[last].Fitter, before), before, p.memory())
}

// addParallel returns the cost of two branches over the same rows: work, memory and output width
// add up.
func addParallel(a, b datasets.Cost) datasets.Cost {
	return datasets.Cost{Flops: a.Flops + b.Flops, Bytes: a.Bytes + b.Bytes,
		OutputWidth:    a.OutputWidth + max(b.OutputWidth, 0),
		WidthEstimated: a.WidthEstimated || b.WidthEstimated || b.OutputWidth < 0, NonZeros: a.NonZeros + b.NonZeros,
		CheapToRecompute: a.CheapToRecompute && b.CheapToRecompute}
}
