package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/sparse"
)

// Binning maps rows to random binning features: P randomly pitched and shifted grids are laid over
// the inputs, and a row has the entry 1/sqrt(P) in the column of the bin it falls into, once for
// each grid. Two rows share a grid's bin with the probability k(x − y), so E[z(x)'z(y)] = k(x − y).
//
//	bin of x in a grid:  round((x_j − u_j)/δ_j), j = 1..d,   δ_j ~ p,  u_j ~ U[0, δ_j)
//
//	kernel      k(Δ) = Π_j            p(δ) = δ·k″(δ)
//	laplacian   exp(−γ|Δ_j|)          Gamma(shape 2, rate γ)
//	hyperbolic  1/(1 + γ|Δ_j|)        2γ²δ/(1 + γδ)³
//	triangular  max(0, 1 − γ|Δ_j|)    δ = 1/γ
//
// The gaussian kernel has no such law, because it is not convex at 0. Kernels that are smooth there
// need entries that depend on the place in the bin (weighted bins): smooth has the entry
// Π_j f(t_j)/sqrt(P) of t_j = (x_j − u_j)/δ_j − bin_j, |t_j| ≤ ½, with f(t) = sqrt(30)·(¼ − t²), so that
//
//	smooth      (1 + γ|Δ_j| + γ²Δ_j²/4)·exp(−γ|Δ_j|)    Gamma(shape 6, rate γ)
//
// twice differentiable. It suits few inputs: the variance of z(x)'z(x) is ((10/7)^d − 1)/P.
//
// Shapes: n×d → n×(bins), sparse, rows of at most P column numbers and one shared value: 4 bytes for
// each row and grid. The bins of grid 0 come first, then those of grid 1, so that columns ascend and
// the map of the first grids of a seed consists of the first columns of a map with more, up to the
// factor sqrt(P₁/P₂). With exact columns, a dictionary made in Fit holds the bins that at least
// MinCount training rows fall into; other bins contribute nothing. With N hashed columns there is no
// dictionary: each grid's bins are hashed into its N/P columns, and the fit looks at the number of
// columns only, unless Gamma is a rule.
//
// A bin is known by a 64-bit hash of its coordinates: Σ_j a_j·bin_j mod 2⁶⁴ with random odd a_j, then
// mixed. Two bins of a grid are taken for one with a probability of at most 2^(t−63), where 2^t is
// the largest power of two that divides all differences of their coordinates: for 10⁵ bins, less
// than one chance in 10⁸ that any two are.
//
// Cost: about 4·n·d·P operations (of columns that most rows have 0 in, only what is not 0 counts) and
// a look-up for each row and grid; 24·d·P bytes for the grids, and 20 bytes for each bin in the
// dictionary. FitTransform does both for the price of one.
//
// Source: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007,
// algorithm 2; weighted bins: Kapralov, Nouri, Razenshteyn, Velingker and Zandieh, "Scaling up kernel
// ridge regression via locality sensitive hashing", AISTATS 2020, with another f.
//
// Fit returns an error for a categorical column, a missing or infinite value, one so large that its
// bin cannot be numbered, no rows, a list of γ that is not as long as there are columns, and where
// no bin has enough rows.
type Binning struct {
	Kernel   string     // one of those above, or custom
	Gamma    Gamma      // γ
	Grids    int        // P
	Columns  BinColumns // exact or hashed
	MinCount int        // training rows that a bin needs; 1 for hashed columns
	Seed     uint64
	Custom   *CustomPitch // with Kernel "custom", a pitch law of your own
}

// CustomPitch is the pitch law of a kernel Π_j k(Δ_j) with k convex on Δ > 0, decreasing to 0, and
// k(0) = 1. Its γ divides the pitches: k_γ(Δ) = k(γΔ).
type CustomPitch struct {
	// Pitch draws δ > 0 from p(δ) = δ·k″(δ), using no other randomness than rng's.
	Pitch func(rng *rand.Rand) float64
	// Exact returns k of one difference; nil where it is not known. Only diagnostics need it.
	Exact func(delta float64) float64
}

// BinColumns says how bins get their columns: [ExactColumns] or [HashedColumns].
type BinColumns struct {
	exact  bool
	hashed int
}

// ExactColumns gives every bin seen in training a column of its own.
var ExactColumns = BinColumns{exact: true}

