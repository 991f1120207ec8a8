package table

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// rowCache stores the rows of the first pass over a text file, to save the second one. During the
// pass, categories have codes in order of appearance; these are replaced when the schema is known.
type rowCache struct {
	*batch         // nil if the rows are no longer stored
	maxBytes int64 // bytes
}

// newRowCache returns a cache of at most maxBytes, or nil if rows cannot be stored.
func newRowCache(s *source, maxBytes int64) *rowCache {
	if maxBytes <= 0 || s.layout.sparse {
		return nil
	}
	own := *s
	own.cells, own.schema.Columns = make([]cell, len(s.layout.columns)), make([]datasets.Column, len(s.layout.inputs))
	for k, j := range s.layout.inputs {
		own.cells[j] = cell{use: input, at: k}
	}
	for k, j := range s.layout.targets {
		own.cells[j] = cell{use: target, at: k}
	}
	return &rowCache{batch: own.newBatch(nil), maxBytes: maxBytes}
}

// stores reports whether rows are stored.
func (h *rowCache) stores() bool { return h != nil && h.batch != nil }

// bytes returns the memory of rows.
func (h *rowCache) bytes(rows int) int64 {
	l := h.source.layout
	return 8 * int64(rows) * int64(len(l.inputs)+len(l.targets)+2+16*len(l.passthrough))
}

// extend allocates memory for the current rows of a pass, and an estimate of the remaining ones.
func (h *rowCache) extend(p *columnPass) {
	if !h.stores() {
		return
	}
	rows := h.rows + p.rows
	size := rows + rows/4
	if fraction := p.fraction(); fraction > 0 {
		size = int(float64(rows)/min(fraction, 1)*1.01) + p.rows
	}
	size = max(rows, min(size, int(min(h.maxBytes/max(h.bytes(1), 1), 1<<40))))
	h.readers = p.feeds
	h.reserve(rows, size)
	h.setDestinations()
	h.copyCells(p)
}

// store stores the current values of a column, after they were observed.
func (h *rowCache) store(p *columnPass, f *columnReader, o *destination) {
	v := &f.values
	if !h.stores() || o.copied && v.Codes == nil {
		return
	}
	for i := range p.rows {
		switch code := v.code(i); {
		case v.Numbers != nil:
			o.put(i, v.Numbers[i*v.Step])
		case o.strings != nil && code < 0:
			o.strings[i] = ""
		case o.strings != nil:
			o.strings[i] = v.Dictionary.Strings[code]
		case code < 0:
			o.put(i, math.NaN())
		default:
			o.put(i, o.strs[code].value)
		}
	}
}

// check completes the current rows. It gives up storing if they need too much memory or a column is
// neither numeric nor categorical.
func (h *rowCache) check(p *columnPass, l *learner) {
	if !h.stores() {
		return
	}
	h.finish(p)
	h.rows += len(h.lines)
	if h.bytes(h.rows) > h.maxBytes || !l.consistent() {
		h.batch = nil
	}
}

// recode replaces the codes of a column.
func (h *rowCache) recode(c *cell, codes []float64) {
	list, step := h.matrix, len(h.source.schema.Columns)
	if c.use == target {
		list, step = h.targets, len(h.source.layout.targets)
	}
	for i := c.at; i < h.rows*step; i += step {
		if v := list[i]; v == v {
			list[i] = codes[int(v)]
		}
	}
}

// consistent reports whether every column so far is either numeric or categorical, without errors.
func (l *learner) consistent() bool {
	for j := range l.columns {
		if c := &l.columns[j]; c.firstErr != nil || c.excess != nil || c.strs > 0 && !c.collect {
			return false
		}
	}
	return true
}

// set returns the rows as the source encodes them, or false if not all are stored.
func (h *rowCache) set(s *source, l *learner) (datasets.Set, bool) {
	if !h.stores() || l.previous != nil || !l.consistent() {
		return datasets.Set{}, false
	}
	table := &textrows.Strings{}
	for j := range l.columns {
		names := l.columns[j].categories.names
		if len(names) == 0 || l.layout.use[j] == group {
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
		h.recode(&h.source.cells[j], codes)
	}
	h.arrange()
	h.source.groups = s.groups
	h.numberGroups(nil)
	out := h.batch.set(0, h.rows)
	out.Schema = s.schema
	if s.textCols != nil {
		out.X = textrows.New(out.X.(*mat.Dense), s.textCols, table)
	}
	return out, true
}
