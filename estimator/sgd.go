package estimator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/internal/sgd"
	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// ErrNoPartialFit is wrapped by the error of a spec that does not support incremental learning,
// such as a pipeline whose model does not.
var ErrNoPartialFit = errors.New("does not support incremental learning")

// sgdSpec contains the parameters common to SGDClassifier and SGDRegressor.
type sgdSpec struct {
	everywhere     bool // whether each row takes a step for each output
	name           string
	spec           datasets.CostEstimator
	loss           sgd.Loss
	penalty        string
	alpha, l1Ratio float64
	intercept      bool
	by             ClassWeight
	rate           string
	eta0, powerT   float64
	average        bool
	averageFrom    int
	epochs, batch  int
	tol            float64
	shuffle, stop  bool
	validation     float64
	patience       int
	seed           uint64
}

// stepParams declares how the steps are taken.
func stepParams(l *param.List, penalty *string, alpha, l1Ratio *float64, intercept *bool) {
	l.Choice(penalty, "penalty",
		"l2: half the squared weights; l1: the absolute weights; elasticnet: both", "l2", "l1",
		"elasticnet", "none")
	l.Float(alpha, "alpha", "weight of the penalty relative to the mean loss; the learning rates auto and optimal "+
		"depend on it", param.AtLeast(0))
	l.MorePenalty("alpha")
	l.Float(l1Ratio, "l1_ratio", "share of l1 in elasticnet", param.Between(0, 1))
	l.Bool(intercept, "intercept", "whether to fit an intercept, which is not penalized")
}

// rateParams declares the sizes of the steps.
func rateParams(l *param.List, rate *string, eta0, powerT *float64, average *bool, averageFrom *int) {
	l.Choice(rate, "learning_rate",
		"learning rate of step t. auto: η·(1+alpha·η·t)^−0.75 with η from the first rows; optimal: "+
			"1/(alpha·(t0+t)); invscaling: eta0/t^power_t; constant: eta0; adaptive: eta0, divided by 5 when the loss "+
			"stops decreasing", "auto", "optimal", "invscaling", "constant", "adaptive")
	l.Float(eta0, "eta0", "initial learning rate; with auto, 0 selects it by the first rows", param.AtLeast(0))
	l.Float(powerT, "power_t", "exponent of t in invscaling", param.AtLeast(0))
	l.Bool(average, "average", "whether to average the weights of all steps")
	l.Int(averageFrom, "average_from",
		"first step that is averaged; 0: all steps, with weight t for step t",
		param.AtLeast(0))
	l.Check("eta0", func() error {
		if !slices.Contains([]string{"", "auto", "optimal"}, *rate) && *eta0 == 0 {
			return fmt.Errorf("a number > 0 with learning_rate: %s, such as 0.01", *rate)
		}
		return nil
	})
}

// epochParams declares how rows are read, and when that ends.
func epochParams(l *param.List, epochs, batch *int, tol *float64, shuffle, stop *bool, validation *float64,
	patience *int, seed *uint64) {
	l.Int(epochs, "epochs", "maximum number of passes over the rows", param.AtLeast(1))
	l.Float(tol, "tol", "minimum decrease of the loss per epoch, relative to the loss of zero weights; 0 runs all "+
		"epochs", param.AtLeast(0))
	l.Int(patience, "n_iter_no_change", "number of consecutive epochs without this decrease after "+
		"which the fit ends", param.AtLeast(1))
	l.Int(batch, "batch", "number of rows of a minibatch", param.AtLeast(1))
	l.Bool(shuffle, "shuffle", "whether to shuffle the rows in each epoch; a stream is shuffled within blocks of "+
		"some thousand rows")
	l.Bool(stop, "early_stopping",
		"whether to stop by the loss of held-out rows, with the weights of the best epoch")
	l.Float(validation, "validation_fraction", "share of the rows held out for early stopping, at most some thousand rows",
		param.Range{High: 1, LowOpen: true, HighOpen: true})
	l.Seed(seed, "seed", "seed of the order of the rows and of the held-out rows")
}

// alphaOf declares the parameter alpha.
func alphaOf(l *param.List, rate *string, alpha *float64) {
	l.Check("alpha", func() error {
		if *rate == "optimal" && *alpha == 0 {
			return errors.New("a number > 0 with learning_rate: optimal")
		}
		return nil
	})
}

// plan returns the problem that the steps minimize on rows of this layout.
func (d sgdSpec) plan(r *design.Rows, outputs int) sgd.Plan {
	p := sgd.Plan{Loss: d.loss, Cols: r.Cols, Outputs: outputs, Storage: sgd.StorageOf(r), Alpha: d.alpha, Rate: d.rate,
		Eta0: d.eta0, PowerT: d.powerT,
		Average: d.average, AverageFrom: d.averageFrom, Batch: d.batch, Intercept: d.intercept}
	switch d.penalty {
	case "l2":
		p.L2 = d.alpha
	case "l1":
		p.L1 = d.alpha
	case "elasticnet":
		p.L1, p.L2 = d.alpha*d.l1Ratio, d.alpha*(1-d.l1Ratio)
	}
	return p
}

