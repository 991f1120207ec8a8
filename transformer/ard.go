package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/features/evidence"
	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/features/sample"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/rows/origin"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// ARD multiplies each input by a scale learned from the targets (automatic relevance
// determination):
//
//	y_j = s_j·x_j
//
// The scales maximize the evidence of the targets under a Gaussian process, with learned noise and
// amplitude: on random Fourier features of the kernel (Solve features) or with the exact kernel
// (Solve exact). An irrelevant input gets a scale near 0. Place the step before a map such as rff:
// with the same kernel and gamma: 1, that map approximates the selected kernel. The same holds for
// binning, nystroem and kernel_ridge, whose kernels are functions of the same scaled differences.
//
// It requires targets: one or more numeric columns, or classes, which are coded as ±1 with one
// output per class. Inputs and targets are standardized while the scales are learned; the final
// scales apply to the original inputs. With Groups "origin", columns that were encoded from the
// same column share a scale. Objective "press" minimizes the leave-one-out error of ridge
// regression instead of maximizing the evidence.
//
// The scales are learned from a sample of the rows that represents every class. Rows are sampled
// uniformly: sample weights are ignored, except that rows of weight 0 are excluded. Gradient
// descent in the logarithms of the scales starts with equal scales, and each step redraws the
// features: with fixed draws it may lose inputs that matter only jointly. The steps are divided
// among the restarts; each but the first starts from the best point so far with small scales reset
// to the initial one. Example: of 32 inputs, four determine y = sin(5·x₀x₁) + cos(4(x₂ + x₃)) +
// noise; 3,000 rows, uniform on (−1, 1), identify the four.
//
// With a rough kernel, such as laplacian, the exact kernel finds inputs whose effect is local, which
// a few hundred features cannot represent. It uses at most Part rows of the sample and projected
// L-BFGS, which ends early when it has converged. Features and Restarts have no effect.
//
// Solve "coordinate" also uses the exact kernel. In at most three sweeps over the scales and the noise
// it tries the factors 0, 1/3 and 3. Steps has no effect either. A scale becomes 0 unless it improves
// the objective by more than the Bayesian information criterion asks for; so do, at the end, scales of
// a product by Solve exact. Floor does not raise a scale of 0. With a few hundred rows a useless column
// may keep a small scale by chance. Objective press then also has the errors of the rows of the sample
// beyond Part, which those of Part predict; if they are at least Part, only these.
//
// With the exact kernel, Kernel may be a product of kernels of columns ([kernel.Product]) or a sum of products,
// such as laplacian for numbers and gaussian for categories and text:
//
//	ard: {solve: coordinate, groups: origin, kernel: {product: [
//	  {columns: numeric, kernel: laplacian}, {columns: rest, kernel: gaussian}]}}
//
// γ of its terms has no effect: the scales replace it. Place the step before kernel_ridge, kernel_svm,
// gaussian_process, nystroem or rff with the same product and gamma: 1 in each term. With Groups
// "origin" a text or a categorical column has one scale. In a sum of products a column has one scale for all
// terms, and the weights of the products are fixed. The distances of each group are stored, and
// the scales start where the mean distances of all groups, times their scales, are equal and sum to 1.
// The ratio of the learned noise and amplitude estimates alpha of kernel_ridge on the sample.
//
// Let r_j be the learned scale of input j divided by the largest one. The step uses max(r_j^Power,
// Floor), multiplied by a common factor that preserves the mean square of the learned scales.
//
// Shapes: n×d → n×d; sparse rows stay sparse. Cost of a step of the fit, with n rows and D
// features: 3·n·D² + D³ + 2·n·d·D flops in float32 and D³/3 in float64, or 3·n²·D + n³ and n³/3 if
// there are fewer rows than features; press needs 6·n·D² or n³ more. Memory: 6·n·D + 78·d·D bytes,
// for press 10·n·D. With the exact kernel and n rows: n³ + 4·n²·d flops and 32·n² bytes; press needs n³
// more. A product of G groups needs 2·G·n² flops instead of 4·n²·d, and 2·G·n² bytes more. A value of
// the coordinate search costs n³/3 flops. A fit makes two passes: one to check the rows, one to sample
// them.
//
// Sources: Neal, "Bayesian learning for neural networks", 1996; Rasmussen and Williams, "Gaussian
// processes for machine learning", 2006, chapter 5; Lázaro-Gredilla et al., "Sparse spectrum
// gaussian process regression", JMLR 2010.
//
// Fit returns an error for a categorical column, a missing or infinite value, no targets, constant
// targets, fewer than two rows, and if all inputs are constant. An input that is constant in the
// sample gets the scale 0. Use [NewARD]: the zero value is invalid.
type ARD struct {
	Kernel    kernel.Name // a kernel of [RFF], or a kernel of columns
	Nu        float64     // ν of the matern kernel
	Shape     float64     // a of the rational_quadratic kernel
	Features  int         // D, even
	Rows      int         // maximum size of the sample
	Steps     int         // gradient steps
	Restarts  int         // number of starts that share the steps
	Floor     float64     // minimum scale of a standardized input, relative to the largest
	Power     float64     // exponent applied to the learned scales
	Objective string      // evidence or press
	Solve     string      // features, exact or coordinate
	Part      int         // maximum number of rows with the exact kernel
	Groups    string      // none or origin
	Seed      uint64
}

