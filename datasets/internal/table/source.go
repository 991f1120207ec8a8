package table

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowsource"
)

// Open infers the schema of the records of r, unless the roles contain one, and returns them as a
// source.
func Open(ctx context.Context, r Reader, roles datasets.Roles) (datasets.Source, error) {
	return Load(ctx, r, roles, 0)
}

// Load is Open, but stores the rows if they need at most maxBytes and one pass suffices to encode
// them. The source then does not read them again, and [datasets.ReadAll] does not copy them.
func Load(ctx context.Context, r Reader, roles datasets.Roles, maxBytes int64) (datasets.Source, error) {
	if roles.LabelDelimiter != "" {
		return splitLabels(ctx, r.Form(), roles, func(inner datasets.Roles) (datasets.Source, error) {
			return Load(ctx, r, inner, maxBytes)
		})
	}
	if roles.OnInvalid != nil && roles.Schema == nil {
		return nil, fmt.Errorf("%s: invalid rows cannot be skipped without a schema", r.Form().Name)
	}
	r, err := withDates(r, roles)
	if err != nil {
		return nil, err
	}
	form := r.Form()
	l, err := arrange(form, roles)
	if err != nil {
		return nil, err
	}
	s := &source{reader: r, layout: l, weighted: form.Weighted, rows: -1}
	if roles.DropMissingTarget && len(l.targets) > 0 {
		s.labeled = &labeledReader{Reader: r, layout: l}
		if err := s.labeled.find(ctx); err != nil {
			return nil, err
		}
		s.reader, r, s.rows = s.labeled, s.labeled, s.labeled.kept
	}
	if roles.Schema != nil {
		err = s.useSchema(*roles.Schema)
	} else {
		err = s.learn(ctx, form, newRowCache(s, maxBytes))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// useSchema adopts a given schema; without columns it adopts the inputs of the file.
func (s *source) useSchema(schema datasets.Schema) error {
	s.schema = schema
	if len(schema.Columns) == 0 {
		for _, j := range s.layout.inputs {
			s.schema.Columns = append(s.schema.Columns, datasets.Column{Name: s.layout.columns[j].Name})
		}
	}
	return s.assignCells()
}

// learn infers the schema and the content of the columns, and encodes the rows that are stored.
func (s *source) learn(ctx context.Context, form Form, h *rowCache) error {
	l := &SchemaLearner{roles: s.layout.roles}
	l.setForm(form, s.layout)
	if g := s.layout.group; g >= 0 {
		l.columns[g].collect = true
	}
	end := l.read(ctx, s.reader, h)
	if ctx.Err() != nil {
		return ctxerr.Check(ctx)
	}
	if end == nil && l.rows == 0 {
		end = fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
	}
	if err := l.err(end); err != nil {
		return err
	}
	if g := s.layout.group; g >= 0 {
		s.groups = indexByName(sorted(l.columns[g].categories.names, s.layout.notation))
	}
	if len(l.Deferred()) > 0 {
		l = l.SecondPass()
		if end := l.read(ctx, s.reader, nil); end != nil {
			return l.err(end)
		}
	}
	var err error
	if s.schema, err = l.Schema(); err != nil {
		return err
	}
	s.rows, s.content = l.rows, l.content()
	if err := s.assignCells(); err != nil {
		return err
	}
	if set, ok := h.set(s, l); ok {
		s.inMemory = &set
	}
	return nil
}

// InMemory returns the rows if they are in memory.
func (s *source) InMemory() (set datasets.Set, ok bool) {
	if s.inMemory == nil {
		return set, false
	}
	return *s.inMemory, true
}

// source encodes records by a schema.
type source struct {
	reader          Reader
	layout          *layout
	schema          datasets.Schema
	weighted        bool
	rows            int                      // -1 if unknown
	content         []datasets.ColumnContent // of the inputs; nil if unknown
	cells           []cell
	numericOnly     bool           // whether rows contain only numbers
	texts           []int          // text columns of X
	groups          map[string]int // group numbers, in order of the values; nil if not inferred
	implicitTargets []float64      // codes of targets that a sparse record omits
	labeled         *labeledReader // nil if no rows are skipped
	inMemory        *datasets.Set  // nil if the rows are not stored
}

// indexByName returns the index of each name.
func indexByName(names []string) map[string]int {
	out := make(map[string]int, len(names))
	for k, name := range names {
		out[name] = k
	}
	return out
}

// cell describes where the fields of a column are stored.
type cell struct {
	use         use
	at          int                // column of X or of the targets
	codes       map[string]float64 // of a categorical column
	unknownCode float64            // code of categories that are not in codes
	isText      bool               // whether values are strings of the block

	// Values of typed columns have one notation, unlike the rows of the schema. values maps numbers
	// to codes; isBoolean reports whether categories are booleans.
	values    map[float64]float64
	isBoolean bool
}

func (s *source) Schema() datasets.Schema { return s.schema }

// SkippedRows returns the row numbers in the file of the skipped rows.
func (s *source) SkippedRows() []int {
	if s.labeled == nil {
		return nil
	}
	return s.labeled.skipped
}

func (s *source) Dims() (rows, cols int) { return s.rows, len(s.schema.Columns) }

// assignCells determines where each field is stored.
func (s *source) assignCells() error {
	l := s.layout
	s.cells, s.texts = make([]cell, len(l.columns)), nil
	for k, j := range l.inputs {
		c := s.schema.Columns[k]
		s.cells[j] = cell{use: input, at: k, codes: codes(c), unknownCode: datasets.Unknown, isText: c.Kind == datasets.Text}
		if s.cells[j].isText {
			s.texts = append(s.texts, k)
		}
	}
	if s.texts != nil && l.sparse {
		return fmt.Errorf("%s: column %s must not be text: rows are sparse", l.file, s.schema.Columns[s.texts[0]].Name)
	}
	for k, j := range l.targets {
		if k >= len(s.schema.Targets) || l.roles.Schema != nil && len(l.targets) != len(s.schema.Targets) {
			return fmt.Errorf("%s: must have %d targets as in the schema, got %d", l.file, len(s.schema.Targets), len(l.targets))
		}
		s.cells[j] = cell{use: target, at: k, codes: codes(s.schema.Targets[k]), unknownCode: datasets.Unknown}
		if len(l.roles.Positive) > 0 && s.cells[j].codes != nil {
			s.cells[j].codes, s.cells[j].unknownCode = map[string]float64{}, 0
			if all := s.schema.Targets[k].Categories; len(all) == 2 && all[0] != datasets.RestClass {
				s.cells[j].codes[all[0]], s.cells[j].unknownCode = 0, datasets.Unknown
			}
			for _, name := range l.roles.Positive {
				s.cells[j].codes[name] = 1
			}
		}
	}
	if l.weight >= 0 {
		s.cells[l.weight] = cell{use: weight}
	}
	if l.group >= 0 {
		s.cells[l.group] = cell{use: group}
	}
	s.numericOnly = l.numericOnly()
	for _, c := range s.cells {
		s.numericOnly = s.numericOnly && c.codes == nil && !c.isText
	}
	return s.findImplicit()
}

// findImplicit determines the codes of values that sparse records omit: zeros and first categories.
func (s *source) findImplicit() error {
	l := s.layout
	s.implicitTargets = make([]float64, len(l.targets))
	if !l.sparse {
		return nil
	}
	for j, c := range s.cells {
		if levels := l.columns[j].Categories; c.codes != nil && len(levels) > 0 {
			code := c.lookup([]byte(levels[0]))
			if c.use == target {
				s.implicitTargets[c.at] = code
			} else if code != 0 {
				return fmt.Errorf("%s: column %s: sparse rows omit category %q, the first in the file, which is not the first "+
					"in the schema", l.file, l.columns[j].Name, levels[0])
			}
		}
	}
	return nil
}

// codes returns the code of every category, or nil for a numeric column.
func codes(c datasets.Column) map[string]float64 {
	if c.Kind != datasets.Categorical {
		return nil
	}
	out := make(map[string]float64, len(c.Categories))
	for code, name := range c.Categories {
		out[name] = float64(code)
	}
	for code, name := range c.Categories { // padded, unlike the rows that a reader of text has trimmed
		trimmed := strings.TrimSpace(name)
		if _, taken := out[trimmed]; !taken && trimmed != "" {
			out[trimmed] = float64(code)
		}
	}
	return out
}

func (s *source) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if s.inMemory != nil {
		return s.inMemory.Source().Blocks(ctx, yield)
	}
	b := s.newBlock()
	rows, skipped := 0, 0
	onInvalid := s.layout.roles.OnInvalid
	add := func(rec *Record) error {
		err := rec.Err
		if err == nil {
			err = b.add(rec)
			if err != nil && onInvalid != nil {
				b.removeLast()
			}
		}
		if err != nil && onInvalid != nil {
			err = onInvalid(rows+skipped, err)
			skipped++
			return err
		}
		if err != nil {
			return err
		}
		rows++
		if b.rows < b.capacity {
			return nil
		}
		return b.flush(yield)
	}
	var err error
	if r, ok := splittable(s.reader); ok && onInvalid == nil {
		err = readParts(ctx, r, s.newPartBlock, func(w *partTask, before int) (lines int, err error) {
			part, ok := w.result.(*partBlock)
			if !ok || w.err != nil || len(part.unlabeled) > 0 {
				return w.part.Records(ctx, before, add)
			}
			rows += part.rows
			return w.lines, b.join(part.block, yield)
		})
	} else {
		err = s.reader.Records(ctx, add)
	}
	if err != nil {
		return err
	}
	if err := b.unlabeledError(); err != nil {
		return err
	}
	if s.rows >= 0 && rows != s.rows {
		return fmt.Errorf("%s: the file has changed: it had %d rows in the first pass, now %d", s.layout.file, s.rows, rows)
	}
	if rows+skipped == 0 {
		return fmt.Errorf("%s: %w", s.layout.file, rowsource.ErrNoRows)
	}
	if b.rows == 0 {
		return nil
	}
	return b.flush(yield)
}

// partBlock contains the encoded records of one part.
type partBlock struct{ *block }

func (s *source) newPartBlock() partResult {
	b := s.newBlock()
	b.capacity = math.MaxInt / max(len(s.schema.Columns), 1)
	return &partBlock{b}
}

func (b *partBlock) begin() { b.reset() }
