package pipeline

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/internal/pick"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// Cost adds up the steps: the total work, the maximum memory, and the output width. The width is an
// estimate if that of a step is, unless a later step has a fixed width.
func (c Chain) Cost(shape datasets.Shape) datasets.Cost { return rows.Cost(named(c.Steps), shape) }

// Cost adds up the parts.
func (u Union) Cost(shape datasets.Shape) datasets.Cost {
	sum := datasets.Cost{CheapToRecompute: true}
	for _, p := range u.Parts {
		sum = addParallel(sum, rows.CostOf(p.Fitter, shape))
	}
	return sum
}

// Cost adds the costs of the groups, whose columns the shape determines. If they are unknown, the
// width of a group is an estimate: one column for each name, and equal parts of the remaining
// columns for kinds and patterns.
func (c Columns) Cost(shape datasets.Shape) datasets.Cost {
	groups, rest := c.divide(shape)
	sum := datasets.Cost{CheapToRecompute: true}
	guess := false
	for i, g := range c.Groups {
		sum = addParallel(sum, Chain{Steps: g.Steps}.Cost(groups[i]))
		guess = guess || shape.Columns == nil && !g.names()
	}
	const picked = 150 // flops of copying an entry into its group, or out of it; measured
	moved := picked * float64(max(shape.Rows, 0)) * (shape.Entries() + float64(max(sum.OutputWidth, 0)))
	sum = sum.Add(datasets.Cost{Flops: moved})
	if c.Remainder == "passthrough" {
		sum = addParallel(sum, datasets.Cost{OutputWidth: rest, CheapToRecompute: true})
	}
	sum.WidthEstimated = sum.WidthEstimated || guess
	return sum
}

// divide returns the shape of each group, and how many columns are in none.
func (c Columns) divide(shape datasets.Shape) (groups []datasets.Shape, rest int) {
	groups = make([]datasets.Shape, len(c.Groups))
	if shape.Columns != nil {
		schema := datasets.Schema{Columns: shape.Columns}
		taken := make([]bool, shape.Cols)
		for i, g := range c.Groups {
			index, _ := g.find(schema, shape.Cols) // the fit reports the error
			groups[i] = shape
			groups[i].Cols, groups[i].Columns = len(index), pick.Schema(schema, index).Columns
			for _, j := range index {
				taken[j] = true
			}
		}
		return groups, len(untaken(taken))
	}
	named, open := 0, 0
	for _, g := range c.Groups {
		if g.names() {
			named += len(g.Select)
		} else {
			open++
		}
	}
	left := max(shape.Cols-named, 0)
	for i, g := range c.Groups {
		groups[i] = shape
		if groups[i].Cols = len(g.Select); !g.names() {
			groups[i].Cols = max(left/open, 1)
		}
	}
	if open > 0 {
		left = 0
	}
	return groups, left
}

// names reports whether every term of the selection looks like a name.
func (g Group) names() bool {
	for _, term := range g.Select {
		if looksOpen(term) {
			return false
		}
	}
	return true
}

// Cost adds up the steps, the estimator, and the mapped rows if they are stored: for an estimator
// that needs all rows at once, and for one with several passes if they fit in the memory of the
// pipeline. In float32 the last step and the estimator cost less.
func (p Pipeline) Cost(shape datasets.Shape) datasets.Cost {
	const single = 0.6 // measured
	sum, tiles, last := p.mapping(shape)
	mapped := shape.After(sum)
	cost := rows.CostOf(p.Estimator, mapped)
	number := 8.0 // bytes
	switch rounds := p.rounds(shape); {
	case mapped.NonZeros > 0:
		number = 12
	case len(p.Steps) > 0 && p.Precision == Float32:
		number = 4
		sum = sum.Add(last.Scale(single - 1))
		cost = cost.Scale(single)
	case rounds && cost.Passes > 0: // included in the cost of the estimator
		number = 4
	case rounds:
		number = 4
		cost = cost.Scale(single)
	}
	bytes := sum.Bytes + tiles + cost.Bytes
	sum = sum.Add(cost)
	sum.Bytes = bytes
	size, most := number*float64(max(shape.Rows, 0))*mapped.Entries(), float64(p.memory())
	_, blocks := p.Estimator.(estimator.BlockEstimator)
	switch {
	case len(p.Steps) == 0 || blocks && cost.Passes == 1: // nothing is stored
	case blocks && size > most:
		sum = sum.Add(last.Scale(float64(max(cost.Passes-1, 0))))
	default:
		sum.Bytes += int64(min(size, math.MaxInt64/4))
		const kept = 60 // flops of writing a feature to fresh memory; measured
		writing := kept * float64(max(shape.Rows, 0)) * mapped.Entries()
		sum = sum.Add(datasets.Cost{Flops: writing})
	}
	sum.OutputWidth, sum.NonZeros, sum.WidthEstimated = cost.OutputWidth, 0, false
	return sum
}

// mapping returns the cost of the steps with the memory of those before the last. For the last one,
// it returns its cost on a stream, because it maps blocks of rows as the estimator reads them.
func (p Pipeline) mapping(shape datasets.Shape) (sum datasets.Cost, tiles int64, last datasets.Cost) {
	sum = Chain{Steps: p.Steps}.Cost(shape)
	n := len(p.Steps)
	if n == 0 {
		return sum, 0, last
	}
	before := Chain{Steps: p.Steps[:n-1]}.Cost(shape)
	at := shape.After(before)
	at.Streamed = true
	sum.Bytes = before.Bytes
	of := rows.CostOf(p.Steps[n-1].Fitter, at)
	return sum, of.Bytes, datasets.Cost{Flops: of.Flops}
}

// rounds reports whether the features of the last step are cached in single precision for the
// estimator, and made again.
func (p Pipeline) rounds(shape datasets.Shape) bool {
	last := len(p.Steps) - 1
	if last < 0 || !p.learnsRounded(shape.Rows, shape.Cols) {
		return false
	}
	before := shape.After(Chain{Steps: p.Steps[:last]}.Cost(shape))
	return rows.Rounds(rows.CostOf(p.Steps[last].Fitter, before), before, p.memory())
}

func addParallel(a, b datasets.Cost) datasets.Cost {
	return datasets.Cost{Flops: a.Flops + b.Flops, Bytes: a.Bytes + b.Bytes,
		OutputWidth:    a.OutputWidth + max(b.OutputWidth, 0),
		WidthEstimated: a.WidthEstimated || b.WidthEstimated || b.OutputWidth < 0, NonZeros: a.NonZeros + b.NonZeros,
		CheapToRecompute: a.CheapToRecompute && b.CheapToRecompute}
}