// HashedColumns hashes all bins into n columns, n ≥ the number of grids.
func HashedColumns(n int) BinColumns { return BinColumns{hashed: n} }

var _ param.Value = (*BinColumns)(nil)

// Set takes exact or a number of columns.
func (c *BinColumns) Set(plain any) error {
	*c = BinColumns{}
	switch v := plain.(type) {
	case string:
		c.exact = v == "exact"
	case int:
		c.hashed = v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<40 {
			c.hashed = int(v)
		}
	}
	return c.Check()
}

// Plain returns exact or the number.
func (c *BinColumns) Plain() any {
	if c.exact {
		return "exact"
	}
	return c.hashed
}

// Wanted says what Set takes.
func (c *BinColumns) Wanted() string { return "exact, or a number of hashed columns ≥ grids" }

// Check reports what is neither.
func (c *BinColumns) Check() error {
	if c.exact || c.hashed >= 1 && c.hashed < math.MaxUint32 {
		return nil
	}
	return errors.New(c.Wanted())
}

// NewBinning returns the spec of 100 grids of the laplacian kernel with exact columns, γ by
// [GammaScale].
func NewBinning() Binning {
	return Binning{Kernel: "laplacian", Gamma: GammaScale, Grids: 100, Columns: ExactColumns, MinCount: 1}
}

// Params declares kernel, gamma, grids, columns, min_count and seed. Custom has no plain form.
func (s *Binning) Params(l *param.List) {
	l.Value(pitchKernel{&s.Kernel, s.Custom}, "kernel", "kernel to approximate")
	l.Value(&s.Gamma, "gamma", "width parameter of the kernel, the larger the narrower")
	l.Int(&s.Grids, "grids", "number of grids P", param.Between(1, 1<<20))
	l.Value(&s.Columns, "columns", "exact: a column for each bin seen in training; or a number of columns to hash into")
	l.Int(&s.MinCount, "min_count", "training rows that a bin needs to get a column", param.AtLeast(1))
	l.Seed(&s.Seed, "seed", "seed of the draws")
	l.Also("columns", func() error {
		if !s.Columns.exact && s.Columns.hashed < s.Grids {
			return errors.New(s.Columns.Wanted())
		}
		return nil
	})
	l.Also("min_count", func() error {
		if !s.Columns.exact && s.MinCount > 1 {
			return errors.New("1 with hashed columns, which are not counted")
		}
		return nil
	})
}

// pitchKernel is the kernel of a [Binning] as a parameter that can say why a kernel has no bins.
type pitchKernel struct {
	name   *string
	custom *CustomPitch
}

func (k pitchKernel) Set(plain any) error {
	name, ok := plain.(string)
	if !ok {
		return errors.New(k.Wanted())
	}
	*k.name = name
	return k.Check()
}

func (k pitchKernel) Plain() any { return *k.name }

func (k pitchKernel) Wanted() string { return param.Alternatives(binningKernels) }

func (k pitchKernel) Check() error {
	switch {
	case k.custom != nil && (*k.name != "custom" || k.custom.Pitch == nil):
		return errors.New("custom, with a Pitch function, where Custom is set")
	case k.custom != nil || slices.Contains(binningKernels, *k.name):
		return nil
	case *k.name == "gaussian":
		return param.Fault{Wanted: k.Wanted(), Hint: "the gaussian kernel has no random bins, because it is not convex at 0; use rff for it"}
	case slices.Contains(fourierKernels, *k.name):
		return param.Fault{Wanted: k.Wanted(), Hint: "use rff for the " + *k.name + " kernel"}
	}
	if near := param.Nearest(*k.name, binningKernels); near != "" {
		return param.Fault{Wanted: k.Wanted(), Hint: "did you mean " + near + "?"}
	}
	return errors.New(k.Wanted())
}

// FitsWithoutRows reports whether γ is fixed and columns are hashed, so that only the number of
// columns is learned.
func (s Binning) FitsWithoutRows() bool { return s.Gamma.rule == "" && !s.Columns.exact }

// Fit draws the grids and numbers the bins; it returns a [*FittedBinning].
func (s Binning) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitFinite(ctx, "binning", s, data)
}

