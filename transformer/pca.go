package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// PCA projects rows on the directions of largest variance of the training rows:
//
//	y = (x − mean)·V,  V the eigenvectors of the covariance matrix with the largest eigenvalues λ
//
// and, with Whiten, divides output k by sqrt(λ_k), so that all have variance 1. Sparse
// training rows are not centered: their mean is taken as 0 and λ_k is the mean square of output k, a
// truncated singular value decomposition.
//
// Shapes: n×d → n×k, dense. The covariance has divisor n−1. The sign of an eigenvector is chosen
// such that its entry of largest magnitude is positive. There are at most min(n, d) components,
// fewer if columns are linearly dependent: a fraction, and all, keep only components whose variance
// exceeds rounding error. It is scikit-learn's PCA with the covariance_eigh solver, and TruncatedSVD
// for sparse rows.
//
// Cost: two passes over the rows, n·d² flops for the covariance, about 7·d³ for its eigenvectors,
// and 2·d² for each component; 32·d² bytes for any n. A given number k of components of wide sparse
// rows, d > 512 and d ≥ 8(k+10), costs at most 9 passes of 4(k+10) flops per nonzero instead, and
// 90·d·(k+10) bytes, in a block Lanczos method with a relative residual of 0.001.
// Source: Pearson, "On lines and planes of closest fit", Phil. Mag. 2(11), 1901; Musco and Musco,
// "Randomized block Krylov methods for stronger and faster approximate singular value
// decomposition", NIPS 2015.
//
// Fit returns an error for a categorical column, a missing or infinite value, fewer than two rows,
// equal rows, more components than exist, and whitening of components without variance.
// Use [NewPCA]: the zero value is invalid.
type PCA struct {
	// Components is the number of outputs if ≥ 1, the minimum fraction of the variance that the
	// outputs explain if between 0 and 1, or -1 for all.
	Components float64
	Whiten     bool // scale each output to variance 1
}

// allComponents keeps every component of a [PCA] whose variance exceeds rounding error.
const allComponents = -1

// NewPCA returns the spec that keeps all components and does not whiten.
func NewPCA() PCA { return PCA{Components: allComponents} }

// pcaComponents adapts [PCA].Components to a parameter.
type pcaComponents struct{ value *float64 }

func (c pcaComponents) Set(plain any) error {
	*c.value = 0
	switch v := plain.(type) {
	case string:
		if v == "all" {
			*c.value = allComponents
		}
	case int:
		*c.value = float64(max(v, 0))
	case float64:
		*c.value = max(v, 0)
	}
	return c.Check()
}

func (c pcaComponents) Get() any {
	switch v := *c.value; {
	case v == allComponents:
		return "all"
	case v == math.Trunc(v) && math.Abs(v) < maxComponents:
		return int(v)
	default:
		return v
	}
}

func (c pcaComponents) Constraint() string {
	return "an integer ≥ 1, a fraction between 0 and 1 of the variance, or all"
}

func (c pcaComponents) Check() error {
	v := *c.value
	if v == allComponents || v > 0 && v < 1 || v >= 1 && v == math.Trunc(v) && v < maxComponents {
		return nil
	}
	return errors.New(c.Constraint())
}

// maxComponents is the maximum number of components of a spec.
const maxComponents = 1 << 31

// count returns the number of components, or 0 if Components is a fraction or -1 for all.
func (s PCA) count() int {
	if s.Components >= 1 {
		return int(s.Components)
	}
	return 0
}

// Params declares components and whiten.
func (s *PCA) Params(l *param.List) {
	l.Value(pcaComponents{&s.Components}, "components",
		"number of outputs, or the fraction of the variance that they explain")
	l.MoreUnits("components")
	l.Bool(&s.Whiten, "whiten", "whether to scale every output to variance 1")
}

// Fit learns the directions; it returns a [*FittedPCA].
func (s PCA) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "pca", s, data)
}

