package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/matrices"
)

// batch is a batch of rows, which become blocks. Typed columns are decoded column by column and
// transposed; those of a text file are written row by row.
type batch struct {
	source    *source
	block     int // rows of a block
	capacity  int // rows
	allocated int // rows
	rows      int
	readers   []*columnReader
	lines     []int // of the rows that were decoded last
	invalid   []invalidRow

	x, y        [][]float64 // typed inputs and targets by column
	entries     [][]entry   // sparse inputs by column
	matrix      []float64   // dense inputs row by row
	targets     []float64   // row by row
	weights     []float64
	groupNames  []string
	textValues  [][]string // by text column of X; "" is missing
	passthrough [][]string // by passthrough column

	groups  []int
	strings *textrows.Strings // of the text columns
	csr     *matrices.CSR
	kept    [][]string // passthrough strings row by row
	err     error      // error that ended the pass
}

// maxBatchValues bounds the inputs of a batch beyond one block.
const maxBatchValues = 1 << 21

// newBatch returns an empty batch.
func (s *source) newBatch(readers []*columnReader) *batch {
	cols := len(s.schema.Columns)
	b := &batch{source: s, readers: readers, block: rowblock.SizeForWidth(cols)}
	if s.layout.sparse {
		b.block = rowblock.Size
	}
	if b.capacity = b.block; s.form.Text == nil {
		b.capacity *= max(1, min(chunk/b.block, maxBatchValues/(b.block*max(cols, 1))))
	}
	if s.rows >= 0 {
		b.capacity = min(b.capacity, (s.rows+b.block)/b.block*b.block)
	}
	return b
}

// reserve allocates memory for the given number of rows, and then for size rows.
func (b *batch) reserve(rows, size int) {
	if rows <= b.allocated {
		return
	}
	s, cols, t := b.source, len(b.source.schema.Columns), len(b.source.layout.targets)
	b.allocated = size
	column := func(list []float64) []float64 { return grown(list, b.rows, size) }
	b.targets = grown(b.targets, b.rows*t, size*t)
	if !s.layout.sparse {
		b.matrix = grown(b.matrix, b.rows*cols, size*cols)
	} else if b.entries == nil {
		b.entries = make([][]entry, cols)
	}
	if s.form.Text == nil {
		b.y = eachGrown(b.y, t, column)
		if !s.noInputs {
			b.x = eachGrown(b.x, cols, column)
		}
	}
	if s.layout.weight >= 0 || s.layout.form.Weighted {
		b.weights = column(b.weights)
	}
	strs := func(list []string) []string { return grown(list, b.rows, size) }
	if s.layout.group >= 0 {
		b.groupNames = strs(b.groupNames)
	}
	if !s.noInputs {
		b.textValues = eachGrown(b.textValues, len(s.textCols), strs)
	}
	b.passthrough = eachGrown(b.passthrough, len(s.layout.passthrough), strs)
}

// grown returns a slice of n values that begins with the first used values of a.
func grown[T any](a []T, used, n int) []T {
	out := make([]T, n)
	copy(out, a[:used])
	return out
}

// eachGrown grows n columns.
func eachGrown[T any](list [][]T, n int, grow func([]T) []T) [][]T {
	list = slices.Grow(list, n)[:n]
	for k := range list {
		list[k] = grow(list[k])
	}
	return list
}

// setDestinations sets the destinations of the readers after the present rows.
func (b *batch) setDestinations() {
	s, cols, t := b.source, len(b.source.schema.Columns), len(b.source.layout.targets)
	for _, f := range b.readers {
		for k := range f.destinations {
			o := &f.destinations[k]
			c := &s.cells[o.column]
			o.step = 1
			switch text := s.form.Text != nil; {
			case o.passthrough >= 0:
				o.strings = b.passthrough[o.passthrough][b.rows:]
			case c.isText:
				o.strings = b.textValues[slices.Index(s.textCols, c.at)][b.rows:]
			case f.Input:
				o.entries, o.row = &b.entries[c.at], b.rows
			case o.use == input && text:
				o.numbers, o.step, o.copied = b.matrix[b.rows*cols+c.at:], cols, f.As != Strings
			case o.use == input:
				o.numbers = b.x[c.at][b.rows:]
			case o.use == target && text:
				o.numbers, o.step = b.targets[b.rows*t+c.at:], t
			case o.use == target:
				o.numbers = b.y[c.at][b.rows:]
			case o.use == weight:
				o.numbers = b.weights[b.rows:]
			case o.use == group:
				o.strings = b.groupNames[b.rows:]
			}
		}
	}
}

