package table

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/rowblock"
)

// columnBatch is a batch of rows by column, and the blocks of these rows.
type columnBatch struct {
	source   *columnSource
	capacity int // rows
	rows     int
	firstRow int // row number in the file of the first row decoded last
	readers  []*columnReader

	x, y        [][]float64 // inputs and targets by column
	weights     []float64
	groups      []string
	texts       map[int][]string // by text column of X; "" is missing
	passthrough [][]string       // by passthrough column

	block  int       // rows of a block
	matrix []float64 // the inputs row by row
	labels []float64 // the targets row by row
	out    *block    // block of all rows
	err    error     // error that ended the pass
}

// maxBatchValues bounds the inputs of a batch beyond one block.
const maxBatchValues = 1 << 21

// newBatch returns an empty batch.
func (s *columnSource) newBatch(feeds []*columnReader) *columnBatch {
	cols := len(s.schema.Columns)
	b := &columnBatch{source: s, readers: feeds, block: rowblock.SizeForWidth(cols), out: s.newBlock()}
	b.capacity = b.block * max(1, min(chunk/b.block, maxBatchValues/(b.block*max(cols, 1))))
	if s.rows >= 0 {
		b.capacity = min(b.capacity, (s.rows+b.block)/b.block*b.block)
	}
	column := func() []float64 { return make([]float64, b.capacity) }
	for range cols {
		if !s.noInputs {
			b.x = append(b.x, column())
		}
	}
	for range s.layout.targets {
		b.y = append(b.y, column())
	}
	if s.layout.weight >= 0 {
		b.weights = column()
	}
	if s.layout.group >= 0 {
		b.groups = make([]string, b.capacity)
	}
	b.texts = map[int][]string{}
	for _, at := range s.texts {
		if !s.noInputs {
			b.texts[at] = make([]string, b.capacity)
		}
	}
	for range s.layout.passthrough {
		b.passthrough = append(b.passthrough, make([]string, b.capacity))
	}
	b.matrix, b.labels = make([]float64, b.capacity*cols), make([]float64, b.capacity*len(b.y))
	return b
}

// setDestinations sets the destinations of the readers after the present rows.
func (b *columnBatch) setDestinations() {
	for _, f := range b.readers {
		for k := range f.destinations {
			o := &f.destinations[k]
			switch c := &b.source.cells[o.column]; {
			case o.passthrough >= 0:
				o.strings = b.passthrough[o.passthrough][b.rows:]
			case c.isText:
				o.strings = b.texts[c.at][b.rows:]
			case o.use == input:
				o.numbers = b.x[c.at][b.rows:]
			case o.use == target:
				o.numbers = b.y[c.at][b.rows:]
			case o.use == weight:
				o.numbers = b.weights[b.rows:]
			case o.use == group:
				o.strings = b.groups[b.rows:]
			}
		}
	}
}

// fill decodes rows until the batch is full or the file ends.
func (b *columnBatch) fill(ctx context.Context, p *columnPass, missing *block) error {
	b.rows = 0
	for b.rows < b.capacity {
		b.setDestinations()
		b.firstRow = p.first
		n, err := p.next(ctx, b.capacity-b.rows, b.source.put)
		if err != nil || n == 0 {
			return err
		}
		if n, err = b.checkRows(n, missing); err != nil {
			return err
		}
		b.rows += n
	}
	return nil
}

// checkRows drops rows without a target among the n decoded last, and returns an error for invalid
// rows. It returns the number of remaining rows.
func (b *columnBatch) checkRows(n int, missing *block) (int, error) {
	s, at := b.source, b.rows
	first, _ := slices.BinarySearch(s.skipped, b.firstRow)
	last, _ := slices.BinarySearch(s.skipped, b.firstRow+n)
	if without := s.skipped[first:last]; len(without) > 0 {
		n = b.dropRows(n, without)
	}
	for i := 0; i < n && !s.layout.roles.Unlabeled; i++ {
		for k, j := range s.layout.targets {
			if math.IsNaN(b.y[k][at+i]) {
				missing.addUnlabeled(b.fileRow(i)+1, j)
			}
		}
	}
	if b.weights != nil {
		for i, w := range b.weights[at : at+n] {
			switch j := s.layout.weight; {
			case math.IsNaN(w):
				return 0, s.rowError(b.fileRow(i), j, "the weight is missing")
			case w < 0:
				return 0, s.rowError(b.fileRow(i), j, "%s", negativeWeight(w))
			}
		}
	}
	if b.groups != nil {
		if i := slices.Index(b.groups[at:at+n], ""); i >= 0 {
			return 0, s.rowError(b.fileRow(i), s.layout.group, "the group is missing")
		}
	}
	return n, nil
}

