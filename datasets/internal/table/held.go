package table

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/textrows"
)

// rowCache stores the rows of the first pass, to save the second one. During the pass, categories
// have codes in order of appearance; these are replaced when the schema is known.
type rowCache struct {
	source   *source
	maxBytes int64  // bytes
	all      *block // nil if the rows are no longer stored
}

// newRowCache returns a cache of at most maxBytes, or nil if rows cannot be stored.
func newRowCache(s *source, maxBytes int64) *rowCache {
	if maxBytes <= 0 || s.layout.sparse {
		return nil
	}
	l := s.layout
	own := &source{layout: l, weighted: s.weighted, cells: make([]cell, len(l.columns)),
		implicitTargets: make([]float64, len(l.targets))}
	own.schema.Columns = make([]datasets.Column, len(l.inputs))
	for k, j := range l.inputs {
		own.cells[j] = cell{use: input, at: k}
	}
	for k, j := range l.targets {
		own.cells[j] = cell{use: target, at: k}
	}
	if l.weight >= 0 {
		own.cells[l.weight] = cell{use: weight}
	}
	if l.group >= 0 {
		own.cells[l.group] = cell{use: group}
	}
	h := &rowCache{source: own, maxBytes: maxBytes}
	h.all = h.newBlock()
	return h
}

// newBlock returns a block for the rows of a part, or nil if they are not stored.
func (h *rowCache) newBlock() *block {
	if h == nil {
		return nil
	}
	b := h.source.newBlock()
	b.capacity = math.MaxInt / max(len(h.source.schema.Columns), 1)
	return b
}

// current returns the block of all rows, or nil.
func (h *rowCache) current() *block {
	if h == nil {
		return nil
	}
	if h.all != nil && h.bytes(h.all.rows) > h.maxBytes {
		h.all = nil
	}
	return h.all
}

// bytes returns the memory of rows.
func (h *rowCache) bytes(rows int) int64 {
	l := h.source.layout
	return 8 * int64(rows) * int64(len(l.inputs)+len(l.targets)+2+16*len(l.passthrough))
}

// join appends the rows of a part and reports whether rows are still stored. l must include the
// columnOrigin. share is the fraction of the file up to the end of the part, 0 if unknown.
func (h *rowCache) join(l *SchemaLearner, part *partStats, share float64) bool {
	if h == nil || h.all == nil || part.rows == nil {
		return false
	}
	if h.bytes(l.rows) > h.maxBytes || !l.consistent() {
		h.all = nil
		return false
	}
	part.recode(l)
	h.reserve(part.rows.rows, share)
	h.all.renumberGroups(part.rows)
	h.all.append(part.rows, 0, part.rows.rows)
	return true
}

// reserve allocates memory for the rows, and an estimate of the remaining ones.
func (h *rowCache) reserve(rows int, share float64) {
	b, cols := h.all, len(h.source.schema.Columns)
	need := b.rows + rows
	if need*cols <= len(b.x) {
		return
	}
	capacity := need + need/4
	if share > 0 {
		capacity = int(float64(need)/min(share, 1)*1.01) + rows
	}
	if limit := h.maxBytes / max(h.bytes(1), 1); int64(capacity) > limit {
		capacity = max(need, int(limit))
	}
	x := make([]float64, capacity*cols)
	copy(x, b.x[:b.rows*cols])
	b.x = x
}

// recode replaces the codes of a part by those of all rows.
func (p *partStats) recode(l *SchemaLearner) {
	for j := range l.columns {
		c, o := &l.columns[j], &p.columns[j]
		if !c.collect || len(o.categories.names) == 0 || l.layout.use[j] == group {
			continue
		}
		codes, same := make([]float64, len(o.categories.names)), true
		for k, name := range o.categories.names {
			codes[k] = float64(c.categories.codes[name])
			same = same && codes[k] == float64(k)
		}
		if !same {
			p.rows.recode(&p.rows.cells[j], codes)
		}
	}
}

// recode replaces the codes of a column.
func (b *block) recode(c *cell, codes []float64) {
	list, step := b.x[:b.rows*len(b.schema.Columns)], len(b.schema.Columns)
	if c.use == target {
		list, step = b.targets, len(b.layout.targets)
	}
	for i := c.at; i < len(list); i += step {
		if v := list[i]; v == v {
			list[i] = codes[int(v)]
		}
	}
}

// put stores the value of a field of the current row.
func (b *block) put(c *cell, v float64, field []byte) {
	switch c.use {
	case input:
		b.row()[c.at] = v
	case target:
		b.targets[b.rows*len(b.layout.targets)+c.at] = v
	case weight:
		if b.weighted {
			v *= b.weights[b.rows]
		}
		b.weights[b.rows] = v
	case group:
		b.groups[b.rows] = b.groupNumber(field)
	}
}

// consistent reports whether every column so far is either numeric or categorical, without errors.
func (l *SchemaLearner) consistent() bool {
	for j := range l.columns {
		if c := &l.columns[j]; c.firstErr != nil || c.excess != nil || c.partial || c.strs > 0 && !c.collect {
			return false
		}
	}
	return true
}

// set returns the rows as the source encodes them, or false if not all are stored.
func (h *rowCache) set(s *source, l *SchemaLearner) (datasets.Set, bool) {
	if h == nil || h.all == nil || l.previous != nil || h.all.rows != l.rows || !l.consistent() {
		return datasets.Set{}, false
	}
	b, table := h.all, &textrows.Strings{}
	for j := range l.columns {
		names := l.columns[j].categories.names
		if !l.columns[j].collect || len(names) == 0 || l.layout.use[j] == group {
			continue
		}
		codes := make([]float64, len(names))
		for k, name := range names {
			if s.cells[j].isText {
				codes[k] = table.Add(name)
			} else {
				codes[k] = s.cells[j].lookup([]byte(name))
			}
		}
		b.recode(&b.cells[j], codes)
	}
	s.newBlock().renumberGroups(b)
	out, err := b.set(0, b.rows)
	out.Schema = s.schema
	if s.texts != nil && err == nil {
		out.X = textrows.New(out.X.(*mat.Dense), s.texts, table)
	}
	return out, err == nil
}