// copyCells copies the numeric inputs of a text file.
func (b *batch) copyCells(p *columnPass) {
	if p.text == nil || b.source.layout.sparse {
		return
	}
	type run struct{ from, to, n int } // adjacent columns
	var runs []run
	for k, f := range b.readers {
		for _, o := range f.destinations {
			if !o.copied {
				continue
			}
			at, last := b.source.cells[o.column].at, len(runs)-1
			if last >= 0 && runs[last].from+runs[last].n == k && runs[last].to+runs[last].n == at {
				runs[last].n++
			} else {
				runs = append(runs, run{k, at, 1})
			}
		}
	}
	n, cols := len(b.readers), len(b.source.schema.Columns)
	for i := range p.rows {
		row, cells := b.matrix[(b.rows+i)*cols:][:cols], p.text.batch.cells[(p.text.from+i)*n:][:n]
		for _, r := range runs {
			copy(row[r.to:r.to+r.n], cells[r.from:])
		}
	}
}

// fill decodes rows until the batch is full or the file ends.
func (b *batch) fill(ctx context.Context, p *columnPass, missing *unlabeledRows) error {
	b.invalid = nil
	b.clear()
	for b.rows < b.capacity {
		n, err := p.next(ctx, b.capacity-b.rows)
		if err != nil || n == 0 {
			return err
		}
		size := b.capacity
		if p.text != nil { // small files are common
			size = min(size, max(b.rows+n, 2*b.allocated))
		}
		b.reserve(b.rows+n, size)
		b.setDestinations()
		b.copyCells(p)
		if err := p.decode(p.put); err != nil {
			return err
		}
		b.finish(p)
		b.addUnlabeled(missing)
		b.rows += len(b.lines)
	}
	return nil
}

// clear removes all rows.
func (b *batch) clear() {
	b.rows = 0
	for k := range b.entries {
		b.entries[k] = b.entries[k][:0]
	}
}

// finish multiplies the weights of records and removes skipped and invalid rows.
func (b *batch) finish(p *columnPass) {
	if p.text != nil && b.source.layout.form.Weighted {
		for i, w := range p.text.batch.weights[p.text.from:][:p.rows] {
			if b.source.layout.weight >= 0 {
				w *= b.weights[b.rows+i]
			}
			b.weights[b.rows+i] = w
		}
	}
	slices.SortStableFunc(p.invalid, func(x, y invalidRow) int {
		return cmp.Or(x.row-y.row, columnOf(x.err)-columnOf(y.err))
	})
	p.invalid = slices.CompactFunc(p.invalid, func(x, y invalidRow) bool { return x.row == y.row })
	b.invalid = append(b.invalid, p.invalid...)
	for _, r := range p.invalid {
		p.skip(r.row - p.first)
	}
	b.lines = resized(b.lines, p.rows)
	for i := range b.lines {
		b.lines[i] = p.line(i)
	}
	if p.skipped != nil {
		b.dropRows(p)
	}
}

// columnOf returns the column of a [rowError].
func columnOf(err error) int {
	var at *rowError
	if errors.As(err, &at) {
		return at.column
	}
	return -1
}

// dropRows removes the skipped rows among those that were decoded last.
func (b *batch) dropRows(p *columnPass) {
	s := b.source
	columns, strs := slices.Concat(b.x, b.y), slices.Concat(b.textValues, b.passthrough)
	if b.weights != nil {
		columns = append(columns, b.weights)
	}
	if b.groupNames != nil {
		strs = append(strs, b.groupNames)
	}
	parallel(len(columns), func(k int) { compact(columns[k][b.rows:], 1, p.skipped) })
	parallel(len(strs), func(k int) { compact(strs[k][b.rows:], 1, p.skipped) })
	if s.form.Text != nil {
		if t := len(s.layout.targets); t > 0 {
			compact(b.targets[b.rows*t:], t, p.skipped)
		}
		if cols := len(s.schema.Columns); !s.layout.sparse && !s.noInputs {
			compact(b.matrix[b.rows*cols:], cols, p.skipped)
		}
	}
	to, next := make([]int, p.rows), b.rows // new indices
	for i, skip := range p.skipped {
		if to[i] = -1; !skip {
			to[i] = next
			next++
		}
	}
	for k, list := range b.entries {
		kept := list[:0]
		for _, e := range list {
			if e.row >= b.rows {
				e.row = to[e.row-b.rows]
			}
			if e.row >= 0 {
				kept = append(kept, e)
			}
		}
		b.entries[k] = kept
	}
	b.lines = b.lines[:compact(b.lines, 1, p.skipped)]
}