// fitOf returns the settings of the solver.
func (d sgdSpec) fitOf() sgd.Fit {
	f := sgd.Fit{Epochs: d.epochs, Patience: d.patience, Tol: d.tol, Shuffle: d.shuffle, Seed: d.seed,
		CheckDivergence: true}
	if d.stop {
		f.ValidationShare = d.validation
	}
	return f
}

// wrong adds the name of the estimator to an error.
func (d sgdSpec) wrong(ctx context.Context, err error) error {
	if ended := ctxerr.Check(ctx); ended != nil {
		return ended
	}
	return fmt.Errorf("estimator: %s: %w", d.name, err)
}

// fitSet is Fit.
func (d sgdSpec) fitSet(ctx context.Context, data datasets.Set) (*sgdModel, error) {
	r, err := design.FromSet(data)
	if err != nil {
		return nil, fmt.Errorf("estimator: %s: %w", d.name, err)
	}
	return d.fit(ctx, r)
}

// fitSource is FitSource.
func (d sgdSpec) fitSource(ctx context.Context, data datasets.Source) (*sgdModel, error) {
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, d.wrong(ctx, err)
	}
	return d.fit(ctx, r)
}

func (d sgdSpec) fit(ctx context.Context, r *design.Rows) (*sgdModel, error) {
	err := specs.CheckFit(d.spec)
	if err == nil && !d.loss.Classes {
		err = rejectClassTarget(r.Schema, d.name)
	}
	if err != nil {
		return nil, d.wrong(ctx, err)
	}
	out, err := d.learn(ctx, r, d.fitOf(), newCounts(r.Schema, !d.loss.Classes), nil)
	if err != nil {
		return nil, d.wrong(ctx, err)
	}
	return out, nil
}

// learn runs the epochs, from scratch or, incrementally, from a fitted model.
func (d sgdSpec) learn(ctx context.Context, r *design.Rows, f sgd.Fit, c *counts, from *sgdModel) (*sgdModel,
	error) {
	ahead := r.Set != nil || !c.numbers && (d.by.Balanced || len(c.named) == 0) // counted before the first step
	if ahead {
		n := c.rows
		if err := r.Each(ctx, func(first int, block datasets.Set) error { return c.add(first, block) }); err != nil {
			return nil, err
		}
		r = r.WithRowCount(c.rows - n)
	}
	if err := c.learnable(ahead); err != nil {
		return nil, err
	}
	factors, err := c.clone().factorsOf(d.by, ahead)
	if err != nil {
		return nil, err
	}
	outputs := 1
	if k := len(c.classes()); k > 2 {
		outputs = k
	}
	n := 0
	if r.Set != nil {
		n = r.Set.Rows()
	}
	if err := checkMemory(d.spec, r.Shape(n, outputs)); err != nil {
		return nil, err
	}
	return d.descend(ctx, r, f, c, from, factors, outputs, ahead)
}

// descend takes the steps; it counts the rows in the first epoch if they have not been counted.
func (d sgdSpec) descend(ctx context.Context, r *design.Rows, f sgd.Fit, c *counts, from *sgdModel,
	factors []float64, outputs int, ahead bool) (*sgdModel, error) {
	counting := !ahead
	f.Block = func(first int, block datasets.Set) (y, weights []float64, err error) {
		if counting {
			if err := c.add(first, block); err != nil {
				return nil, nil, err
			}
		}
		if y, _, err = design.BlockTargets(first, block); err != nil {
			return nil, nil, err
		}
		weights, err = design.BlockWeights(first, block)
		if factors == nil || err != nil {
			return y, weights, err
		}
		own := make([]float64, len(y))
		for i, v := range y {
			if own[i] = factors[int(v)]; weights != nil {
				own[i] *= weights[i]
			}
		}
		return y, own, nil
	}
	f.OnEpoch = func(int) { counting = false }
	learner := sgd.New(d.plan(r, outputs))
	if from != nil {
		learner = sgd.Resume(d.plan(r, outputs), from.progress)
	}
	report, err := f.Run(ctx, r, learner)
	if err == nil || errors.Is(err, sgd.ErrNoRows) {
		if wrong := c.learnable(c.rows > 0); wrong != nil {
			err = wrong
		} else if c.rows == 0 {
			err = fmt.Errorf("%w: no rows", datasets.ErrEmpty)
		}
	}
	if err != nil {
		return nil, err
	}
	rows := c.rows
	if from != nil {
		rows += from.rows
	}
	weights, intercept := learner.Model()
	out := &sgdModel{incrementalState: incrementalState{learner.Progress(), c.mass, rows}, classes: c.classes()}
	if outputs > 1 {
		for j, m := range c.mass {
			if m == 0 {
				intercept[j] = design.AbsentIntercept
			}
		}
	}
	out.linear = newLinear(solve.Linear{Weights: weights, Intercept: intercept, Report: report})
	return out, nil
}

