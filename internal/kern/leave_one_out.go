package kern

import "math"

// blockLanes is the number of elements of a [Block].
const blockLanes = 8

// Block is a vector of numbers that are processed elementwise.
type Block [blockLanes]float64

// BlockPair is two blocks.
type BlockPair struct{ A, B Block }

// Node is a node of a quadrature.
type Node struct{ At, Weight float64 }

// LeaveOneOut computes integrals of the products of n−1 out of n factors, for each factor that is
// left out, by quadrature. All computations run in the calling goroutine, elementwise on blocks. It
// is a workspace for one goroutine at a time:
//
//	w := NewLeaveOneOut(n)
//	w.RotationFactors(rows, x, z) // or ProductFactors
//	w.Rotations(nodes)            // or Products
//	w.AddScaled(sums, rows, &scale)
//
// Cost: about 15 flops for each factor, node and element of Rotations, 7 of Products.
type LeaveOneOut struct {
	n       int
	factors []BlockPair
	out     []Block
	pairs   []Block // n × n
	prefix  []float64
}

// maxNodesAtOnce is the largest number of nodes of one call of the assembly.
const maxNodesAtOnce = 4

// NewLeaveOneOut returns a workspace for up to n factors.
func NewLeaveOneOut(n int) *LeaveOneOut {
	return &LeaveOneOut{factors: make([]BlockPair, n), out: make([]Block, n),
		prefix: make([]float64, n*2*maxNodesAtOnce*blockLanes)}
}

// RotationFactors sets the factors to A = c and B = s, with
//
//	c = x.B·z.B + x.A·z.A
//	s = x.A·z.B − x.B·z.A
//
// of the given rows of x and z, in ascending order: cosines and sines of the difference of two
// angles, from the sines A and cosines B of these. It returns Σ s², Σ 2·s·c and max |2·s·c|.
func (w *LeaveOneOut) RotationFactors(rows []int, x, z []BlockPair) (squares, sum, largest Block) {
	w.start(rows, min(len(x), len(z)))
	if w.n == 0 {
		return squares, sum, largest
	}
	if isa.complete() {
		var sums [3]Block
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			rotationFactorsAsm(w.n, &rows[0], &x[0].A[at], &z[0].A[at], &w.factors[0].A[at], &sums[0][at])
		}
		return sums[0], sums[1], sums[2]
	}
	for l, r := range rows {
		f, x, z := &w.factors[l], &x[r], &z[r]
		for k := range blockLanes {
			c, s := x.B[k]*z.B[k]+x.A[k]*z.A[k], x.A[k]*z.B[k]-x.B[k]*z.A[k]
			f.A[k], f.B[k] = c, s
			squares[k] += s * s
			sum[k] += 2 * s * c
			largest[k] = max(largest[k], math.Abs(2*s*c))
		}
	}
	return squares, sum, largest
}

// ProductFactors sets the factors to A = (p + q)/2 and B = (p − q)/2 of the given rows of p and q,
// in ascending order.
func (w *LeaveOneOut) ProductFactors(rows []int, p, q []Block) {
	w.start(rows, min(len(p), len(q)))
	if w.n == 0 {
		return
	}
	if isa.complete() {
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			productFactorsAsm(w.n, &rows[0], &p[0][at], &q[0][at], &w.factors[0].A[at])
		}
		return
	}
	for l, r := range rows {
		f := &w.factors[l]
		for k := range blockLanes {
			f.A[k], f.B[k] = (p[r][k]+q[r][k])/2, (p[r][k]-q[r][k])/2
		}
	}
}

// start sets the number of factors, and the integrals to 0.
func (w *LeaveOneOut) start(rows []int, limit int) {
	if w.n = len(rows); w.n > len(w.factors) || w.n > 0 && (rows[0] < 0 || rows[w.n-1] >= limit) {
		panic("kern: rows beyond those of the factors")
	}
	clear(w.out[:w.n])
}

// Rotations adds Σ weight·Re Π_{m≠l} (A + i·at·B of factor m) over the nodes to integral l.
func (w *LeaveOneOut) Rotations(nodes []Node) {
	if w.n == 0 {
		return
	}
	if !isa.complete() {
		for _, node := range nodes {
			w.rotationsPortable(node)
		}
		return
	}
	for len(nodes) > 0 {
		count := 1
		for 2*count <= min(len(nodes), rotationsAtOnce()) {
			count *= 2
		}
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			rotationsAsm(count, w.n, &nodes[0].At, &w.factors[0].A[at], &w.prefix[0], &w.out[0][at])
		}
		nodes = nodes[count:]
	}
}

// rotationsAtOnce is the number of nodes that fit into the registers.
func rotationsAtOnce() int {
	if isa == avx512 {
		return 4
	}
	return 2
}

// RotationPairs sets the integrals of pairs l < m to Σ weight·Re Π_{k≠l, k≠m} (A + i·at·B of factor
// k) over the nodes. Cost: n²/2 times about 10 flops for each node and element.
func (w *LeaveOneOut) RotationPairs(nodes []Node) { w.eachPair(nodes, rotationsAtOnce(), true) }

// ProductPairs sets the integrals of pairs l < m to Σ weight·Π_{k≠l, k≠m} (A + at·B of factor k) over
// the nodes.
func (w *LeaveOneOut) ProductPairs(nodes []Node) { w.eachPair(nodes, maxNodesAtOnce, false) }