// NewARD returns the spec with the gaussian kernel, 600 features, and 70 steps on 3000 rows; 2000 with the exact
// kernel.
func NewARD() ARD {
	return ARD{Kernel: "gaussian", Nu: 1.5, Shape: 1, Features: 600, Rows: 3000, Steps: 70, Restarts: 1, Power: 1,
		Objective: "evidence", Solve: "features", Part: 2000, Groups: "none"}
}

// Params declares kernel, nu, alpha, features, rows, steps, restarts, floor, power, objective, solve, part,
// groups and seed.
func (s *ARD) Params(l *param.List) {
	s.Kernel.Declare(l, "kernel of the gaussian process", spectral.FourierKernels...)
	l.Float(&s.Nu, "nu", "smoothness ν of the matern kernel", param.Positive())
	l.Float(&s.Shape, "shape", "shape of the rational_quadratic kernel", param.Positive())
	l.Int(&s.Features, "features", "number of random features of the gaussian process", param.Between(2, maxFeatures))
	l.MoreUnits("features")
	l.Int(&s.Rows, "rows", "number of sampled rows for learning the scales", param.AtLeast(2))
	l.Int(&s.Steps, "steps", "maximum number of steps of the optimizer", param.AtLeast(1))
	l.Int(&s.Restarts, "restarts",
		"number of starts of the optimizer, which share the steps; later starts begin at the best point so far, "+
			"with small scales increased", param.Between(1, 100))
	l.Float(&s.Floor, "floor", "minimum scale of a standardized input, relative to the largest", param.Between(0, 1))
	l.Float(&s.Power, "power", "exponent that is applied to the scales; the mean "+
		"distance of rows is preserved", param.Between(0, 4))
	l.Choice(&s.Objective, "objective", "objective: the evidence, or the squared leave-one-out error (press); with "+
		"solve: coordinate, press is the error on sampled rows beyond part", "evidence", "press")
	l.Choice(&s.Solve, "solve", "features: gradients, random Fourier features; exact: gradients, exact kernel; "+
		"coordinate: coordinate search, exact kernel, which can set a scale to 0",
		"features", "exact", "coordinate")
	l.Int(&s.Part, "part",
		"maximum number of rows with solve: exact or coordinate; the cost is cubic in it", param.AtLeast(2))
	l.Choice(&s.Groups, "groups",
		"origin: all columns that encode one input share a scale; none: each column has its own", "none", "origin")
	l.Seed(&s.Seed, "seed", "seed of the sample and of the draws")
	l.Check("features", func() error {
		if s.Features%2 != 0 {
			return errors.New("an even number")
		}
		return nil
	})
	l.Check("kernel", s.checkKernel)
}

// checkKernel returns an error if Solve does not support the kernel.
func (s ARD) checkKernel() error {
	if list := s.Kernel.Summands(); list != nil {
		if s.Solve == "features" {
			return errors.New("a kernel of all columns for solve: features; products are for solve: exact and coordinate")
		}
	}
	for _, t := range termsOf(s.products()) {
		if _, ok := s.exactKernel(t); s.Solve != "features" && !ok {
			return errors.New("a kernel of the euclidean or the L1 distance for solve: exact and coordinate")
		}
	}
	return nil
}