// compact removes the skipped rows of the given width and returns the number of others.
func compact[T any](values []T, width int, skipped []bool) (rows int) {
	for i, skip := range skipped {
		if !skip {
			copy(values[rows*width:(rows+1)*width], values[i*width:(i+1)*width])
			rows++
		}
	}
	return rows
}

// addUnlabeled adds the rows that were decoded last and have no target.
func (b *batch) addUnlabeled(missing *unlabeledRows) {
	s := b.source
	for i := 0; i < len(b.lines) && !s.layout.roles.Unlabeled; i++ {
		for k, j := range s.layout.targets {
			at := b.rows + i
			if s.form.Text != nil && math.IsNaN(b.targets[at*len(s.layout.targets)+k]) ||
				s.form.Text == nil && math.IsNaN(b.y[k][at]) {
				missing.add(b.lines[i], j)
			}
		}
	}
}

// arrange completes the rows: it transposes columns and adds entries, text and passthrough strings.
func (b *batch) arrange() {
	s, cols := b.source, len(b.source.schema.Columns)
	if s.form.Text == nil {
		parallel((b.rows+b.block-1)/b.block, func(k int) {
			from, to := k*b.block, min((k+1)*b.block, b.rows)
			transposeRows(b.matrix, b.x, from, to)
			transposeRows(b.targets, b.y, from, to)
		})
	}
	if s.layout.sparse {
		b.csr, b.err = b.sparseRows()
	}
	b.strings = nil
	if s.textCols != nil {
		b.strings = &textrows.Strings{} // a selection of rows of an earlier set may refer to the last one
	}
	for k, at := range s.textCols {
		for i := range b.rows {
			v := math.NaN()
			if !s.noInputs && b.textValues[k][i] != "" {
				v = b.strings.Add(b.textValues[k][i])
			}
			b.matrix[i*cols+at] = v
		}
	}
	b.kept = nil
	if n := len(b.passthrough); n > 0 {
		strs := make([]string, b.rows*n)
		for i := range b.rows {
			for k := range b.passthrough {
				strs[i*n+k] = b.passthrough[k][i]
			}
			b.kept = append(b.kept, strs[i*n:(i+1)*n:(i+1)*n])
		}
	}
}

// sparseRows returns the entries as rows.
func (b *batch) sparseRows() (*matrices.CSR, error) {
	indptr := make([]int, b.rows+1)
	for _, list := range b.entries {
		for _, e := range list {
			if e.value != 0 {
				indptr[e.row+1]++
			}
		}
	}
	for i := range b.rows {
		indptr[i+1] += indptr[i]
	}
	next, indices, values := slices.Clone(indptr), make([]uint32, indptr[b.rows]), make([]float64, indptr[b.rows])
	for j, list := range b.entries {
		for _, e := range list {
			if e.value != 0 {
				indices[next[e.row]], values[next[e.row]] = uint32(j), e.value
				next[e.row]++
			}
		}
	}
	return matrices.NewCSR(b.rows, len(b.source.schema.Columns), indptr, indices, values)
}

// transposeRows writes rows from to to−1 of the columns row by row, in tiles that fit into the L1
// cache.
func transposeRows(out []float64, columns [][]float64, from, to int) {
	cols := len(columns)
	const tile = 16
	for ; from < to; from += tile {
		end := min(from+tile, to)
		for j, column := range columns {
			at := from*cols + j
			for _, v := range column[from:end] {
				out[at] = v
				at += cols
			}
		}
	}
}

// set returns rows lo to hi−1, or all rows if they are sparse.
func (b *batch) set(lo, hi int) datasets.Set {
	s, cols := b.source, len(b.source.schema.Columns)
	out := datasets.Set{Schema: s.schema}
	if b.csr != nil {
		out.X = b.csr
	} else {
		X := mat.NewDense(hi-lo, cols, b.matrix[lo*cols:hi*cols:hi*cols])
		if out.X = X; b.strings != nil {
			out.X = textrows.New(X, s.textCols, b.strings)
		}
	}
	switch t := len(s.layout.targets); t {
	case 0:
	case 1:
		out.Y = b.targets[lo:hi:hi]
	default:
		out.Targets = mat.NewDense(hi-lo, t, b.targets[lo*t:hi*t:hi*t])
	}
	if b.weights != nil {
		out.Weights = b.weights[lo:hi:hi]
	}
	if b.groups != nil {
		out.Groups = b.groups[lo:hi:hi]
	}
	if b.kept != nil {
		out.Passthrough = b.kept[lo:hi:hi]
	}
	return out
}

