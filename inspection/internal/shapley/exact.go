package shapley

import (
	"context"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

const (
	maxTableBytes = 256 << 20 // of the tables of background rows
	rowsPerTask   = 8
)

// Explain returns the exact values of the rows of X, with the interactions of pairs of inputs if
// pairs is set. The result does not depend on GOMAXPROCS. Cost: O(rows · background · terms · inputs
// · nodes), with at most ⌈inputs/4⌉ nodes for cosines and ⌈inputs/2⌉ for other products; inputs/4
// times as much with pairs.
func (f *Form) Explain(ctx context.Context, X *mat.Dense, background Background, pairs bool) (Values, error) {
	n, _ := X.Dims()
	if err := memory.Check(f.bytes(n, len(background.Weights), pairs)); err != nil {
		return Values{}, err
	}
	out := newValues(n, f.inputs.Count, f.outputs)
	for range f.outputs {
		if pairs {
			out.Pairs = append(out.Pairs, mat.NewDense(n, f.inputs.Count*f.inputs.Count, nil))
		}
	}
	count, d := background.X.Dims()
	size := f.backgroundRows(count)
	for lo := 0; lo < count; lo += size {
		hi := min(lo+size, count)
		part := Background{background.X.Slice(lo, hi, 0, d).(*mat.Dense), background.Weights[lo:hi]}
		if err := f.explain(ctx, out, X, part, lo == 0); err != nil {
			return Values{}, err
		}
	}
	out.completePairs()
	return out, nil
}

// backgroundRows returns the number of background rows, at most count, whose tables are stored
// together.
func (f *Form) backgroundRows(count int) int {
	return max(1, min(count, maxTableBytes/max(1, f.tableBytes())))
}

// bytes estimates the memory of Explain.
func (f *Form) bytes(rows, background int, pairs bool) int64 {
	d, workers := int64(f.inputs.Count), int64(runtime.GOMAXPROCS(0))
	values := d
	if pairs {
		values += d * d
	}
	return 8*values*int64(f.outputs)*(int64(rows)+int64(lanes)*workers) +
		int64(f.tableBytes())*(int64(f.backgroundRows(background))+rowsPerTask*workers)
}

// eachBlock calls use with the number of the first row and the tables of consecutive rows of X,
// concurrently.
func (f *Form) eachBlock(ctx context.Context, X *mat.Dense, use func(lo int, t []*tables) error) error {
	n, d := X.Dims()
	var mu sync.Mutex
	var failed error
	kern.Parallel(n, rowsPerTask, func(lo, hi int) {
		err := func() error {
			if err := ctxerr.Check(ctx); err != nil {
				return err
			}
			values, err := f.run(X.Slice(lo, hi, 0, d))
			if err != nil {
				return err
			}
			filler, t := f.newFiller(), make([]*tables, hi-lo)
			for i := range t {
				t[i] = f.newTables()
				filler.fill(t[i], values, i)
			}
			return use(lo, t)
		}()
		if err != nil {
			mu.Lock()
			failed = err
			mu.Unlock()
		}
	})
	return failed
}

// Evaluate returns the outputs for the rows of X, rows × outputs.
func (f *Form) Evaluate(ctx context.Context, X *mat.Dense) (*mat.Dense, error) {
	n, _ := X.Dims()
	out := mat.NewDense(n, f.outputs, nil)
	return out, f.eachBlock(ctx, X, func(lo int, t []*tables) error {
		for i := range t {
			f.value(out.RawRowView(lo+i), t[i])
		}
		return nil
	})
}

// explain adds the contribution of some background rows to out. It sets the outputs of the rows if
// first is set.
func (f *Form) explain(ctx context.Context, out Values, X *mat.Dense, background Background, first bool) error {
	count, _ := background.X.Dims()
	e := &explanation{Form: f, X: X, background: background, tables: make([]*tables, count)}
	err := f.eachBlock(ctx, background.X, func(lo int, t []*tables) error {
		copy(e.tables[lo:], t)
		return nil
	})
	if err != nil {
		return err
	}
	e.additive = make([]float64, f.inputs.Count*f.outputs)
	value := make([]float64, f.outputs)
	for i, t := range e.tables {
		w := background.Weights[i]
		e.weight += w
		for k, v := range t.additive {
			e.additive[k] += w * v
		}
		clear(value)
		f.value(value, t)
		for q, v := range value {
			out.Base[q] += w * v
		}
	}
	return f.eachBlock(ctx, X, func(lo int, t []*tables) error {
		if first {
			for i := range t {
				f.value(out.Rows.RawRowView(lo+i), t[i])
			}
		}
		return e.explain(ctx, out, lo, t)
	})
}

// explanation explains rows by a background.
type explanation struct {
	*Form
	X          *mat.Dense
	background Background
	tables     []*tables // of the background rows
	weight     float64   // sum of the weights
	additive   []float64 // weighted sum of the additive tables
}

// explain adds the values of the rows from lo on, with tables t, to out. Rows share the tables of
// the background for one group of terms after the other, while these are in the cache.
func (e *explanation) explain(ctx context.Context, out Values, lo int, t []*tables) error {
	d := e.inputs.Count
	for i := range t {
		for q := range e.outputs {
			phi := out.Inputs[q].RawRowView(lo + i)
			for j := range d {
				k := j*e.outputs + q
				phi[j] += e.weight*t[i].additive[k] - e.additive[k]
			}
		}
	}
	if len(e.cosines)+len(e.products) == 0 {
		return nil
	}
	changed := make([][][]int, len(t))
	for i := range t {
		changed[i] = e.changed(lo + i)
	}
	w := newWorkspace(d)
	acc := totals{single: make([]kern.Block, d*e.outputs)}
	if out.Pairs != nil {
		acc.pairs = make([]kern.Block, d*d*e.outputs)
	}
	for g := range groupsOf(len(e.cosines)) {
		for i := range t {
			if err := e.explainCosines(ctx, acc, t[i], g, changed[i], w); err != nil {
				return err
			}
			for q := range e.outputs {
				sumLanes(out.Inputs[q].RawRowView(lo+i), acc.single[q*d:])
				if out.Pairs != nil {
					sumLanes(out.Pairs[q].RawRowView(lo+i), acc.pairs[q*d*d:])
				}
			}
		}
	}
	for g := range groupsOf(len(e.products)) {
		terms := e.products[g*lanes : min((g+1)*lanes, len(e.products))]
		for i := range t {
			if err := e.explainProducts(ctx, acc, t[i], g, changed[i], w); err != nil {
				return err
			}
			for q := range e.outputs {
				sumTerms(out.Inputs[q].RawRowView(lo+i), acc.single, terms, q)
				if out.Pairs != nil {
					sumTerms(out.Pairs[q].RawRowView(lo+i), acc.pairs, terms, q)
				}
			}
		}
	}
	return nil
}

// totals are sums over the background, for a row and a group of terms.
type totals struct {
	single []kern.Block // inputs, for each output of cosines
	pairs  []kern.Block // inputs × inputs, likewise, the first input before the second; nil if not needed
}

// sumLanes adds the sums of the elements of blocks to dst.
func sumLanes(dst []float64, blocks []kern.Block) {
	for j := range dst {
		for _, v := range blocks[j] {
			dst[j] += v
		}
	}
}

// sumTerms adds the elements of blocks, with the coefficients of the terms for output q, to dst.
func sumTerms(dst []float64, blocks []kern.Block, terms []product, q int) {
	for j := range dst {
		for k := range terms {
			dst[j] += terms[k].coefficients[q] * blocks[j][k]
		}
	}
}

// changed returns the inputs in which row i differs from each background row.
func (e *explanation) changed(i int) [][]int {
	out := make([][]int, len(e.tables))
	all := make([]int, 0, e.inputs.Count*len(e.tables))
	for z := range out {
		start := len(all)
		all = e.inputs.Changed(all, e.X.RawRowView(i), e.background.X.RawRowView(z))
		out[z] = all[start:]
	}
	return out
}

// explainCosines sets acc to the values of a group of cosines.
//
// With U = e^{i·(h(x)+h(z))/2} of the sum over all inputs, the value of input j is
// Re(β·U·2i·sin(θ_j/2))·I_j = −2·Im(β·U)·sin(θ_j/2)·I_j, where I_j is the integral. That of a pair is
// Re(β·U·(2i)²·sin(θ_j/2)·sin(θ_l/2))·I_jl = −4·Re(β·U)·sin(θ_j/2)·sin(θ_l/2)·I_jl.
func (e *explanation) explainCosines(ctx context.Context, acc totals, t *tables, g int, changed [][]int,
	w workspace) error {
	d := e.inputs.Count
	var beta []kern.BlockPair // for each output, real and imaginary parts
	for q := range e.outputs {
		var b kern.BlockPair
		for k := range min(lanes, len(e.cosines)-g*lanes) {
			b.A[k], b.B[k] = e.cosines[g*lanes+k].re[q], e.cosines[g*lanes+k].im[q]
		}
		beta = append(beta, b)
	}
	clear(acc.single)
	clear(acc.pairs)
	x := t.cosines[g*(d+1):][:d+1]
	for n, inputs := range changed {
		if err := checkEvery(ctx, n); err != nil {
			return err
		}
		z := e.tables[n].cosines[g*(d+1):][:d+1]
		w.cosines(inputs, x, z, acc.pairs != nil)
		weight := e.background.Weights[n]
		hx, hz := &x[d], &z[d]
		for q := range beta {
			var single, pair kern.Block
			for k := range lanes {
				sin, cos := hx.A[k]*hz.B[k]+hx.B[k]*hz.A[k], hx.B[k]*hz.B[k]-hx.A[k]*hz.A[k]
				single[k] = -2 * weight * (beta[q].A[k]*sin + beta[q].B[k]*cos)
				pair[k] = -4 * weight * (beta[q].A[k]*cos - beta[q].B[k]*sin)
			}
			w.AddScaled(acc.single[q*d:][:d], inputs, &single)
			if acc.pairs != nil {
				w.AddScaledPairs(acc.pairs[q*d*d:][:d*d], inputs, d, &pair)
			}
		}
	}
	return nil
}

// explainProducts sets acc to the values of a group of products with coefficient 1.
func (e *explanation) explainProducts(ctx context.Context, acc totals, t *tables, g int, changed [][]int,
	w workspace) error {
	d := e.inputs.Count
	clear(acc.single[:d])
	clear(acc.pairs[:min(d*d, len(acc.pairs))])
	x := t.products[g*d:][:d]
	for n, inputs := range changed {
		if err := checkEvery(ctx, n); err != nil {
			return err
		}
		w.products(inputs, x, e.tables[n].products[g*d:][:d], acc.pairs != nil)
		scale := common(inputs, x)
		for k := range scale {
			scale[k] *= 2 * e.background.Weights[n]
		}
		w.AddScaled(acc.single[:d], inputs, &scale)
		if acc.pairs != nil {
			for k := range scale {
				scale[k] *= 2
			}
			w.AddScaledPairs(acc.pairs[:d*d], inputs, d, &scale)
		}
	}
	return nil
}

// checkEvery checks the context at some of the calls with n.
func checkEvery(ctx context.Context, n int) error {
	if n%32 != 0 {
		return nil
	}
	return ctxerr.Check(ctx)
}