// products returns the products of the kernel, one of all columns for a kernel that is none.
func (s ARD) products() []kernel.Summand {
	if list := s.Kernel.Summands(); list != nil {
		return list
	}
	return []kernel.Summand{{Weight: 1, Product: []kernel.Term{{Kernel: s.Kernel, Columns: []string{"rest"}, Nu: s.Nu,
		Shape: s.Shape}}}}
}

// termsOf returns the terms of all products.
func termsOf(products []kernel.Summand) (terms []kernel.Term) {
	for _, p := range products {
		terms = append(terms, p.Product...)
	}
	return terms
}

// exactKernel returns the kernel of a term, which must be a function of one distance of the scaled rows.
func (s ARD) exactKernel(t kernel.Term) (*pairwise.Kernel, bool) {
	k, ok := pairwise.NewKernel(string(t.Kernel), spectral.ShapeOfTerm(t))
	return k, ok && (k.Metric == pairwise.Squared || k.Metric == pairwise.L1)
}

// Fit learns the scales; the result has the methods Scales, Relevance and Noise.
func (s ARD) Fit(ctx context.Context, data datasets.Set) (Transformer, error) {
	return fitSet(ctx, "ard", s, data)
}

// Sample returns the indices of the rows that Fit samples, at most Rows.
func (s ARD) Sample(ctx context.Context, data datasets.Source) ([]int, error) {
	if err := checkSpec("ard", s); err != nil {
		return nil, err
	}
	return sample.Rows(ctx, sampleSource("ard", data), s.Rows, s.Seed)
}

// FitSource is Fit over a source. It makes two passes: one to check the rows, one to sample them.
func (s ARD) FitSource(ctx context.Context, data datasets.Source) (Transformer, error) {
	if err := checkNumericSpec("ard", s, data.Schema()); err != nil {
		return nil, err
	}
	rows, err := sample.Take(ctx, sampleSource("ard", data), s.Rows, s.Seed)
	if err != nil {
		return nil, err
	}
	_, d := rows.X.Dims()
	f := &fittedARD{learned: make([]float64, d)}
	group := s.groups(data.Schema(), d)
	if s.byGroup() {
		if err := s.learnGroups(ctx, rows, data.Schema(), group, f); err != nil {
			return nil, wrapError(ctx, "ard", err)
		}
		if err := f.finish(s.Power, s.Floor); err != nil {
			return nil, err
		}
		return f, nil
	}
	if rows.X, f.deviation, err = sample.Standardized(ctx, rows.X, group, data.Schema()); err != nil {
		return nil, wrapError(ctx, "ard", err)
	}
	learned, err := s.learn(ctx, rows, group)
	if err != nil {
		return nil, wrapError(ctx, "ard", err)
	}
	f.set(learned, group)
	if err := f.finish(s.Power, s.Floor); err != nil {
		return nil, err
	}
	return f, nil
}

// groups returns the index of the scale of each of d columns.
func (s ARD) groups(schema datasets.Schema, d int) []int {
	if s.Groups != "origin" {
		schema = datasets.Schema{}
	}
	group, _ := origin.Inputs(schema, d)
	return group
}

// ardLists is the number of frequency matrices that the gradient steps cycle through.
const ardLists = 8

// learn learns the scales of standardized inputs. Columns with the same number in group share a
// scale.
func (s ARD) learn(ctx context.Context, rows sample.Sample, group []int) (evidence.Result, error) {
	n, d := rows.X.Dims()
	if err := memory.Check(s.bytes(float64(n), float64(d), 0)); err != nil {
		return evidence.Result{}, err
	}
	kernel, _ := spectral.FourierKernel(string(s.Kernel), spectral.Shape{Nu: s.Nu, Alpha: s.Shape})
	gamma, err := kernel.MedianGamma(ctx, rows.X, s.Seed)
	if err != nil {
		return evidence.Result{}, err
	}
	p := evidence.Problem{X: rows.X, Y: rows.Y, Group: group, LeaveOneOut: s.Objective == "press"}
	start := p.Start(kernel.Factors([]float64{gamma})[0])
	if s.Solve == "exact" {
		n = min(n, s.Part)
		X := mat.NewDense(n, d, nil)
		for i := range n {
			mat.Row(X.RawRowView(i), i, rows.X)
		}
		k, _ := s.exactKernel(termsOf(s.products())[0])
		return evidence.Exact{X: X, Y: rows.Y.Slice(0, n, 0, rows.Y.RawMatrix().Cols).(*mat.Dense), Kernel: k, Group: group,
			Intercept: true, LeaveOneOut: p.LeaveOneOut}.Minimize(ctx, []evidence.Point{start}, s.Steps)
	}
	m := s.Features / 2
	draws, err := fourier.Draw(ctx, kernel, s.Seed, d, ardLists*m, true)
	if err != nil {
		return evidence.Result{}, err
	}
	lists := make([]*mat.Dense, ardLists)
	for i := range lists {
		lists[i] = mat.DenseCopyOf(draws.Base.Slice(0, d, i*m, (i+1)*m))
	}
	return evidence.Minimize(ctx, p, lists, start, s.Restarts, s.Steps)
}

