package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/kernelridge"
	"github.com/bochner-ml/bochner/estimator/internal/kmeans"
	"github.com/bochner-ml/bochner/estimator/internal/singular"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/landmarks"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// Spectral is spectral clustering, which finds connected, not necessarily convex clusters. The
// graph has edge weights z_i'z_j, where z are the features of the preceding step, usually binning.
// With Z the n×D features and d_i = z_i'Σz_j the degree of a row, it computes the Clusters leading
// singular vectors of the rows
//
//	z_i/√d_i
//
// normalizes their rows to length 1 and clusters these by [KMeans]. The n×n graph is never stored.
// Each step of the block Krylov method reads the rows once, twice if there are fewer rows than
// features, and costs about 4·(Clusters + 4) flops per nonzero entry. New rows are projected in the
// same way, z'V/σ normalized to length 1; a row that shares no feature with the training rows is
// assigned to the cluster with the shortest center. A row of weight 2 counts as two rows.
//
// With a Kernel of the caller, which is precomputed (the training rows are a Gram matrix) or one of
// [kernel.Register], the edge weights are its values, and z are its Nyström features with all training rows as
// landmarks, for n³/3 flops and 16n² bytes. For many rows put a nystroem step with that kernel before, and leave
// Kernel at linear.
//
// The inner products of the features must approximate a positive kernel, as those of rff do if they
// are many. Errors: a row without positive degree, a categorical column, a missing or infinite
// value, and features of smaller rank than Clusters. Memory: 8 to 40·(Clusters + 4) vectors of
// min(n, D) numbers, and n × Clusters and D × (Clusters + 5) numbers. Fit ignores targets. (Wu,
// Chen, Yen, Xu, Xia & Aggarwal, KDD 2018; Ng, Jordan & Weiss, NIPS 2001.)
// Use [NewSpectral]: the zero value is invalid.
type Spectral struct {
	Kernel   kernel.Name // linear or "", the inner products of the inputs, or a kernel of the caller
	Clusters int
	Restarts int
	Tol      float64
	MaxIter  int
	Seed     uint64
}

// NewSpectral returns a Spectral of inner products with 8 clusters, the best of 4 starts of k-means, singular vectors
// to 1e-4 and at most 300 steps for them.
func NewSpectral() Spectral {
	return Spectral{Kernel: kernel.Linear, Clusters: 8, Restarts: 4, Tol: 1e-4, MaxIter: 300}
}

// Params declares the hyperparameters.
func (s *Spectral) Params(l *param.List) {
	s.Kernel.Declare(l, "edge weights of the graph; linear: inner products of the inputs",
		string(kernel.Linear), string(kernel.Precomputed))
	l.Unlisted("kernel", "") // of a literal
	l.Int(&s.Clusters, "clusters", "number of clusters", param.Between(1, 1<<20))
	l.MoreUnits("clusters")
	l.Int(&s.Restarts, "restarts", "number of random starts of k-means; the best is kept",
		param.Between(1, 10_000))
	l.Float(&s.Tol, "tol", "tolerance: residual of the singular vectors", param.Positive())
	l.Int(&s.MaxIter, "max_iter", "maximum number of iterations for the singular vectors", param.AtLeast(1))
	l.Seed(&s.Seed, "seed", "seed of the initial vectors and of k-means")
}

// Tags returns the task.
func (Spectral) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Clustering} }

// Requirements declares that all inputs must be numeric and have no missing values.
func (Spectral) Requirements() []datasets.Requirement { return numbers }

// Cost estimates a fit to rows of a shape.
func (s Spectral) Cost(shape datasets.Shape) datasets.Cost {
	// Flops per entry, vector and step, and a typical number of steps; it depends on the separation
	// of the clusters, and doubles for rows without clusters.
	const entry, steps = 80, 70
	n, k := float64(shape.Rows), float64(s.Clusters)
	made, held := 0.0, 0.0 // flops and numbers of the features of a kernel
	if s.Kernel.IsOwn() {
		const value = 250 // flops of a kernel value
		made, held = n*n*n+2*value*n*n, 4*n*n
		shape.Cols, shape.NonZeros = shape.Rows, 0
	}
	flops := entry * steps * n * shape.Entries() * (k + 4)
	means := s.means()
	// about as many passes as groups that hang together take
	means.MaxIter = 20
	divided := means.Cost(datasets.Shape{Rows: shape.Rows, Cols: s.Clusters}) // does not include the rows
	return datasets.Cost{Flops: flops + divided.Flops + made, Bytes: design.Float64Bytes(held +
		singular.WorkspaceFloats(s.Clusters, shape.Rows, shape.Cols) + 3*n*k)}
}