// fileRow returns the row number in the file of the i-th remaining row of the last decoded batch.
func (b *columnBatch) fileRow(i int) int {
	at, _ := slices.BinarySearch(b.source.skipped, b.firstRow)
	row := b.firstRow + i
	for at < len(b.source.skipped) && b.source.skipped[at] <= row {
		row++
		at++
	}
	return row
}

// dropRows removes the given rows from the n decoded last.
func (b *columnBatch) dropRows(n int, without []int) int {
	columns := slices.Concat(b.x, b.y)
	if b.weights != nil {
		columns = append(columns, b.weights)
	}
	strs := b.passthrough
	for _, texts := range b.texts {
		strs = append(slices.Clone(strs), texts)
	}
	if b.groups != nil {
		strs = append(slices.Clone(strs), b.groups)
	}
	parallel(len(columns), func(k int) { compact(columns[k][b.rows:b.rows+n], b.firstRow, without) })
	parallel(len(strs), func(k int) { compact(strs[k][b.rows:b.rows+n], b.firstRow, without) })
	return n - len(without)
}

// compact removes the values of the given rows.
func compact[T any](values []T, from int, without []int) {
	to := without[0] - from
	for k, row := range without {
		end := len(values)
		if k+1 < len(without) {
			end = without[k+1] - from
		}
		to += copy(values[to:], values[row-from+1:end])
	}
}

// transpose converts the columns to rows, in parallel.
func (b *columnBatch) transpose() {
	blocks := (b.rows + b.block - 1) / b.block
	parallel(blocks, func(k int) {
		from, to := k*b.block, min((k+1)*b.block, b.rows)
		transposeRows(b.matrix, b.x, from, to)
		transposeRows(b.labels, b.y, from, to)
	})
	b.out.x, b.out.targets, b.out.passthrough = b.matrix, b.labels[:b.rows*len(b.y)], nil
	b.addTexts()
	if b.weights != nil {
		b.out.weights = b.weights[:b.rows]
	}
	if b.passthrough == nil {
		return
	}
	n := len(b.passthrough)
	strs := make([]string, b.rows*n)
	for i := range b.rows {
		for k := range b.passthrough {
			strs[i*n+k] = b.passthrough[k][i]
		}
		b.out.passthrough = append(b.out.passthrough, strs[i*n:(i+1)*n:(i+1)*n])
	}
}

// addTexts adds the strings of the text columns to the block.
func (b *columnBatch) addTexts() {
	b.out.newStrings()
	cols := len(b.source.schema.Columns)
	for at, texts := range b.texts {
		for i, text := range texts[:b.rows] {
			v := math.NaN()
			if text != "" {
				v = b.out.strings.Add(text)
			}
			b.matrix[i*cols+at] = v
		}
	}
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

// numberGroups numbers the groups of the rows; new ones in order of first appearance.
func (b *columnBatch) numberGroups(groups *block) {
	if b.groups == nil {
		return
	}
	b.out.groups = make([]int, b.rows)
	for i, name := range b.groups[:b.rows] {
		if i > 0 && name == b.groups[i-1] { // rows of a group are often adjacent
			b.out.groups[i] = b.out.groups[i-1]
		} else {
			b.out.groups[i] = groups.groupNumber([]byte(name))
		}
	}
}

func (s *columnSource) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	if err := ctxerr.Check(ctx); err != nil {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	ready, free := make(chan *columnBatch), make(chan *columnBatch, 2)
	go func() {
		defer close(ready)
		s.readBatches(within, free, ready)
	}()
	defer func() {
		cancel()
		for range ready { // waits until the reader has returned
		}
	}()
	rows, groups := 0, s.newBlock()
	free <- nil
	free <- nil
	for b := range ready {
		rows += b.rows
		b.numberGroups(groups)
		for from := 0; from < b.rows; from += b.block {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			set, err := b.out.set(from, min(from+b.block, b.rows))
			if err == nil {
				err = yield(set)
			}
			if err != nil {
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
	case s.rows >= 0 && rows != s.rows:
		return s.errChanged(rows, s.rows)
	case rows == 0:
		return s.errNoRows()
	}
	return nil
}

// readBatches fills batches ahead of the consumer.
func (s *columnSource) readBatches(ctx context.Context, free <-chan *columnBatch, ready chan<- *columnBatch) {
	feeds := s.columnReaders(func(j int) bool { return !s.noInputs || s.layout.use[j] != input }, true)
	p, err := s.pass(ctx, feeds)
	if err == nil {
		defer p.cursor.Close()
	}
	missing := s.newBlock()
	for {
		var b *columnBatch
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		if b == nil {
			b = s.newBatch(feeds)
		}
		if err == nil {
			err = b.fill(ctx, p, missing)
		}
		end := err != nil || b.rows < b.capacity
		if b.err = err; end && err == nil {
			b.err = missing.unlabeledError()
		}
		if err != nil || len(missing.unlabeled) > 0 {
			b.rows = 0 // an error has no block
		}
		b.transpose()
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