// held returns the number of the n rows of a sample that are held out to compare scales.
func (s ARD) held(n int) int {
	if s.Solve != "coordinate" || s.Objective != "press" {
		return 0
	}
	return max(n-s.Part, 0)
}

// sweeps is the maximum number of sweeps of the coordinate search.
const sweeps = 3

// byGroup reports whether the distances of each group are stored.
func (s ARD) byGroup() bool {
	return s.Solve == "coordinate" || s.Solve == "exact" && s.Kernel.Summands() != nil
}

// learnGroups learns the scales of groups of columns from their distances. Sparse rows are never
// converted to dense ones.
func (s ARD) learnGroups(ctx context.Context, rows sample.Sample, schema datasets.Schema, group []int,
	f *fittedARD) error {
	n, d := rows.X.Dims()
	products, err := s.resolve(ctx, schema, d)
	if err != nil {
		return err
	}
	group, terms := splitGroups(group, termsOf(products))
	m, count := min(n, s.Part), 0
	for _, own := range terms {
		count += len(own)
	}
	if err := memory.Check(s.bytes(float64(n), float64(d), float64(count))); err != nil {
		return fmt.Errorf("cannot store the distances of %d rows in %d groups of columns: %w; lower part, or set "+
			"groups: origin", m, count, err)
	}
	if f.deviation, err = sample.Deviations(rows.X, group, schema); err != nil {
		return err
	}
	var kernels [][]*pairwise.Kernel
	var weights []float64
	for _, p := range products {
		var factors []*pairwise.Kernel
		for _, t := range p.Product {
			k, _ := s.exactKernel(t)
			factors = append(factors, k)
		}
		kernels, weights = append(kernels, factors), append(weights, p.Weight)
	}
	var groups []evidence.Group
	inputs := make([][]int, len(terms)) // of each group, as far as they are not constant
	for j, g := range group {
		if f.deviation[j] > 0 {
			inputs[g] = append(inputs[g], j)
		}
	}
	scale := 0
	for g, own := range inputs {
		for _, t := range terms[g] {
			if own != nil {
				groups = append(groups, evidence.Group{Term: t, Scale: scale, Inputs: own, Factor: 1 / f.deviation[own[0]]})
			}
		}
		for _, j := range own {
			group[j] = scale
		}
		if own != nil {
			scale++
		}
	}
	used := m + s.held(n)
	p, err := evidence.NewProduct(ctx, rowblock.Slice(rows.X, 0, used), m, kernels, weights, groups)
	if err != nil {
		return err
	}
	e := evidence.Exact{Y: rows.Y.Slice(0, m, 0, rows.Y.RawMatrix().Cols).(*mat.Dense), Product: p, Intercept: true,
		LeaveOneOut: s.Objective == "press"}
	if used > m {
		e.Held = rows.Y.Slice(m, used, 0, rows.Y.RawMatrix().Cols).(*mat.Dense)
	}
	var learned evidence.Result
	if s.Solve == "coordinate" {
		learned, err = e.Search(ctx, p.Start(), sweeps)
	} else {
		learned, err = e.Minimize(ctx, []evidence.Point{p.Start()}, s.Steps)
	}
	if err == nil {
		f.set(learned, group)
	}
	return err
}