// numberGroups numbers the groups of the rows: those of the first pass in order of the values, others
// in order of appearance.
func (b *batch) numberGroups(others map[string]int) {
	if b.groupNames == nil {
		return
	}
	b.groups = make([]int, b.rows)
	for i, name := range b.groupNames[:b.rows] {
		number, ok := b.source.groups[name]
		if !ok {
			if number, ok = others[name]; !ok {
				number = len(b.source.groups) + len(others)
				others[name] = number
			}
		}
		b.groups[i] = number
	}
}

func (s *source) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if s.inMemory != nil {
		return s.inMemory.Source().Blocks(ctx, yield)
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	ready, free := make(chan *batch), make(chan *batch, 2)
	go func() {
		defer close(ready)
		s.readBatches(within, free, ready)
	}()
	defer func() {
		cancel()
		for range ready { // waits until the reader has returned
		}
	}()
	rows, invalid, groups := 0, 0, map[string]int{}
	free <- nil
	free <- nil
	for b := range ready {
		for _, r := range b.invalid {
			invalid++
			if err := s.layout.roles.OnInvalid(s.rowIndex(r.row), r.err); err != nil {
				return err
			}
		}
		rows += b.rows
		b.numberGroups(groups)
		for from := 0; from < b.rows && b.err == nil; from += b.block {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			if err := yield(b.set(from, min(from+b.block, b.rows))); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		free <- b
	}
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	switch {
	case s.rows >= 0 && rows+invalid != s.rows:
		return s.errChanged(rows, s.rows)
	case rows+invalid == 0:
		return s.errNoRows()
	}
	return nil
}

// readBatches fills batches ahead of the consumer.
func (s *source) readBatches(ctx context.Context, free <-chan *batch, ready chan<- *batch) {
	readers := s.columnReaders(func(j int) bool { return !s.noInputs || s.layout.use[j] != input }, true)
	p, err := s.pass(ctx, readers)
	if err == nil {
		defer p.cursor.Close()
	}
	missing := &unlabeledRows{layout: s.layout}
	for {
		var b *batch
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		if b == nil {
			b = s.newBatch(readers)
		}
		if err == nil {
			err = b.fill(ctx, p, missing)
		}
		end := err != nil || b.rows < b.capacity
		if end && err == nil {
			err = missing.err()
		}
		if err != nil || len(missing.list) > 0 {
			b.clear() // an error has no block
		}
		b.arrange()
		b.err = cmp.Or(err, b.err)
		select {
		case ready <- b:
		case <-ctx.Done():
			return
		}
		if end {
			return
		}
	}
}

// unlabeledRows lists the first rows without a target.
type unlabeledRows struct {
	layout *layout
	list   []fieldPosition
	more   int // number of other rows
}

// fieldPosition is the position of a field.
type fieldPosition struct{ line, column int }

// maxUnlabeled is the maximum number of rows without a target in an error.
const maxUnlabeled = 12

// add records a row without a target.
func (u *unlabeledRows) add(line, j int) {
	last := len(u.list) - 1
	switch {
	case last >= 0 && u.list[last].line == line: // another target of the same row
	case len(u.list) < maxUnlabeled:
		u.list = append(u.list, fieldPosition{line, j})
	default:
		u.more++
	}
}

// err returns the error that lists the rows without a target.
func (u *unlabeledRows) err() error {
	if len(u.list) == 0 {
		return nil
	}
	form, first, others := u.layout.form, u.list[0], ""
	file, _ := form.fileLine(first.line)
	for k, p := range u.list[1:] {
		other, at := form.fileLine(p.line)
		switch {
		case k > 0:
			others += ", "
		case form.NoLines:
			others = "; also in row "
		default:
			others = "; also in line "
		}
		if form.NoLines {
			at--
		}
		switch {
		case other == file:
			others += strconv.Itoa(at)
		case form.NoLines:
			others += fmt.Sprintf("%d of %s", at, other)
		default:
			others += fmt.Sprintf("%s:%d", other, at)
		}
	}
	if u.more > 0 {
		others += fmt.Sprintf(" and %d more", u.more)
	}
	return u.layout.fieldError(first.line, first.column, "%w; set missing_target: drop to skip such rows%s", errNoTarget,
		others)
}
