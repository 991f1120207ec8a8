package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/pass"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/kmeans"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// KMeans divides rows into groups around centers c. With row weights s it minimizes the inertia
//
//	Σ s_i · min_c ‖x_i − c‖²
//
// by Lloyd's passes: every row goes to its nearest center, every center to the mean of its rows, until the centers
// move, squared and all together, by at most Tol times the mean variance of the columns. A center without rows goes to
// the row that is farthest from its own.
//
// The first pass samples the rows; the sample contains every distinct row if there are at most
// 16,384 of up to 512 columns. Initial centers are drawn from it, by greedy k-means++ or uniformly
// (Init random), Restarts times; each start runs to convergence on the sample, and the best
// continues on all rows. The sample depends on the set of rows, not on their order.
//
// With Batch > 0 (mini-batch k-means) each center moves after that many rows to the mean of all
// rows assigned to it so far, until a pass improves the mean squared distance by a fraction of less
// than Tol. Rows in memory are shuffled in each pass, those of a stream are not: use Batch 0 for
// sorted streams.
//
// X is n×d, dense, in float32 or sparse. A pass costs at most 2·n·d·Clusters flops. For rows in
// memory a row is compared with all centers only where bounds on its distances leave its center
// open, which changes no assignment. Memory is that of the centers and of the sample; with Batch 0,
// rows in memory take 20 bytes more each.
//
// Fit ignores targets. It returns an error for a categorical column, a missing or infinite value, a
// weight that is no number ≥ 0, and less different rows than clusters. (Lloyd 1957; Arthur &
// Vassilvitskii, SODA 2007, for k-means++; Hamerly, SDM 2010, for the bounds; Sculley, WWW 2010,
// for minibatches.) Use [NewKMeans]: the zero value is invalid.
type KMeans struct {
	Clusters int
	Restarts int
	Init     string
	MaxIter  int
	Tol      float64
	Batch    int
	Seed     uint64
}

// NewKMeans returns a KMeans with 8 clusters, the best of 4 starts by k-means++, at most 300 passes and tolerance 1e-4.
func NewKMeans() KMeans {
	return KMeans{Clusters: 8, Restarts: 4, Init: "kmeans++", MaxIter: 300, Tol: 1e-4}
}

// Params declares the hyperparameters.
func (s *KMeans) Params(l *param.List) {
	l.Int(&s.Clusters, "clusters", "number of clusters", param.Between(1, 1<<20))
	l.MoreUnits("clusters")
	l.Int(&s.Restarts, "restarts", "number of random starts; the best is kept", param.Between(1, 10_000))
	l.Choice(&s.Init, "init", "initialization of the centers", "kmeans++", "random")
	l.Int(&s.MaxIter, "max_iter", "maximum number of passes over the rows", param.AtLeast(1))
	l.Float(&s.Tol, "tol", "tolerance: squared movement of the centers, relative to the variance of the inputs",
		param.AtLeast(0))
	l.Int(&s.Batch, "batch", "number of rows of a minibatch; 0: all rows in each iteration", param.AtLeast(0))
	l.Seed(&s.Seed, "seed", "seed of the initial centers and of the minibatches")
}

// Tags returns the task.
func (KMeans) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Clustering} }

// Requirements declares that all inputs must be numeric and have no missing values.
func (KMeans) Requirements() []datasets.Requirement { return numbers }

// Cost estimates a fit to rows of a shape.
func (s KMeans) Cost(shape datasets.Shape) datasets.Cost {
	// Passes of each start over the sample and of the best one over all rows, and flops of a row in
	// one, of an entry, and of that for each center. The first centers take a distance of each row
	// to each of some rows.
	const passes, last, row, entry, center, distance = 32, 10, 1500, 115, 1.5, 16
	k, n, starts := float64(s.Clusters), float64(shape.Rows), float64(s.Restarts)
	sample := min(n, float64(kmeans.SampledRows(s.plain(), shape.Cols)))
	most := float64(s.MaxIter)
	read := starts*min(passes, most)*sample + min(last, most)*n
	iterated := (row + (entry+center*k)*shape.Entries()) * read
	first := distance * starts * k * (3 + math.Log2(k)) * sample * shape.Entries()
	return datasets.Cost{Flops: iterated + first,
		Bytes: design.Float64Bytes(6*k*float64(shape.Cols)+2.5*n) + design.Float64Bytes(3*min(n,
			float64(sample))*shape.Entries())}
}

func (s KMeans) plain() kmeans.Spec {
	return kmeans.Spec{Clusters: s.Clusters, Restarts: s.Restarts, Random: s.Init == "random", MaxIter: s.MaxIter,
		Tol: s.Tol, Batch: s.Batch, Seed: s.Seed}
}

// Fit finds the centers; the result is a [*FittedKMeans].
func (s KMeans) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return s.fit(ctx, func() (*design.Rows, error) { return design.FromSet(data) })
}

// FitSource is Fit over a stream, which is read once for the sample and once for each pass.
func (s KMeans) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	return s.fit(ctx, func() (*design.Rows, error) { return design.FromSource(ctx, data) })
}

