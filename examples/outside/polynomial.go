package outside

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Polynomial maps rows to random features of the polynomial kernel
//
//	k(x, y) = (Scale·x'y + 1)^Degree:  z_j(x) = D^−½·Π_k (√Scale·r_jk'x + s_jk),
//
// with signs r_jk and s_jk of ±1, drawn for Degree factors of each feature.
//
// Shapes: n×d → n×D, dense. Cost: 2·n·d·D·Degree flops. Source: Kar and Karnick, "Random feature maps for
// dot product kernels", AISTATS 2012.
//
// Specs that differ in Features and Scale have the same signs: a search over both projects rows once.
type Polynomial struct {
	Features int // D
	Degree   int
	Scale    float64
	Seed     uint64
}

// NewPolynomial returns the spec of 500 features of the quadratic kernel.
func NewPolynomial() Polynomial { return Polynomial{Features: 500, Degree: 2, Scale: 1} }

// Params declares features, degree, scale and seed.
func (s *Polynomial) Params(l *param.List) {
	l.Int(&s.Features, "features", "number of features D", param.Between(1, 1<<20))
	l.MoreUnits("features")
	l.Int(&s.Degree, "degree", "degree of the kernel", param.Between(1, 10))
	l.MoreUnits("degree")
	l.Float(&s.Scale, "scale", "what inner products are multiplied by", param.Positive())
	l.Seed(&s.Seed, "seed", "seed of the signs")
}

// Tags returns that the fit depends only on the number of columns: a search fits it once for all folds.
func (Polynomial) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true, FixedWidth: true} }

// Cost returns the work and the width.
func (s Polynomial) Cost(shape datasets.Shape) datasets.Cost {
	numbers := float64(shape.Cols) * float64(s.Features) * float64(s.Degree)
	return datasets.Cost{Flops: 2 * float64(shape.Rows) * numbers, Bytes: int64(8 * numbers), OutputWidth: s.Features}
}

// Requirements declares that all inputs must be numeric and have no missing values.
func (Polynomial) Requirements() []datasets.Requirement {
	return []datasets.Requirement{{Numeric: true}, {NoMissing: true}}
}

// InferOutput promises complete numbers.
func (Polynomial) InferOutput(datasets.InferredSchema) datasets.InferredSchema {
	return datasets.InferredSchema{}
}

// Fit draws the signs; it returns a [*FittedPolynomial].
func (s Polynomial) Fit(ctx context.Context, data datasets.Set) (transformer.Transformer, error) {
	if err := errors.Join(data.Check(), data.CheckFinite()); err != nil {
		return nil, fmt.Errorf("polynomial: %w", err)
	}
	return s.FitSource(ctx, data.Source())
}

// FitSource depends on the number of columns only.
func (s Polynomial) FitSource(ctx context.Context, data datasets.Source) (transformer.Transformer, error) {
	f, err := s.draw(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("polynomial: %w", err)
	}
	return f, nil
}

// draw uses a separate random stream for each feature, so that the features of a narrow map are the
// first ones of a wide map.
func (s Polynomial) draw(ctx context.Context, data datasets.Source) (*FittedPolynomial, error) {
	if err := param.Check(s); err != nil {
		return nil, err
	}
	n, d := data.Dims()
	if n == 0 || d <= 0 {
		return nil, datasets.ErrEmpty
	}
	f := &FittedPolynomial{degree: s.Degree, scale: s.Scale,
		signs: mat.NewDense(d, s.Features*s.Degree, nil), shift: make([]float64, s.Features*s.Degree)}
	for j := range s.Features {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rng := rand.New(rand.NewPCG(s.Seed, uint64(j)))
		sign := func() float64 { return float64(1 - 2*int(rng.Uint64()>>63)) }
		for k := j * s.Degree; k < (j+1)*s.Degree; k++ {
			f.shift[k] = sign()
			for i := range d {
				f.signs.Set(i, k, sign())
			}
		}
	}
	return f, nil
}