// resolve returns the products of the kernel with the numbers of their columns.
func (s ARD) resolve(ctx context.Context, schema datasets.Schema, d int) ([]kernel.Summand, error) {
	products, all := s.products(), make([]int, d)
	for j := range all {
		all[j] = j
	}
	for _, p := range products {
		for t := range p.Product {
			p.Product[t].Gamma = kernel.FixedGamma(1)
		}
	}
	if s.Kernel.Summands() != nil {
		name, err := spectral.Resolve(ctx, kernel.Sum(products...), schema, d, s.Seed, nil)
		if err != nil {
			return nil, err
		}
		products = name.Summands()
	}
	for _, p := range products {
		for t := range p.Product {
			if p.Product[t].Index == nil {
				p.Product[t].Index = all
			}
		}
	}
	return products, nil
}

// splitGroups returns groups of columns of the same group and terms, and the numbers of the terms of each group.
func splitGroups(group []int, terms []kernel.Term) (out []int, of [][]int) {
	own := make([][]int, len(group))
	for t, one := range terms {
		for _, j := range one.Index {
			own[j] = append(own[j], t)
		}
	}
	known := map[string]int{}
	for j, g := range group {
		key := fmt.Sprint(g, own[j])
		at, has := known[key]
		if !has {
			at = len(of)
			known[key], of = at, append(of, own[j])
		}
		out = append(out, at)
	}
	return out, of
}

// bytes returns the memory of a fit on n rows of d columns, with the distances of the given groups.
func (s ARD) bytes(n, d, groups float64) int64 {
	m := min(n, float64(s.Part))
	if s.byGroup() {
		return int64(min(32*m*m+(2*groups*m+(4*groups+8)*float64(s.held(int(n))))*m+48*d, math.MaxInt64/2))
	}
	if s.Solve == "exact" {
		return int64(min(32*m*m+40*m*d+16*n*d, math.MaxInt64/2))
	}
	D := float64(s.Features)
	order, each := min(n, D), 6.0
	if s.Objective == "press" {
		each = 10
	}
	return int64(min(each*n*D+24*order*order+14*d*D+8*ardLists*d*D+24*n*d, math.MaxInt64/2))
}

// Cost returns the cost of learning the scales and of scaling the rows.
func (s ARD) Cost(shape datasets.Shape) datasets.Cost {
	n := float64(min(shape.Rows, s.Rows))
	cost := scalerCost(0, shape)
	cost.CheapToRecompute = false
	m, d, groups := min(n, float64(s.Part)), float64(shape.Cols), s.expectedGroups(shape)
	switch {
	case s.Solve == "coordinate": // values of about three points per scale
		cost.Flops += (s.exactStep(m, groups)/2 + float64(s.held(int(n)))*m*(50+10*groups)) * 3 * sweeps * (groups + 1)
	case s.byGroup():
		cost.Flops += s.exactStep(m, groups) * float64(s.Steps)
	case s.Solve == "exact":
		cost.Flops += s.exactStep(m, d) * float64(s.Steps)
	default:
		cost.Flops += s.featuresStep(n, shape.Entries()) * float64(s.Steps+s.Restarts)
	}
	cost.Bytes += s.bytes(n, d, groups)
	cost.Passes = 2
	return cost
}

// expectedGroups returns the number of scales, a guess if the columns are unknown.
func (s ARD) expectedGroups(shape datasets.Shape) float64 {
	const guess = 32
	if s.Groups != "origin" || len(shape.Columns) == shape.Cols {
		return float64(slices.Max(append(s.groups(datasets.Schema{Columns: shape.Columns}, shape.Cols), 0)) + 1)
	}
	return float64(min(shape.Cols, guess))
}

// exactStep returns the flops of a step with the exact kernel and d inputs or groups. Kernel values and loops over
// pairs are slower than products; the constants convert them.
func (s ARD) exactStep(n, d float64) float64 {
	step := n*n*n + 100*n*n + 20*n*n*d
	if s.Objective == "press" {
		step += n * n * n
	}
	return step
}

// featuresStep returns the flops of a step with features. Float32 products count half. Factorizations, inverses
// and sines are slower than products; the constants convert them.
func (s ARD) featuresStep(n, entries float64) float64 {
	D := float64(s.Features)
	order := min(n, D)
	products := 3*n*D*order + 2*n*entries*D
	switch {
	case s.Objective == "press" && n < D:
		products += order * order * order
	case s.Objective == "press":
		products += 3 * n * D * order
	}
	return products/2 + 1.5*order*order*order + 300*order*order + 100*n*D
}