// FitSource is Fit over a source. It makes two passes.
func (s PCA) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	return learn(ctx, s, data)
}

// Start returns the first pass, which computes means. The second pass computes the covariance.
func (s PCA) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	if err := checkNumericSpec("pca", s, schema); err != nil {
		return nil, err
	}
	count := s.count()
	if !truncatesSVD(cols, count) && cols > maxCovariance {
		return nil, fmt.Errorf("transformer: pca: %w", wideCovariance(cols))
	}
	return beginPass(ctx, "pca", s, schema, cols, false, func() inputSums {
		return &pcaSums{count: count, means: newMomentSums(cols)}
	})
}

// Finish returns the [*FittedPCA] of the last pass.
func (s PCA) Finish(ctx context.Context, last datasets.Pass) (Transformer, error) {
	sums, _, err := lastSums[*pcaSums](ctx, "pca", s, last)
	if err != nil {
		return nil, err
	}
	f := &FittedPCA{mean: slices.Clone(sums.mean)}
	if sums.svd != nil {
		if err := sums.svd.decompose(ctx, s, f, sums.rows); err != nil {
			return nil, err
		}
		return f, nil
	}
	cov, err := sums.covariance()
	if err != nil {
		return nil, err
	}
	if err := s.decompose(ctx, f, cov, sums); err != nil {
		return nil, err
	}
	return f, nil
}

// maxCovariance is the maximum number of columns; their covariance takes 8 GB.
const maxCovariance = 1 << 15

// wideCovariance returns the error of dense rows, or of an unknown number of components, with too
// many columns.
func wideCovariance(cols int) error {
	return fmt.Errorf("the covariance of %d columns does not fit in memory, at most %d are possible; "+
		"for sparse rows, name a small number of components", cols, maxCovariance)
}

// pcaSums accumulates the means in the first pass, and in the second one the lower triangle of Σ(x
// − mean)(x − mean)', or in the others the products of [svdSums].
type pcaSums struct {
	count  int         // number of components; 0 if unknown
	means  *momentSums // first pass only
	sparse bool        // whether the rows of the first pass are sparse
	rows   int         // number of rows of the first pass
	mean   []float64   // set after the first pass; 0 for sparse rows
	sums   []float64   // d×d, second pass only
	tile   []float64
	svd    *svdSums // instead of sums
}