// FittedPolynomial is a fitted [Polynomial].
type FittedPolynomial struct {
	degree int
	scale  float64
	signs  *mat.Dense // d × D·degree
	shift  []float64  // D·degree
}

// InputWidth returns d.
func (f *FittedPolynomial) InputWidth() int { return f.signs.RawMatrix().Rows }

// Tags returns the number of input columns.
func (f *FittedPolynomial) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// OutputWidth returns D.
func (f *FittedPolynomial) OutputWidth() int { return len(f.shift) / f.degree }

// Transform returns the features of every row.
func (f *FittedPolynomial) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	if X == nil {
		return nil, errors.New("polynomial: no matrix")
	}
	n, _ := X.Dims()
	if n == 0 {
		return nil, errors.New("polynomial: no rows")
	}
	out := mat.NewDense(n, f.OutputWidth(), nil)
	if err := f.TransformTo(ctx, out, X); err != nil {
		return nil, err
	}
	return out, nil
}

// TransformTo overwrites dst with the features of the rows of X.
func (f *FittedPolynomial) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	if dst == nil || X == nil {
		return errors.New("polynomial: no matrix")
	}
	if r, c := dst.Dims(); r != rowsOf(X) || c != f.OutputWidth() {
		return fmt.Errorf("polynomial: tile must have one row per input row and %[3]d columns, got %[1]d×%[2]d", r, c,
			f.OutputWidth())
	}
	return f.project(ctx, X, func(i int, products []float64) {
		f.features(dst.RawRowView(i), products, f.scale)
	})
}

func rowsOf(X mat.Matrix) int {
	n, _ := X.Dims()
	return n
}

// project calls yield with r'x for every sign vector and every row.
func (f *FittedPolynomial) project(ctx context.Context, X mat.Matrix, yield func(i int, products []float64)) error {
	n, d := X.Dims()
	if err := datasets.CheckInput(ctx, X, f.InputWidth()); err != nil {
		return fmt.Errorf("polynomial: %w", err)
	}
	x, products := make([]float64, d), make([]float64, len(f.shift))
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(products)
		for j, v := range mat.Row(x, i, X) {
			if v != 0 {
				floats.AddScaled(products, v, f.signs.RawRowView(j))
			}
		}
		yield(i, products)
	}
	return ctx.Err()
}

// features computes the features of a row from its products.
func (f *FittedPolynomial) features(z, products []float64, scale float64) {
	root, norm := math.Sqrt(scale), 1/math.Sqrt(float64(len(z)))
	for j := range z {
		z[j] = norm
		for k := j * f.degree; k < (j+1)*f.degree; k++ {
			z[j] *= root*products[k] + f.shift[k]
		}
	}
}

// Export adds a product of Degree columns for each feature to g.
func (f *FittedPolynomial) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	products := g.MatMul(rows, g.Matrix(f.signs))
	factors := g.Add(g.Mul(products, g.Scalar(math.Sqrt(f.scale))), g.Row(f.shift))
	var z graph.Value
	for k := range f.degree {
		columns := make([]int, f.OutputWidth())
		for j := range columns {
			columns[j] = j*f.degree + k
		}
		if one := g.Columns(factors, columns); k == 0 {
			z = one
		} else {
			z = g.Mul(z, one)
		}
	}
	return g.Mul(z, g.Scalar(1/math.Sqrt(float64(f.OutputWidth())))), nil
}

// State serializes the fitted parameters.
func (f *FittedPolynomial) State(s *model.State) {
	s.Int("degree", &f.degree)
	s.Float("scale", &f.scale)
	s.Matrix("signs", &f.signs)
	s.Floats("shift", &f.shift)
	s.Require(f.degree > 0 && f.signs != nil && f.scale > 0 && !math.IsInf(f.scale, 0),
		"there are no signs, or degree or scale is not above 0")
	if s.Err() != nil {
		return
	}
	_, wide := f.signs.Dims()
	s.Require(wide == len(f.shift) && wide%f.degree == 0, "the numbers of signs and shifts differ")
	one := func(v float64) bool { return v != 1 && v != -1 }
	s.Require(!slices.ContainsFunc(f.signs.RawMatrix().Data, one) && !slices.ContainsFunc(f.shift, one),
		"a sign is not 1 or -1")
}