func (w *LeaveOneOut) eachPair(nodes []Node, maxNodes int, rotations bool) {
	if size := w.n * w.n; cap(w.pairs) < size {
		w.pairs = make([]Block, size)
	}
	w.pairs = w.pairs[:w.n*w.n]
	clear(w.pairs)
	if w.n < 2 {
		return
	}
	if !isa.complete() {
		for _, node := range nodes {
			w.pairsPortable(node, rotations)
		}
		return
	}
	for len(nodes) > 0 {
		count := 1
		for 2*count <= min(len(nodes), maxNodes) {
			count *= 2
		}
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			pairsAsm(count, w.n, &nodes[0].At, &w.factors[0].A[at], &w.prefix[0], &w.pairs[0][at], rotations)
		}
		nodes = nodes[count:]
	}
}

// AddScaledPairs adds scale·(integral of pair l < m)·(B of factor l)·(B of factor m) to row
// rows[l]·stride + rows[m] of sums.
func (w *LeaveOneOut) AddScaledPairs(sums []Block, rows []int, stride int, scale *Block) {
	if len(rows) != w.n || w.n > 0 && (rows[w.n-1] >= stride || len(sums) < stride*stride) {
		panic("kern: rows are not those of the factors")
	}
	for l := range max(0, w.n-1) {
		var first Block
		for k := range first {
			first[k] = scale[k] * w.factors[l].B[k]
		}
		inner := LeaveOneOut{n: w.n - 1 - l, factors: w.factors[l+1:], out: w.pairs[l*w.n+l+1:]}
		inner.AddScaled(sums[rows[l]*stride:][:stride], rows[l+1:], &first)
	}
}

// Products adds Σ weight·Π_{m≠l} (A + at·B of factor m) over the nodes to integral l.
func (w *LeaveOneOut) Products(nodes []Node) {
	if w.n == 0 {
		return
	}
	if !isa.complete() {
		for _, node := range nodes {
			w.productsPortable(node)
		}
		return
	}
	for len(nodes) > 0 {
		count := 1
		for 2*count <= min(len(nodes), maxNodesAtOnce) {
			count *= 2
		}
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			productsAsm(count, w.n, &nodes[0].At, &w.factors[0].A[at], &w.prefix[0], &w.out[0][at])
		}
		nodes = nodes[count:]
	}
}

// SumRatios returns Σ |B|/(|A| + |B|) over the factors, without those that are 0.
func (w *LeaveOneOut) SumRatios() (sum Block) {
	const tiny = 1e-300
	if w.n == 0 {
		return sum
	}
	if isa.complete() {
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			sumRatiosAsm(w.n, &w.factors[0].A[at], &sum[at])
		}
		return sum
	}
	for l := range w.n {
		for k := range blockLanes {
			a, b := math.Abs(w.factors[l].A[k]), math.Abs(w.factors[l].B[k])
			sum[k] += b / (a + b + tiny)
		}
	}
	return sum
}

// AddScaled adds scale·(integral l)·(B of factor l) to row rows[l] of sums, with the rows of the
// factors.
func (w *LeaveOneOut) AddScaled(sums []Block, rows []int, scale *Block) {
	if len(rows) != w.n || w.n > 0 && rows[w.n-1] >= len(sums) {
		panic("kern: rows are not those of the factors")
	}
	if w.n == 0 {
		return
	}
	if isa.complete() {
		for at := 0; at < blockLanes; at += lanesOf[float64]() {
			addScaledBlocksAsm(w.n, &rows[0], &scale[at], &w.factors[0].A[at], &w.out[0][at], &sums[0][at])
		}
		return
	}
	for l, r := range rows {
		for k := range blockLanes {
			sums[r][k] += scale[k] * (w.out[l][k] * w.factors[l].B[k])
		}
	}
}

func (w *LeaveOneOut) rotationsPortable(node Node) {
	for k := range blockLanes {
		re, im := 1.0, 0.0
		step := func(f *BlockPair) {
			c, t := f.A[k], node.At*f.B[k]
			re, im = re*c-im*t, re*t+im*c
		}
		for l := range w.n {
			w.prefix[2*l], w.prefix[2*l+1] = re, im
			step(&w.factors[l])
		}
		re, im = node.Weight, 0
		for l := w.n - 1; l >= 0; l-- {
			w.out[l][k] += w.prefix[2*l]*re - w.prefix[2*l+1]*im
			step(&w.factors[l])
		}
	}
}

func (w *LeaveOneOut) productsPortable(node Node) {
	for k := range blockLanes {
		v := 1.0
		for l := range w.n {
			w.prefix[l] = v
			v *= w.factors[l].A[k] + node.At*w.factors[l].B[k]
		}
		v = node.Weight
		for l := w.n - 1; l >= 0; l-- {
			w.out[l][k] += w.prefix[l] * v
			v *= w.factors[l].A[k] + node.At*w.factors[l].B[k]
		}
	}
}

func (w *LeaveOneOut) pairsPortable(node Node, rotations bool) {
	for k := range blockLanes {
		multiply := func(re, im float64, f *BlockPair) (float64, float64) {
			if !rotations {
				return re * (f.A[k] + node.At*f.B[k]), 0
			}
			c, t := f.A[k], node.At*f.B[k]
			return re*c - im*t, re*t + im*c
		}
		re, im := node.Weight, 0.0
		for l := w.n - 1; l >= 0; l-- {
			w.prefix[2*l], w.prefix[2*l+1] = re, im
			re, im = multiply(re, im, &w.factors[l])
		}
		re, im = 1, 0
		for l := range w.n {
			x, y := re, im
			for m := l + 1; m < w.n; m++ {
				w.pairs[l*w.n+m][k] += w.prefix[2*m]*x - w.prefix[2*m+1]*y
				x, y = multiply(x, y, &w.factors[m])
			}
			re, im = multiply(re, im, &w.factors[l])
		}
	}
}