func (p *pcaSums) add(ctx context.Context, first int, X mat.Matrix) error {
	switch {
	case p.means != nil:
		_, isSparse := X.(*matrices.CSR)
		p.sparse = p.sparse || isSparse
		return p.means.add(ctx, first, X)
	case p.svd != nil:
		return p.svd.add(ctx, X)
	}
	d := len(p.mean)
	gram := kern.Dense(d, d, d, p.sums)
	n, _ := X.Dims()
	for lo := 0; lo < n; lo += tileRows {
		hi := min(lo+tileRows, n)
		if len(p.tile) < (hi-lo)*d {
			p.tile = make([]float64, (hi-lo)*d)
		}
		centered := kern.Dense(hi-lo, d, d, p.tile)
		center(centered, X, lo, p.mean)
		if err := kern.Gram(ctx, gram, centered, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *pcaSums) merge(other inputSums) error {
	o := other.(*pcaSums)
	switch {
	case (p.means == nil) != (o.means == nil), p.rows != o.rows, !slices.Equal(p.mean, o.mean):
		return errOtherRows
	case p.means != nil:
		p.sparse = p.sparse || o.sparse
		return p.means.merge(o.means)
	case (p.svd == nil) != (o.svd == nil):
		return errOtherRows
	case p.svd != nil:
		return p.svd.merge(o.svd)
	}
	kern.Axpy(1, o.sums, p.sums)
	return nil
}

func (p *pcaSums) next(ctx context.Context) (inputSums, error) {
	var err error
	next := *p
	switch {
	case p.svd != nil:
		if next.svd, err = p.svd.next(ctx); err != nil || next.svd == nil {
			return nil, err
		}
		return &next, nil
	case p.means == nil:
		return nil, nil
	}
	m := p.means.total
	if m.Count[0] < 2 {
		return nil, errors.New("must have at least 2 rows, got 1")
	}
	d := len(m.Mean)
	next.means, next.rows, next.mean = nil, int(m.Count[0]), slices.Clone(m.Mean)
	if p.sparse {
		clear(next.mean)
	}
	switch {
	case p.sparse && truncatesSVD(d, p.count):
		next.svd, err = newSVDSums(d, p.count)
	case d > maxCovariance:
		err = wideCovariance(d)
	default:
		next.sums = make([]float64, d*d)
	}
	return &next, err
}

var errVarianceOverflows = errors.New("transformer: pca: the variance overflows; scale the inputs before")

// covariance returns the lower triangle of the covariance matrix.
func (p *pcaSums) covariance() (kern.View[float64], error) {
	d := len(p.mean)
	cov := slices.Clone(p.sums)
	kern.Scale(1/float64(p.rows-1), cov)
	if !allFinite(cov) {
		return kern.View[float64]{}, errVarianceOverflows
	}
	return kern.Dense(d, d, d, cov), nil
}

func (p *pcaSums) state(s *model.State) {
	d := len(p.mean)
	if p.means != nil {
		d = len(p.means.total.Mean)
	}
	first := p.means != nil
	s.Bool("first", &first)
	s.Bool("sparse_rows", &p.sparse)
	svd := p.svd != nil
	s.Bool("svd", &svd)
	if s.Err() != nil {
		return
	}
	if first {
		if p.means == nil {
			p.means = newMomentSums(d)
		}
		p.means.state(s)
		return
	}
	p.means = nil
	s.Int("rows", &p.rows)
	pass.Floats(s, "mean", &p.mean, d, pass.Finite)
	if svd {
		if p.svd == nil {
			p.svd = &svdSums{cols: d, count: p.count}
		}
		p.sums = nil
		p.svd.state(s)
		return
	}
	pass.Floats(s, "sums", &p.sums, d*d, nil)
	s.Require(p.rows >= 2, "there are less than two rows")
}

// center writes the rows of X from row lo on, minus mean, to dst.
func center(dst kern.View[float64], X mat.Matrix, lo int, mean []float64) {
	for i := range dst.Rows {
		to := dst.Row(i)
		copy(to, design.Row(X, lo+i, to))
		for j, m := range mean {
			to[j] -= m
		}
	}
}

// decompose sets the components of f from the covariance cov, which it overwrites.
func (s PCA) decompose(ctx context.Context, f *FittedPCA, cov kern.View[float64], sums *pcaSums) error {
	eigen, err := kern.NewEigen(ctx, cov, true)
	if err != nil {
		return fmt.Errorf("transformer: pca: the eigenvectors of the covariance: %w", err)
	}
	d := len(f.mean)
	variance := slices.Clone(eigen.Values)
	slices.Reverse(variance)
	total := 0.0
	for _, v := range variance {
		total += max(v, 0)
	}
	maxRank := sums.rows - 1
	if sums.sparse {
		maxRank = sums.rows
	}
	keep, err := s.keep(f, variance, total, maxRank, min(sums.rows, d))
	if err != nil {
		return err
	}
	vectors, err := eigen.Vectors(ctx, d-keep, d)
	if err != nil {
		return fmt.Errorf("transformer: pca: the eigenvectors of the covariance: %w", err)
	}
	f.setComponents(vectors)
	return nil
}

// setComponents stores the components, given in ascending order of variance, a row each.
func (f *FittedPCA) setComponents(rows []float64) {
	d, keep := len(f.mean), len(f.variance)
	f.components = mat.NewDense(d, keep, nil)
	for k := range keep {
		v := rows[(keep-1-k)*d : (keep-k)*d]
		fixSign(v)
		f.components.SetCol(k, v)
	}
	f.finish()
}

// keep stores the variances of the selected components, of those in descending order, and returns
// their number.
func (s PCA) keep(f *FittedPCA, variance []float64, total float64, maxRank, exist int) (keep int, err error) {
	rank := 0
	for k, v := range variance {
		variance[k] = max(v, 0)
		if v > float64(len(f.mean))*0x1p-52*variance[0] {
			rank = k + 1
		}
	}
	if rank == 0 {
		return 0, errors.New("transformer: pca: all rows are equal, there is no variance")
	}
	if keep, err = s.componentCount(variance, total, min(rank, maxRank), exist); err == nil {
		f.variance, f.total, f.whiten = variance[:keep:keep], total, s.Whiten
	}
	return keep, err
}

// componentCount returns the number of components, at most exist. The leading rank eigenvalues exceed
// rounding error.
func (s PCA) componentCount(variance []float64, total float64, rank, exist int) (int, error) {
	count := s.count()
	switch {
	case s.Components == allComponents:
		return rank, nil
	case count > exist:
		return 0, fmt.Errorf("transformer: pca: components must be at most %[2]d, the rank of the training rows, got %[1]d",
			count, exist)
	case count > rank && s.Whiten:
		return 0, fmt.Errorf("transformer: pca: %d components cannot be whitened, only %d of them vary", count, rank)
	case count > 0:
		return count, nil
	}
	sum := 0.0
	for k := range rank {
		if sum += variance[k]; sum >= s.Components*total {
			return k + 1, nil
		}
	}
	return rank, nil
}

// fixSign flips the sign of v if its entry of largest magnitude is negative. Among entries of equal
// magnitude up to rounding, the first one decides; with two standardized columns they are always
// equal.
func fixSign(v []float64) {
	const alike = 1 - 1e-6
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	first := slices.IndexFunc(v, func(x float64) bool { return math.Abs(x) >= alike*largest })
	if first >= 0 && v[first] < 0 {
		for j := range v {
			v[j] = -v[j]
		}
	}
}

// Tags returns that a number of components is the number of features.
func (s PCA) Tags() datasets.Tags { return datasets.Tags{FixedWidth: s.count() > 0} }

// Cost returns the cost of the covariance, its eigenvectors, and the projection on all components.
func (s PCA) Cost(shape datasets.Shape) datasets.Cost {
	n, d := float64(shape.Rows), float64(shape.Cols)
	k, width := d, shape.Cols // upper bounds
	if count := s.count(); count > 0 {
		k, width = float64(count), count
	}
	if shape.NonZeros > 0 && truncatesSVD(shape.Cols, width) {
		block := k + svdOversampling
		return datasets.Cost{Flops: svdPasses * block * (4*n*shape.NonZeros + 4*svdPasses*d*block),
			Bytes: int64(8*(svdPasses+3)*d*block + 8*float64(shape.RowsInMemory())*k), OutputWidth: width}
	}
	// Measured: flops per entry that is read again, and the factor of d³ for the eigenvectors.
	const product, eigen = 780, 30
	return datasets.Cost{Flops: n*d*(d+product) + eigen*d*d*d + 2*n*d*k,
		Bytes: int64(32*d*d + 8*float64(shape.RowsInMemory())*k), OutputWidth: width, WidthEstimated: s.count() == 0}
}

// FittedPCA is a fitted [PCA].
type FittedPCA struct {
	mean       []float64
	components *mat.Dense // d×k, one direction per column
	variance   []float64  // of each component
	total      float64    // total variance of the columns
	whiten     bool

	project *mat.Dense // components, divided by the standard deviations if whitened
	offset  []float64  // projection of the mean
}

// finish computes project.
func (f *FittedPCA) finish() {
	f.project = f.components
	if f.whiten {
		f.project = mat.DenseCopyOf(f.components)
		for j := range f.mean {
			for k, v := range f.variance {
				f.project.RawRowView(j)[k] /= math.Sqrt(v)
			}
		}
	}
	f.offset = make([]float64, len(f.variance))
	for j, m := range f.mean {
		if m != 0 {
			kern.Axpy(m, f.project.RawRowView(j), f.offset)
		}
	}
}

// Transform returns the projected rows of X in a new matrix.
func (f *FittedPCA) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return transformDense(ctx, f, X)
}

// TransformTo writes the projected rows of X to dst.
func (f *FittedPCA) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	X, err := checkRows("pca", X, len(f.mean))
	if err != nil {
		return err
	}
	n, d := X.Dims()
	if err := checkTile("pca", dst, n, len(f.variance)); err != nil {
		return err
	}
	if err := checkEntries("pca", X, datasets.Schema{}, 0, math.MaxFloat64, false); err != nil {
		return err
	}
	if m, ok := X.(*matrices.CSR); ok {
		return eachTile(ctx, n, func(lo, hi int) {
			out := design.View(dst).Slice(lo, hi, 0, len(f.variance))
			kern.SparseMul(out, design.SparseView(m.Slice(lo, hi)), design.View(f.project), false)
			for i := range out.Rows {
				kern.Axpy(-1, f.offset, out.Row(i))
			}
		})
	}
	tile := make([]float64, min(n, tileRows)*d)
	return eachTile(ctx, n, func(lo, hi int) {
		centered := kern.Dense(hi-lo, d, d, tile)
		center(centered, X, lo, f.mean)
		kern.Mul(design.View(dst).Slice(lo, hi, 0, f.project.RawMatrix().Cols), centered, design.View(f.project), false)
	})
}

