package table

import (
	"math"

	"github.com/bochner-ml/bochner/datasets"
)

// held is the rows that the first reading holds, so that there need not be another. While the columns are learned
// a category has its code in order of appearance; once the schema is known it gets the one that it has there.
type held struct {
	source *source
	most   int64  // bytes
	all    *block // nil where they are not held any more
}

// hold begins to hold rows of up to so many bytes, nil where none are to be held.
func hold(s *source, most int64) *held {
	if most <= 0 || s.layout.sparse {
		return nil
	}
	l := s.layout
	own := &source{layout: l, weighted: s.weighted, cells: make([]cell, len(l.columns)), absent: make([]float64, len(l.targets))}
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
	h := &held{source: own, most: most}
	h.all = h.part()
	return h
}

// part returns a block for the rows of a part, nil where they are not held.
func (h *held) part() *block {
	if h == nil {
		return nil
	}
	b := h.source.newBlock()
	b.full = math.MaxInt / max(len(h.source.schema.Columns), 1)
	return b
}

// block returns that of all rows.
func (h *held) block() *block {
	if h == nil {
		return nil
	}
	if h.all != nil && h.bytes(h.all.rows) > h.most {
		h.all = nil
	}
	return h.all
}

// bytes returns how many so many rows take.
func (h *held) bytes(rows int) int64 {
	l := h.source.layout
	return 8 * int64(rows) * int64(len(l.inputs)+len(l.targets)+2+16*len(l.keep))
}

// join adds the rows of a part behind those that are held, l having learned them all; the part ends at that share of
// the file, 0 where that is not known. It reports whether the rows are still held.
func (h *held) join(l *Learned, part *lesson, share float64) bool {
	if h == nil || h.all == nil || part.rows == nil {
		return false
	}
	if h.bytes(l.rows) > h.most || !l.consistent() {
		h.all = nil
		return false
	}
	part.recode(l)
	h.room(part.rows.rows, share)
	h.all.renumber(part.rows)
	h.all.append(part.rows, 0, part.rows.rows)
	return true
}

// room makes room for so many rows more, and for those that the rest of the file may have.
func (h *held) room(rows int, share float64) {
	b, cols := h.all, len(h.source.schema.Columns)
	need := b.rows + rows
	if need*cols <= len(b.x) {
		return
	}
	room := need + need/4
	if share > 0 {
		room = int(float64(need)/min(share, 1)*1.01) + rows
	}
	if limit := h.most / max(h.bytes(1), 1); int64(room) > limit {
		room = max(need, int(limit))
	}
	x := make([]float64, room*cols)
	copy(x, b.x[:b.rows*cols])
	b.x = x
}

// recode gives the categories of a part the codes that they have among all.
func (p *lesson) recode(l *Learned) {
	for j := range l.columns {
		c, o := &l.columns[j], &p.columns[j]
		if !c.collect || len(o.levels.names) == 0 || l.layout.use[j] == group {
			continue
		}
		codes, same := make([]float64, len(o.levels.names)), true
		for k, name := range o.levels.names {
			codes[k] = float64(c.levels.codes[name])
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

// put is the value of a field of the row at hand.
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

// consistent reports whether each column is one of numbers or one of categories, as far as they were read.
func (l *Learned) consistent() bool {
	for j := range l.columns {
		if c := &l.columns[j]; c.fault != nil || c.over != nil || c.partial || c.texts > 0 && !c.collect {
			return false
		}
	}
	return true
}

// set returns the rows as the source codes them, false where they are not all held.
func (h *held) set(s *source, l *Learned) (datasets.Set, bool) {
	if h == nil || h.all == nil || l.before != nil || h.all.rows != l.rows || !l.consistent() {
		return datasets.Set{}, false
	}
	b := h.all
	for j := range l.columns {
		names := l.columns[j].levels.names
		if !l.columns[j].collect || len(names) == 0 || l.layout.use[j] == group {
			continue
		}
		codes := make([]float64, len(names))
		for k, name := range names {
			codes[k] = s.cells[j].lookup([]byte(name))
		}
		b.recode(&b.cells[j], codes)
	}
	s.newBlock().renumber(b)
	out, err := b.set(0, b.rows)
	out.Schema = s.schema
	return out, err == nil
}