// Fit finds the clusters; the result has the methods Embed and Values.
func (s Spectral) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	return s.wrapped(ctx, func() (*design.Rows, error) { return design.FromSet(data) })
}

// FitSource is Fit over a stream, with one or two passes per step; sparse rows are cached if they
// fit in memory, and all rows of a kernel of the caller are.
func (s Spectral) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if s.Kernel.IsOwn() {
		set, err := datasets.ReadAll(ctx, data)
		if err != nil {
			return nil, fmt.Errorf("cluster: spectral: %w", err)
		}
		return s.Fit(ctx, set)
	}
	return s.wrapped(ctx, func() (*design.Rows, error) { return design.FromSource(ctx, data) })
}

func (s Spectral) wrapped(ctx context.Context, open func() (*design.Rows, error)) (estimator.Predictor, error) {
	f, err := s.fit(ctx, open)
	if err != nil {
		return nil, fmt.Errorf("cluster: spectral: %w", err)
	}
	return f, nil
}

func (s Spectral) fit(ctx context.Context, open func() (*design.Rows, error)) (*fittedSpectral, error) {
	r, err := openRows(ctx, s, open)
	if err != nil {
		return nil, err
	}
	f, features := &fittedSpectral{kernel: string(s.Kernel)}, r
	if s.Kernel.IsOwn() {
		if features, err = f.ownFeatures(ctx, s, *r.Set); err != nil {
			return nil, err
		}
	}
	v, err := singular.Task{Count: s.Clusters, Tol: s.Tol, MaxIter: s.MaxIter, Seed: s.Seed}.Find(ctx, features)
	if err != nil {
		return nil, err
	}
	f.project, f.values = mat.NewDense(v.Cols, v.Count, nil), v.Values
	for c := range v.Count {
		for j := range v.Cols {
			f.project.Set(j, c, v.Vectors[c*v.Cols+j]/math.Sqrt(v.Values[c]))
		}
	}
	if err := s.divide(ctx, f, r); err != nil {
		return nil, err
	}
	f.report = estimator.Report{Solver: "block-krylov", Iterations: v.Iterations, Converged: v.Converged,
		Gradient: v.Residual, Objective: f.m.Inertia}
	if !v.Converged {
		f.report.Warnings = []string{fmt.Sprintf("the residual of the singular vectors is still %.2g after %d steps; "+
			"raise max_iter or tol", v.Residual, v.Iterations)}
	}
	return f, nil
}

// ownFeatures makes the features of a kernel of the caller and returns those of the rows.
func (f *fittedSpectral) ownFeatures(ctx context.Context, s Spectral, set datasets.Set) (*design.Rows, error) {
	own, _, err := kernelridge.NewOwnFeatures(ctx, s.Kernel, set, set.Rows(), s.Seed)
	if err != nil {
		return nil, err
	}
	f.own = own
	Z := mat.NewDense(set.Rows(), own.Width(), nil)
	if err := own.Transform(ctx, Z, design.ToFloat64(design.Native(set.X))); err != nil {
		return nil, err
	}
	return design.FromSet(datasets.Set{X: Z, Weights: set.Weights})
}

// divide finds the centers of the projected rows.
func (s Spectral) divide(ctx context.Context, f *fittedSpectral, r *design.Rows) error {
	var all, weights []float64
	err := r.Each(ctx, func(first int, block datasets.Set) error {
		at := len(all)
		all = append(all, make([]float64, block.Rows()*s.Clusters)...)
		if block.Weights != nil {
			weights = append(weights, block.Weights...)
		}
		return f.embed(ctx, all[at:], block.X)
	})
	if err != nil {
		return err
	}
	n := len(all) / s.Clusters
	if len(weights) != n {
		weights = nil
	}
	rows, err := design.FromSet(datasets.Set{X: mat.NewDense(n, s.Clusters, all), Weights: weights})
	if err != nil {
		return err
	}
	f.m, err = s.means().plain().Fit(ctx, rows)
	return err
}

// means divides the rows in the singular vectors.
func (s Spectral) means() KMeans {
	return KMeans{Clusters: s.Clusters, Restarts: s.Restarts, MaxIter: 300, Tol: 1e-9, Seed: s.Seed}
}

// fittedSpectral is a fitted [Spectral]: a projection and cluster centers in it. Cluster 0 has the
// most rows.
type fittedSpectral struct {
	project *mat.Dense // features × clusters, V/σ
	values  []float64  // eigenvalues of the graph, σ²
	kernel  string
	own     *kernelridge.OwnFeatures // of a kernel of the caller, nil for linear
	centered
}