// Export adds the projected rows to g.
func (f *FittedPCA) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return g.MatMul(g.Sub(rows, g.Row(f.mean)), g.Matrix(f.project)), nil
}

// Tags returns the number of input columns.
func (f *FittedPCA) Tags() datasets.Tags { return datasets.Tags{InputWidth: len(f.mean)} }

// OutputWidth returns the number of components.
func (f *FittedPCA) OutputWidth() int { return len(f.variance) }

// OutputSchema returns numeric columns named pca0, pca1, ….
func (f *FittedPCA) OutputSchema(in datasets.Schema) datasets.Schema {
	return in.WithColumns(numbered("pca", len(f.variance)))
}

// Components returns a copy of the directions, d×k, one per column.
func (f *FittedPCA) Components() *mat.Dense { return mat.DenseCopyOf(f.components) }

// Mean returns the mean of each column.
func (f *FittedPCA) Mean() []float64 { return slices.Clone(f.mean) }

// ExplainedVariance returns the variance of the training rows along each component.
func (f *FittedPCA) ExplainedVariance() []float64 { return slices.Clone(f.variance) }

// ExplainedVarianceRatio returns the variance along each component, divided by the total variance
// of the columns.
func (f *FittedPCA) ExplainedVarianceRatio() []float64 {
	out := slices.Clone(f.variance)
	for k := range out {
		out[k] /= f.total
	}
	return out
}

// State serializes the fitted parameters.
func (f *FittedPCA) State(s *model.State) {
	s.Floats("mean", &f.mean)
	s.Matrix("components", &f.components)
	s.Floats("variance", &f.variance)
	s.Float("total", &f.total)
	s.Bool("whiten", &f.whiten)
	s.Require(f.components != nil, "there are no components")
	if !s.Restoring() || s.Err() != nil {
		return
	}
	d, k := f.components.Dims()
	s.Require(len(f.mean) == d && len(f.variance) == k, "mean, components and variance do not fit")
	s.Require(allFinite(f.mean, f.variance, f.components.RawMatrix().Data) && f.total > 0 && finite(f.total),
		"mean, components or variance are not finite")
	if s.Err() != nil {
		return
	}
	for _, v := range f.variance {
		s.Require(v > 0 || v == 0 && !f.whiten, "a variance is not positive")
	}
	if s.Err() == nil {
		f.finish()
	}
}