// fittedARD is a fitted [ARD].
type fittedARD struct {
	learned          []float64 // scale of each standardized input, 0 if it is constant
	deviation        []float64 // standard deviation of each input, 0 if it is constant
	scales           []float64 // scale of each input in its original units
	noise, amplitude float64
}

// set stores the learned scales of the groups of columns that are not constant.
func (f *fittedARD) set(learned evidence.Result, group []int) {
	for j := range f.learned {
		if f.deviation[j] > 0 {
			f.learned[j] = learned.Scales[group[j]]
		}
	}
	f.noise, f.amplitude = learned.Noise, learned.Amplitude
}

// finish computes scales from the learned ones with the given power and floor.
func (f *fittedARD) finish(power, floor float64) error {
	largest, before, after := slices.Max(f.learned), 0.0, 0.0
	f.scales = make([]float64, len(f.learned))
	for j, s := range f.learned {
		if s == 0 {
			continue
		}
		f.scales[j] = max(math.Pow(s/largest, power), floor)
		before += (s / largest) * (s / largest)
		after += f.scales[j] * f.scales[j]
	}
	for j, v := range f.scales {
		if v > 0 {
			f.scales[j] = largest * v * math.Sqrt(before/after) / f.deviation[j]
		}
	}
	if !allFinite(f.scales) {
		return errors.New("transformer: ard: a scale overflows; standardize the inputs before")
	}
	return nil
}

// Scales returns the factor of each column.
func (f *fittedARD) Scales() []float64 { return slices.Clone(f.scales) }

// Relevance returns the learned scale of each standardized column, divided by the largest one.
// Columns of a group share the value of the group.
func (f *fittedARD) Relevance() []float64 {
	out, largest := slices.Clone(f.learned), slices.Max(f.learned)
	for j := range out {
		out[j] /= largest
	}
	return out
}

// Noise returns the noise variance and the amplitude of the kernel, both relative to targets of
// variance 1.
func (f *fittedARD) Noise() (noise, amplitude float64) { return f.noise, f.amplitude }

// Transform returns the scaled rows of X, sparse where X is.
func (f *fittedARD) Transform(ctx context.Context, X mat.Matrix) (mat.Matrix, error) {
	return f.products().Transform(ctx, X)
}

// TransformTo writes the scaled rows of X to dst, including the zeros of sparse rows.
func (f *fittedARD) TransformTo(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	return f.products().TransformTo(ctx, dst, X)
}

func (f *fittedARD) products() entrywise {
	return products("ard", &f.scales, math.MaxFloat64, false)
}

// Export adds the scaled rows to g.
func (f *fittedARD) Export(g *graph.Graph, rows graph.Value) (graph.Value, error) {
	return g.Mul(rows, g.Row(f.scales)), nil
}

// Tags returns the number of input columns and their relevance.
func (f *fittedARD) Tags() datasets.Tags {
	return datasets.Tags{InputWidth: len(f.scales), Relevance: f.Relevance()}
}

// OutputWidth returns the number of columns, which equals that of the input.
func (f *fittedARD) OutputWidth() int { return len(f.scales) }

// OutputSchema returns the input columns as numeric columns.
func (f *fittedARD) OutputSchema(in datasets.Schema) datasets.Schema { return asNumeric(in) }

// State serializes the fitted parameters.
func (f *fittedARD) State(s *model.State) {
	s.Floats("learned", &f.learned)
	s.Floats("deviation", &f.deviation)
	s.Floats("scales", &f.scales)
	s.Float("noise", &f.noise)
	s.Float("amplitude", &f.amplitude)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	d := len(f.learned)
	s.Require(d > 0 && len(f.deviation) == d && len(f.scales) == d,
		"learned, deviation and scales differ in length, or are empty")
	s.Require(allFinite(f.learned, f.deviation, f.scales, []float64{f.noise, f.amplitude}), "a scale is not finite")
	if s.Err() != nil {
		return
	}
	negative := func(v float64) bool { return v < 0 }
	s.Require(!slices.ContainsFunc(slices.Concat(f.learned, f.deviation, f.scales), negative), "a scale is below 0")
	s.Require(slices.Max(f.learned) > 0, "every scale is 0")
}
