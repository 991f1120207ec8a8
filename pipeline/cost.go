package pipeline

import (
	"github.com/bochner-ml/bochner/datasets"
)

// costOf asks spec what it costs; one that cannot tell is taken for free and as wide as its input.
func costOf(spec any, rows, cols int) datasets.Cost {
	if c, ok := spec.(datasets.Coster); ok {
		return c.Cost(rows, cols)
	}
	return datasets.Cost{Width: cols}
}

// Cost adds up the steps: the work of all of them, the memory of the one that takes most, and the
// width that comes out, -1 where a step cannot tell its own and none behind it has one that does not
// depend on its input.
func (c Chain) Cost(rows, cols int) datasets.Cost {
	sum := datasets.Cost{Width: cols}
	for _, s := range c.Steps {
		cost := costOf(s.Fitter, rows, cols)
		sum.Flops += cost.Flops
		sum.Bytes = max(sum.Bytes, cost.Bytes)
		known := cost.Width >= 0 && (sum.Width >= 0 || cost.Width == costOf(s.Fitter, rows, 2*cols+1).Width)
		if cost.Width >= 0 {
			cols = cost.Width
		}
		if sum.Width = -1; known {
			sum.Width = cols
		}
	}
	return sum
}

// Cost adds up the parts.
func (u Union) Cost(rows, cols int) datasets.Cost {
	var sum datasets.Cost
	for _, p := range u.Parts {
		sum = besides(sum, costOf(p.Fitter, rows, cols))
	}
	return sum
}

// Cost adds up the groups. Without a schema the width of a group is a guess: one column for each
// name, and the columns left over in equal parts for kinds and patterns. The sum's width is known
// only where every group names its columns.
func (c Columns) Cost(rows, cols int) datasets.Cost {
	var sum datasets.Cost
	named, open := 0, 0
	for _, g := range c.Groups {
		if g.names() {
			named += len(g.Select)
		} else {
			open++
		}
	}
	left := max(cols-named, 0)
	for _, g := range c.Groups {
		width := len(g.Select)
		if !g.names() {
			width = max(left/open, 1)
		}
		sum = besides(sum, Chain{Steps: g.Steps}.Cost(rows, width))
	}
	if c.Rest == "pass" && open == 0 {
		sum = besides(sum, datasets.Cost{Width: left})
	}
	if open > 0 {
		sum.Width = -1
	}
	return sum
}

// names says whether every term of the selection is a name, as far as its looks tell.
func (g Group) names() bool {
	for _, term := range g.Select {
		if looksOpen(term) {
			return false
		}
	}
	return true
}

// Cost adds up the steps and the estimator, and the mapped rows that are kept for an estimator that
// reads them more than once.
func (p Pipeline) Cost(rows, cols int) datasets.Cost {
	sum := Chain{Steps: p.Steps}.Cost(rows, cols)
	width := p.widthAfter(rows, cols)
	cost := costOf(p.Estimator, rows, width)
	sum.Flops += cost.Flops
	sum.Bytes = max(sum.Bytes, cost.Bytes)
	if len(p.Steps) > 0 {
		number := int64(8)
		if p.Precision == Float32 {
			number = 4
		}
		sum.Bytes += min(number*int64(max(rows, 0))*int64(width), p.memory())
	}
	sum.Width = 1
	return sum
}

func besides(a, b datasets.Cost) datasets.Cost {
	out := datasets.Cost{Flops: a.Flops + b.Flops, Bytes: a.Bytes + b.Bytes, Width: a.Width + b.Width}
	if a.Width < 0 || b.Width < 0 {
		out.Width = -1
	}
	return out
}