// learnable reports unusable rows; known states whether they have been counted.
func (c *counts) learnable(known bool) error {
	if !known {
		return nil
	}
	if kern.Sum(c.mass) == 0 {
		return errors.New("every weight is 0")
	}
	if c.numbers {
		return nil
	}
	return design.CheckClassCount(c.classes(), c.mass)
}

// factorsOf returns the weight factor of each class; without counts it assumes equal ones unless
// they are required.
func (c *counts) factorsOf(by ClassWeight, known bool) ([]float64, error) {
	if c.numbers {
		return nil, nil
	}
	if !known {
		c.rows = 0
	}
	return c.factors(by)
}

// sgdModel is a model fitted by stochastic gradient descent.
type sgdModel struct {
	linear
	incrementalState
	classes []string // of a classification
}

// incrementalState is the state for incremental learning in addition to the model.
type incrementalState struct {
	progress sgd.Progress
	mass     []float64 // weight of each class so far, or of all rows
	rows     int       // so far
}

// tags adds the number of rows learned so far to those of the model.
func (o *incrementalState) tags(of datasets.Tags) datasets.Tags {
	of.RowsLearned = o.rows
	return of
}

// state serializes the state for incremental learning.
func (o *incrementalState) state(s *model.State, l *linear) {
	s.Floats("mass", &o.mass)
	s.Int("rows", &o.rows)
	s.Require(o.rows >= 0, "the number of rows is none")
	if s.Err() != nil || l.coef == nil {
		return
	}
	for _, m := range o.mass {
		s.Require(m >= 0 && m-m == 0, "the weight of a class is no amount")
	}
	k, cols := l.coef.Dims()
	s.Require(len(o.mass) == k || len(o.mass) == 2 && k == 1, "the classes do not fit the coefficients")
	o.progress.State(s.Child("progress"), cols, k)
}

// continued makes one pass over new rows.
func (d sgdSpec) continued(ctx context.Context, from *sgdModel, classes []string, data datasets.Source) (*sgdModel,
	error) {
	r, err := d.openIncremental(ctx, from, classes, data)
	if err != nil {
		return nil, d.wrong(ctx, err)
	}
	f := d.fitOf()
	f.Epochs, f.Tol, f.ValidationShare, f.CheckDivergence = 1, 0, 0, false
	c := &counts{numbers: !d.loss.Classes, named: classes, mass: slices.Clone(from.mass)}
	out, err := d.learn(ctx, r, f, c, from)
	if err != nil {
		return nil, d.wrong(ctx, err)
	}
	return out, nil
}

// openIncremental returns the rows for incremental learning, or an error if the model does not support them.
func (d sgdSpec) openIncremental(ctx context.Context, from *sgdModel, classes []string,
	data datasets.Source) (*design.Rows, error) {
	if err := specs.CheckFit(d.spec); err != nil {
		return nil, err
	}
	if from.coef == nil {
		return nil, errors.New("the previous model is not fitted")
	}
	r, err := design.FromSource(ctx, data)
	if err != nil {
		return nil, err
	}
	if cols := from.coef.RawMatrix().Cols; r.Cols != cols {
		return nil, fmt.Errorf("the model has %d columns, the rows have %d", cols, r.Cols)
	}
	if !d.loss.Classes {
		return r, rejectClassTarget(r.Schema, d.name)
	}
	if now := r.Schema.Classes(); len(now) > 0 && !slices.Equal(now, classes) {
		return nil, fmt.Errorf("the classes are %q, those of the model %q", now, classes)
	}
	return r, nil
}

// cost returns the cost of a fit.
func (d sgdSpec) cost(shape datasets.Shape) datasets.Cost {
	k := float64(max(shape.Outputs, 1))
	window := min(float64(max(shape.Rows, 1)), float64(sgd.WindowRows(shape.Entries(), d.batch))) * shape.Entries()
	numbers := 8*k*float64(shape.Cols) + window + 3*float64(shape.Rows)
	output := float64(outputFlops)
	if d.everywhere {
		output = steppingFlops
	}
	cost := datasets.Cost{Flops: float64(min(d.epochs,
		usualEpochs)) * float64(shape.Rows) * (rowFlops + shape.Entries()*(entryFlops+output*(k-1))),
		Bytes: design.Float64Bytes(numbers), OutputWidth: max(shape.Outputs, 1)}
	if d.epochs == 1 && !d.by.Balanced {
		cost.Passes = 1
	}
	return cost
}

// Measured values: the typical number of epochs before convergence, and the cost per epoch of a row
// and of each of its entries, in flops of a large matrix product.
const (
	usualEpochs   = 30
	rowFlops      = 10_000
	entryFlops    = 45
	outputFlops   = 13 // of an entry for each output but the first,
	steppingFlops = 32 // where each row takes a step for each
)