// FitSource is Fit over a source, which it reads once for exact columns, and once more where γ is
// found by a rule.
func (s Binning) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkSpec("binning", s); err != nil {
		return nil, err
	}
	if err := checkNumeric("binning", data.Schema()); err != nil {
		return nil, err
	}
	f, err := s.lay(ctx, data)
	if err != nil {
		return nil, err
	}
	if f.hashed == 0 {
		err = f.number(ctx, data, s.MinCount)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// lay lays the grids.
func (s Binning) lay(ctx context.Context, data datasets.Source) (*FittedBinning, error) {
	f := &FittedBinning{kernelName: s.Kernel, grids: s.Grids, hashed: s.Columns.hashed}
	f.name(s.Custom)
	var err error
	if f.gamma, err = s.Gamma.resolve(ctx, "binning", f.kernel, data, s.Seed); err != nil {
		return nil, err
	}
	if err := f.checkSmooth(); err != nil {
		return nil, err
	}
	if err := s.draw(ctx, f); err != nil {
		return nil, err
	}
	return f, f.finish()
}

// draw fills in the grids for γ = 1, one after the other, and the multipliers of the hash.
func (s Binning) draw(ctx context.Context, f *FittedBinning) error {
	d := len(f.gamma)
	if err := memory.Check(int64(min(24*float64(d)*float64(s.Grids), math.MaxInt64/2))); err != nil {
		return fmt.Errorf("transformer: binning: %d columns × %d grids: %w", d, s.Grids, err)
	}
	f.base, f.shift = make([]float64, s.Grids*d), make([]float64, s.Grids*d)
	rng := newStream()
	for p := range s.Grids {
		if err := ctx.Err(); err != nil {
			return err
		}
		rng.at(s.Seed, drawGrids, p)
		for j := range d {
			inverse := f.kernel.pitch(rng.Rand)
			if !finite(inverse) || inverse < 0 {
				return fmt.Errorf("transformer: binning: pitch %v drawn for grid %d, wanted a number > 0", 1/inverse, p)
			}
			f.base[p*d+j], f.shift[p*d+j] = inverse, rng.Float64()
		}
	}
	f.multipliers = make([]uint64, d)
	rng.at(s.Seed, drawHash, 0)
	for j := range f.multipliers {
		f.multipliers[j] = rng.Uint64() | 1
	}
	return nil
}

// Cost returns the cost of mapping the rows and the memory of grids, dictionary and features.
func (s Binning) Cost(shape datasets.Shape) datasets.Cost {
	n, d, p := float64(shape.Rows), float64(shape.Cols), float64(s.Grids)
	c := datasets.Cost{Flops: 4 * n * d * p, Bytes: int64(24*d*p + 4*n*p + 8*n), Width: s.Columns.hashed, Filled: p}
	if s.Columns.exact {
		c.Bytes += int64(20 * n * p)
		c.Width, c.Guess = int(min(max(n, 2)*p/2, math.MaxUint32)), true // every other row in a bin of its own
	}
	return c
}

// FittedBinning is what [Binning] is fitted to.
type FittedBinning struct {
	kernelName  string
	kernel      kernel // of that name
	gamma       []float64
	grids       int
	hashed      int       // columns in all, 0 for exact ones
	base        []float64 // grids×d, reciprocals of the pitches for γ = 1
	shift       []float64 // grids×d, in units of the pitch
	multipliers []uint64  // d, of the hash
	tables      []table   // a dictionary for each grid, for exact columns
	first       []int     // column of each grid's first bin, and the number of columns at the end

	inverse []float64 // grids×d, γ·base
	origin  []uint64  // hash sum of the bin of zero in each grid
	limit   float64   // inputs up to which a bin can be numbered
}

var (
	_ Sized           = (*FittedBinning)(nil)
	_ Describer       = (*FittedBinning)(nil)
	_ model.Stateful  = (*FittedBinning)(nil)
	_ Rowless         = Binning{}
	_ datasets.Coster = Binning{}
	_ datasets.Coster = PCA{}
)

// name looks the kernel up.
func (f *FittedBinning) name(custom *CustomPitch) bool {
	k, ok := binningKernel(f.kernelName)
	if f.kernelName == "custom" {
		k, ok = kernel{power: 1, l1: true}, true
		if custom != nil {
			k.pitch = func(rng *rand.Rand) float64 { return 1 / custom.Pitch(rng) }
			if custom.Exact != nil {
				k.exact = product(custom.Exact)
			}
		}
	}
	f.kernel = k
	return ok
}

// finish derives what γ makes of the grids, and for hashed columns where each grid's begin.
func (f *FittedBinning) finish() error {
	d, most := len(f.gamma), 0.0
	f.inverse, f.origin = make([]float64, len(f.base)), make([]uint64, f.grids)
	for p := range f.grids {
		for j, g := range f.gamma {
			v := f.base[p*d+j] * g
			f.inverse[p*d+j] = v
			most = max(most, v)
			f.origin[p] += f.multipliers[j] * bin(0, v, f.shift[p*d+j])
		}
	}
	if !finite(most) {
		return errors.New("transformer: binning: gamma divided by a pitch overflows")
	}
	f.limit = (1 << 50) / max(most, 0x1p-900)
	if f.hashed > 0 {
		each := f.hashed / f.grids
		f.first = make([]int, f.grids+1)
		for p := range f.grids {
			f.first[p] = p * each
		}
		f.first[f.grids] = f.hashed
	}
	return nil
}

// bin returns the number of the bin of x in one dimension of a grid, plus a constant: x·inverse −
// shift, rounded by the addition of 1.5·2⁵², whose last binary digit has the value 1. Bins that begin
// at halves are as good as others, for shifts are uniform. The conversion keeps the product from
// being fused with the difference, which some machines do and others do not.
func bin(x, inverse, shift float64) uint64 {
	const roundOff = 3 << 51
	return math.Float64bits(float64(x*inverse) - shift + roundOff)
}

// number makes the dictionaries of the bins that at least minCount rows fall into.
func (f *FittedBinning) number(ctx context.Context, data datasets.Source, minCount int) error {
	counting := make([]table, f.grids)
	_, err := fold(ctx, "binning", data, false, func(first int, X mat.Matrix) error {
		if err := checkEntries("binning", X, data.Schema(), first, f.limit, false); err != nil {
			return err
		}
		n, _ := X.Dims()
		t := binTiles.Get().(*binTile)
		defer binTiles.Put(t)
		return eachTile(ctx, n, func(lo, hi int) {
			t.read(X, lo, hi)
			kern.Parallel(f.grids, 1, func(from, to int) {
				w := binWorks.Get().(*binWork)
				defer binWorks.Put(w)
				for p := from; p < to; p++ {
					counting[p].count(f.hash(w, t, p))
				}
			})
		})
	})
	if err != nil {
		return err
	}
	f.tables = make([]table, f.grids)
	kern.Parallel(f.grids, 1, func(from, to int) {
		for p := from; p < to && ctx.Err() == nil; p++ {
			f.tables[p], _ = counting[p].settle(leastOf(minCount))
			counting[p] = table{}
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.place(minCount)
}

func leastOf(minCount int) uint32 { return uint32(min(minCount, math.MaxUint32)) }

// place gives the bins of the dictionaries their columns, a grid after the other.
func (f *FittedBinning) place(minCount int) error {
	f.first = make([]int, f.grids+1)
	for p := range f.tables {
		f.first[p+1] = f.first[p] + f.tables[p].bins
	}
	switch width := f.first[f.grids]; {
	case width == 0:
		return fmt.Errorf("transformer: binning: no bin has min_count = %d rows; lower gamma or min_count", minCount)
	case width >= math.MaxUint32:
		return fmt.Errorf("transformer: binning: %d bins are more than can be numbered; use fewer grids, a larger min_count or hashed columns", width)
	}
	return nil
}

// settleHash mixes the hash of a bin with the number of its grid. The result is not 0, which stands
// for an empty slot of a table.
func settleHash(sum uint64, grid int) uint64 {
	h := scramble(sum + 0x9e3779b97f4a7c15*uint64(grid+1))
	if h == 0 {
		return 1
	}
	return h
}

// Transform returns the bins of the rows of X, a *sparse.CSR with the shared value 1/sqrt(P), or for
// the smooth kernel with a value for each row and grid.
func (f *FittedBinning) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	X, err := checkRows("binning", X, len(f.gamma))
	if err != nil {
		return nil, err
	}
	if err := checkEntries("binning", X, datasets.Schema{}, 0, f.limit, false); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	columns := make([]uint32, n*f.grids)
	for lo := 0; lo < n; lo += binRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.fill(ctx, columns[lo*f.grids:], X, lo, min(lo+binRows, n))
	}
	return f.features(ctx, X, columns)
}

// features returns the features of rows by their columns, which it spoils; an error where ctx is done,
// and columns are half found.
func (f *FittedBinning) features(ctx context.Context, X mat.Matrix, columns []uint32) (mat.Matrix, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n, _ := X.Dims()
	if f.kernel.smooth {
		values, err := f.weigh(ctx, X)
		if err != nil {
			return nil, err
		}
		values = keepPresent(values, columns)
		indptr, columns := dropAbsent(columns, n, f.grids)
		return sparse.New(n, f.OutputWidth(), indptr, columns, values)
	}
	indptr, columns := dropAbsent(columns, n, f.grids)
	return sparse.NewShared(n, f.OutputWidth(), indptr, columns, 1/math.Sqrt(float64(f.grids)))
}

// fewRows is the number of rows that are hashed one by one.
const fewRows = 8

// hashRows is how many rows one piece of work bins.
const hashRows = 256

// binRows is how many rows are binned between two looks at the context.
const binRows = 1 << 13

// fill writes the columns of rows lo to hi, notThere for bins without one, a row after the other.
func (f *FittedBinning) fill(ctx context.Context, columns []uint32, X mat.Matrix, lo, hi int) {
	if hi-lo <= hashRows {
		f.fillRows(columns, X, lo, hi)
		return
	}
	kern.Parallel(hi-lo, hashRows, func(from, to int) {
		if ctx.Err() != nil {
			return
		}
		f.fillRows(columns[from*f.grids:], X, lo+from, lo+to)
	})
}

func (f *FittedBinning) fillRows(columns []uint32, X mat.Matrix, lo, hi int) {
	w := binWorks.Get().(*binWork)
	defer binWorks.Put(w)
	if hi-lo < fewRows {
		for p := range f.grids {
			some := w.hashes[:hi-lo]
			for i := range some {
				some[i] = f.hashRow(X, lo+i, p)
			}
			f.look(columns, some, p)
		}
		return
	}
	t := binTiles.Get().(*binTile)
	defer binTiles.Put(t)
	t.read(X, lo, hi)
	for p := range f.grids {
		f.look(columns, f.hash(w, t, p), p)
	}
}

// look writes the columns of bins in grid p by their hashes, which it spoils.
func (f *FittedBinning) look(columns []uint32, hashes []uint64, p int) {
	first := uint32(f.first[p])
	if f.hashed > 0 {
		size := uint64(f.hashed / f.grids)
		for i, h := range hashes {
			column, _ := bits.Mul64(h, size)
			columns[i*f.grids+p] = first + uint32(column)
		}
		return
	}
	f.tables[p].find(hashes)
	for i, number := range hashes {
		column := uint32(number)
		if column != notThere {
			column += first
		}
		columns[i*f.grids+p] = column
	}
}

// keepPresent returns the values whose bins have a column.
func keepPresent(values []float64, columns []uint32) []float64 {
	end := 0
	for k, c := range columns {
		if c != notThere {
			values[end] = values[k]
			end++
		}
	}
	return values[:end]
}

// dropAbsent closes the gaps that bins without a column leave and returns where rows begin.
func dropAbsent(columns []uint32, rows, grids int) ([]int, []uint32) {
	indptr := make([]int, rows+1)
	end := 0
	for i := range rows {
		for _, c := range columns[i*grids : (i+1)*grids] {
			if c != notThere {
				columns[end] = c
				end++
			}
		}
		indptr[i+1] = end
	}
	if end < len(columns)/2 {
		return indptr, slices.Clone(columns[:end])
	}
	return indptr, columns[:end:end]
}

// InputWidth returns the number of columns that go in.
func (f *FittedBinning) InputWidth() int { return len(f.gamma) }

// OutputWidth returns the number of columns.
func (f *FittedBinning) OutputWidth() int { return f.first[f.grids] }

// OutputSchema returns a schema of numeric columns without names.
func (f *FittedBinning) OutputSchema(in datasets.Schema) datasets.Schema { return in.WithColumns(nil) }

// Grids returns P.
func (f *FittedBinning) Grids() int { return f.grids }

// GridColumns returns the first and the last column, the last excluded, of a grid's bins.
func (f *FittedBinning) GridColumns(grid int) (first, end int) { return f.first[grid], f.first[grid+1] }

// Gamma returns γ for each column.
func (f *FittedBinning) Gamma() []float64 { return slices.Clone(f.gamma) }

// Kernel returns k(x, y), which the features approximate, and an error where the kernel is one's
// own and only its pitches are known, as after loading it from a file.
func (f *FittedBinning) Kernel(x, y []float64) (float64, error) {
	return f.kernel.between("binning", f.gamma, x, y)
}

// KernelMatrix returns k of every row of X and every row of Y, rows of X × rows of Y.
func (f *FittedBinning) KernelMatrix(ctx context.Context, X, Y mat.Matrix) (*mat.Dense, error) {
	return f.kernel.matrix(ctx, "binning", f.gamma, X, Y)
}

// WithGrids returns the nested map of the first grids, at most as many as there are: its columns
// are the first of this map's, up to scale. Hashed columns stay as many for each grid.
func (f *FittedBinning) WithGrids(grids int) (*FittedBinning, error) {
	if grids < 1 || grids > f.grids {
		return nil, fmt.Errorf("transformer: binning: got %d grids, wanted a number from 1 to %d", grids, f.grids)
	}
	out := *f
	out.grids = grids
	if f.hashed > 0 {
		out.hashed = f.hashed / f.grids * grids
		return &out, out.finish()
	}
	out.tables = f.tables[:grids]
	return &out, nil
}

// State is what a model file keeps.
func (f *FittedBinning) State(s *model.State) {
	var hashes []uint64
	if !s.Reading() {
		for p := range f.tables {
			hashes = append(hashes, f.tables[p].list()...)
		}
		d := len(f.gamma)
		f = &FittedBinning{kernelName: f.kernelName, gamma: f.gamma, grids: f.grids, hashed: f.hashed,
			base: f.base[:f.grids*d], shift: f.shift[:f.grids*d], multipliers: f.multipliers, first: f.first[:f.grids+1]}
	}
	s.String("kernel", &f.kernelName)
	s.Int("grids", &f.grids)
	s.Int("hashed", &f.hashed)
	s.Floats("gamma", &f.gamma)
	s.Floats("base", &f.base)
	s.Floats("shift", &f.shift)
	s.Uint64s("multipliers", &f.multipliers)
	s.Ints("first", &f.first)
	s.Uint64s("hashes", &hashes)
	if s.Reading() && s.Err() == nil {
		f.restore(s, hashes)
	}
}

// restore checks what was read and makes the dictionaries.
func (f *FittedBinning) restore(s *model.State, hashes []uint64) {
	d := len(f.gamma)
	s.Require(f.name(nil), "the kernel is not known")
	s.Require(d > 0 && f.grids > 0 && f.grids <= len(f.base)/d && len(f.base) == f.grids*d &&
		len(f.shift) == len(f.base) && len(f.multipliers) == d, "grids and columns do not fit")
	s.Require(allFinite(f.gamma, f.base, f.shift), "the grids are not finite")
	s.Require(f.checkSmooth() == nil, "there are too many columns for the kernel")
	s.Require(f.hashed == 0 || f.hashed >= f.grids && f.hashed < math.MaxUint32, "the number of columns does not fit")
	if s.Err() != nil {
		return
	}
	for k, v := range f.base {
		s.Require(v >= 0 && f.gamma[k%d] > 0 && f.shift[k] >= 0 && f.shift[k] < 1, "a grid has no positive pitch")
	}
	if f.hashed == 0 {
		s.Require(len(f.first) == f.grids+1 && f.first[0] == 0 && slices.IsSorted(f.first) &&
			f.first[f.grids] == len(hashes) && len(hashes) > 0 && len(hashes) < math.MaxUint32 && !slices.Contains(hashes, 0), "bins and grids do not fit")
	}
	if s.Err() != nil {
		return
	}
	if err := f.finish(); err != nil {
		s.Fail("%v", err)
		return
	}
	if f.hashed == 0 {
		f.tables = make([]table, f.grids)
		for p := range f.tables {
			if !f.tables[p].of(hashes[f.first[p]:f.first[p+1]]) {
				s.Fail("the hashes of the bins of grid %d are not those of bins", p)
				return
			}
		}
	}
}