// embed writes the projection of each row of X, of length 1, to dst, rows × clusters.
func (f *fittedSpectral) embed(ctx context.Context, dst []float64, X mat.Matrix) error {
	step := 1 << 13
	var features []float64 // of a kernel
	n, k := len(dst)/f.width(), f.width()
	if f.own != nil {
		step = 1 << 9
		features = make([]float64, min(n, step)*f.own.Width())
	}
	by := design.View(f.project)
	data := datasets.Set{X: design.Native(X)}
	for lo := 0; lo < n; lo += step {
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		hi := min(lo+step, n)
		out := kern.Dense(hi-lo, k, k, dst[lo*k:])
		err := design.WithFloat64(data.Slice(lo, hi).X, func(part mat.Matrix) error {
			if f.own != nil {
				Z := mat.NewDense(hi-lo, f.own.Width(), features[:(hi-lo)*f.own.Width()])
				if err := f.own.Transform(ctx, Z, part); err != nil {
					return err
				}
				part = Z
			}
			singular.Multiply(out, part, by)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range hi - lo {
			row := out.Row(i)
			if size := math.Sqrt(kern.Dot(row, row)); size > 0 {
				kern.Scale(1/size, row)
			}
		}
	}
	return ctxerr.Check(ctx)
}

// width is the number of singular vectors.
func (f *fittedSpectral) width() int { return f.project.RawMatrix().Cols }

// Embed returns the rows of X in the leading singular vectors, scaled to length 1, rows × clusters.
func (f *fittedSpectral) Embed(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	X, err := predictRows(ctx, X, f.InputWidth())
	if err != nil {
		return nil, err
	}
	if X == nil {
		return &mat.Dense{}, nil
	}
	n, _ := X.Dims()
	out := mat.NewDense(n, f.width(), nil)
	if err := f.embed(ctx, out.RawMatrix().Data, X); err != nil {
		return nil, err
	}
	if !kern.AllFinite(out.RawMatrix().Data) {
		return nil, fmt.Errorf("cluster: %w", estimator.ErrTooLarge)
	}
	return out, nil
}

// Predict returns the number of a cluster for each row of X.
func (f *fittedSpectral) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	embedded, err := f.Embed(ctx, X)
	if err != nil {
		return nil, err
	}
	if embedded.IsEmpty() {
		return []float64{}, nil
	}
	return f.assign(ctx, embedded)
}

// Values returns the leading eigenvalues of the graph. The first is 1; the number of eigenvalues
// near 1 is that of weakly connected components.
func (f *fittedSpectral) Values() []float64 { return slices.Clone(f.values) }

// InputWidth returns the number of input columns.
func (f *fittedSpectral) InputWidth() int {
	if f.own != nil {
		return f.own.Inputs()
	}
	return f.project.RawMatrix().Rows
}

// Tags returns the number of input columns.
func (f *fittedSpectral) Tags() datasets.Tags { return datasets.Tags{InputWidth: f.InputWidth()} }

// String describes the model in a line.
func (f *fittedSpectral) String() string {
	return fmt.Sprintf("%d clusters by the singular vectors of %d features", f.m.Clusters, f.project.RawMatrix().Rows)
}

// State serializes the model.
func (f *fittedSpectral) State(s *model.State) {
	if f.m == nil || s.Restoring() {
		f.m = &kmeans.Model{}
	}
	s.Matrix("project", &f.project)
	if s.Restoring() && s.Has("kernel") || f.own != nil { // files of inner products have none
		f.ownState(s)
	}
	s.Floats("values", &f.values)
	centersState(s.Child("kmeans"), f.m)
	f.report.State(s.Child("report"))
	if !s.Restoring() || s.Err() != nil {
		return
	}
	if f.project == nil {
		s.Fail("there is no projection")
		return
	}
	s.Require(f.m.Cols == f.width() && f.m.Clusters == f.width() && len(f.values) == f.width(),
		"the centres do not fit the projection")
	s.Require(f.own == nil || f.project.RawMatrix().Rows == f.own.Width(), "the landmarks do not fit the projection")
	s.Require(kern.AllFinite(design.DenseData(f.project)), "the projection is not of finite numbers")
}

// ownState serializes the landmarks of a kernel of the caller.
func (f *fittedSpectral) ownState(s *model.State) {
	stored := landmarks.Stored{}
	if !s.Restoring() {
		stored = f.own.Stored()
	}
	s.String("kernel", &f.kernel)
	stored.State(s)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	var err error
	if f.own, err = kernelridge.RestoreOwnFeatures(kernel.Name(f.kernel), stored); err != nil {
		s.Fail("%v", err)
	}
}