const kmeansName = "cluster: kmeans"

func (s KMeans) fit(ctx context.Context, open func() (*design.Rows, error)) (estimator.Predictor, error) {
	r, err := openRows(ctx, s, open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmeansName, err)
	}
	m, err := s.plain().Fit(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmeansName, err)
	}
	return s.fitted(m), nil
}

// Start starts the pass that draws the sample; each further pass is a Lloyd iteration. Minibatches
// do not support passes.
func (s KMeans) Start(ctx context.Context, schema datasets.Schema, cols int) (datasets.Pass, error) {
	err := specs.CheckFit(s)
	switch {
	case err != nil:
	case s.Batch > 0:
		err = fmt.Errorf("%w: minibatches come one after the other; set batch: 0", datasets.ErrNoPasses)
	case len(schema.Columns) != 0 && len(schema.Columns) != cols:
		err = fmt.Errorf("the schema names %d columns, the rows have %d", len(schema.Columns), cols)
	default:
		if err = design.AllNumeric(schema); err == nil {
			err = ctxerr.Check(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmeansName, err)
	}
	return pass.Begin(pass.Config{Name: kmeansName, Spec: s, Schema: schema, Cols: cols}, kmeans.NewSums(s.plain(), cols)),
		nil
}

// Finish returns the [*FittedKMeans] of the last pass.
func (s KMeans) Finish(ctx context.Context, last datasets.Pass) (estimator.Predictor, error) {
	sums, _, err := pass.Last(ctx, kmeansName, s, last)
	if err != nil {
		return nil, err
	}
	m, err := sums.(*kmeans.Sums).Model()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmeansName, err)
	}
	return s.fitted(m), nil
}

func (s KMeans) fitted(m *kmeans.Model) *FittedKMeans {
	r := estimator.Report{Solver: "lloyd", Iterations: m.Iterations, Converged: m.Converged, Objective: m.Inertia}
	if s.Batch > 0 {
		r.Solver = "minibatch"
	}
	if !m.Converged {
		r.Warnings = []string{fmt.Sprintf("the centers had not converged after %d passes over the rows; raise max_iter or "+
			"tol", m.Iterations)}
	}
	return &FittedKMeans{centered{m, r}}
}

// FittedKMeans is a fitted [KMeans]: cluster centers. Cluster 0 has the most rows.
type FittedKMeans struct{ centered }

// centered is centers, and how the fit of them went.
type centered struct {
	m      *kmeans.Model
	report estimator.Report
}

// Report returns the report of the fit; its Objective is the inertia of k-means, its Gradient the
// residual of the singular vectors, if any.
func (f *centered) Report() estimator.Report {
	r := f.report
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// assign returns the number of the nearest center for each row of X, which is nil for no rows.
func (f *centered) assign(ctx context.Context, X mat.Matrix) ([]float64, error) {
	if X == nil {
		return []float64{}, nil
	}
	n, _ := X.Dims()
	out := make([]float64, n)
	if err := f.m.Assign(ctx, out, X); err != nil {
		return nil, err
	}
	return out, nil
}

// Predict returns the number of the nearest center for each row of X.
func (f *FittedKMeans) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	X, err := predictRows(ctx, X, f.InputWidth())
	if err != nil {
		return nil, err
	}
	return f.assign(ctx, X)
}

// Centers returns a copy of the centers, clusters × inputs.
func (f *FittedKMeans) Centers() *mat.Dense {
	return mat.NewDense(f.m.Clusters, f.m.Cols, slices.Clone(f.m.Centers))
}

// Inertia returns the weighted sum of the squared distances of the training rows to their centers.
func (f *FittedKMeans) Inertia() float64 { return f.m.Inertia }

// InputWidth returns the number of input columns.
func (f *FittedKMeans) InputWidth() int { return f.m.Cols }

// Tags returns the number of input columns.
func (f *FittedKMeans) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// String describes the model in a line.
func (f *FittedKMeans) String() string {
	return fmt.Sprintf("%d centres of %d inputs, inertia %.6g", f.m.Clusters, f.m.Cols, f.m.Inertia)
}

// State serializes the model.
func (f *FittedKMeans) State(s *model.State) {
	if f.m == nil || s.Restoring() {
		f.m = &kmeans.Model{}
	}
	centersState(s, f.m)
	f.report.State(s.Child("report"))
}

// centersState keeps the centers of a model.
func centersState(s *model.State, m *kmeans.Model) {
	var centers *mat.Dense
	if !s.Restoring() && m.Clusters > 0 {
		centers = mat.NewDense(m.Clusters, m.Cols, m.Centers)
	}
	s.Matrix("centres", &centers)
	s.Floats("mass", &m.Mass)
	s.Float("inertia", &m.Inertia)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if centers == nil {
		s.Fail("there are no centres")
		return
	}
	m.Clusters, m.Cols = centers.Dims()
	m.Centers = design.DenseData(centers)
	for _, v := range m.Centers {
		if v-v != 0 {
			s.Fail("a centre is not finite")
			return
		}
	}
	s.Require(len(m.Mass) == m.Clusters, "the weights of the clusters do not fit the centres")
}