// SameFamily reports whether other has the same signs, more or fewer of them.
func (s Polynomial) SameFamily(other transformer.Fitter) bool {
	o, ok := other.(Polynomial)
	return ok && o.Seed == s.Seed && o.Degree == s.Degree
}

// family returns the widest map of the specs, their scales, and which leading columns of which scale's map
// each is.
func (s Polynomial) family(specs []transformer.Fitter) (widest Polynomial, scales []float64,
	members []transformer.FamilyMember, err error) {
	widest = s
	widest.Features = 0
	for i, spec := range specs {
		if !s.SameFamily(spec) {
			return widest, nil, nil, fmt.Errorf("polynomial: spec %d is not of the family", i)
		}
		p := spec.(Polynomial)
		if err := param.Check(p); err != nil {
			return widest, nil, nil, fmt.Errorf("polynomial: spec %d: %w", i, err)
		}
		widest.Features = max(widest.Features, p.Features)
		if !slices.Contains(scales, p.Scale) {
			scales = append(scales, p.Scale)
		}
		members = append(members, transformer.FamilyMember{Map: slices.Index(scales, p.Scale), Width: p.Features})
	}
	for i := range members {
		members[i].Scale = math.Sqrt(float64(widest.Features) / float64(members[i].Width))
	}
	return widest, scales, members, nil
}

// FitFamily draws the signs of the widest map.
func (s Polynomial) FitFamily(ctx context.Context, data datasets.Set, specs []transformer.Fitter) (*transformer.Family,
	error) {
	widest, scales, members, err := s.family(specs)
	if err != nil {
		return nil, err
	}
	fitted, err := widest.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return &transformer.Family{Maps: &polynomialFamily{fitted.(*FittedPolynomial), scales}, Members: members,
		Shared: []string{"projection"}}, nil
}

// FamilyMembers relates each spec to the wide map of its scale.
func (s Polynomial) FamilyMembers(_ datasets.Shape, specs []transformer.Fitter) []transformer.FamilyMember {
	_, _, members, err := s.family(specs)
	if err != nil {
		return nil
	}
	return members
}

// polynomialFamily is one set of signs, and the wide maps of all scales.
type polynomialFamily struct {
	wide   *FittedPolynomial
	scales []float64
}

func (f *polynomialFamily) Widths() []int {
	return slices.Repeat([]int{f.wide.OutputWidth()}, len(f.scales))
}

// Each projects the rows once and computes the features of every requested scale.
func (f *polynomialFamily) Each(ctx context.Context, X mat.Matrix, which []int,
	yield func(which int, Z mat.Matrix) error) error {
	maps := make([]*mat.Dense, len(which))
	for i := range maps {
		maps[i] = mat.NewDense(rowsOf(X), f.wide.OutputWidth(), nil)
	}
	err := f.wide.project(ctx, X, func(i int, products []float64) {
		for k, Z := range maps {
			f.wide.features(Z.RawRowView(i), products, f.scales[which[k]])
		}
	})
	for k, Z := range maps {
		if err == nil {
			err = yield(which[k], Z)
		}
	}
	return err
}

var (
	_ transformer.FamilyFitter     = Polynomial{}
	_ transformer.BlockFitter      = Polynomial{}
	_ datasets.Tagger              = Polynomial{}
	_ datasets.CostEstimator       = Polynomial{}
	_ datasets.Requirer            = Polynomial{}
	_ datasets.SchemaInferrer      = Polynomial{}
	_ transformer.DenseTransformer = (*FittedPolynomial)(nil)
	_ graph.StepExporter           = (*FittedPolynomial)(nil)
	_ model.Stateful               = (*FittedPolynomial)(nil)
)
