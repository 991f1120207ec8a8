package meta

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/internal/conformal"
	"github.com/bochner-ml/bochner/internal/learning/coverage"
	"github.com/bochner-ml/bochner/internal/runtime/guard"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
)

// Intervals adds an interval that contains the target, or a set of classes, with the probability
// Level. Except for normal, the methods assume only that new rows are exchangeable with those of the
// fit. The coverage is marginal; with Group it holds for the rows of each value of this column.
// Method is one of
//
//	jackknife_plus  from the leave-one-out models: the k-th smallest of f₋ᵢ(x) + |r_i| and the k-th
//	                largest of f₋ᵢ(x) − |r_i|, r_i = y_i − f₋ᵢ(x_i), k = ⌈Level·(n+1)⌉
//	jackknife       f(x) ± the k-th smallest |r_i|; cheaper, without any guarantee
//	split           holds out a share Calibration of the rows: f(x) ± the k-th smallest of their |y − f(x)|
//	cqr             split around two quantiles of the model, of the levels (1∓Level)/2: [lower(x) − q,
//	                upper(x) + q], q the k-th smallest max(lower(x) − y, y − upper(x))
//	normal          mean ± std·√2·erf⁻¹(Level) of a model with standard deviations
//	auto            jackknife_plus for ridge and kernel_ridge if it needs at most 256 MB, else split
//
// With jackknife_plus the coverage is at least 2·Level − 1, and about Level if the model is stable
// under the removal of a row; it trains on all rows. With split the coverage is at least Level, and
// at most 1/(m+1) more for m calibration rows without ties, but the model trains on fewer rows.
// Normalize divides the residuals of split by the model's own standard deviation, so that intervals
// are wide where the model is uncertain.
//
// Conformalized quantile regression, cqr, has the coverage of split, and its widths follow the noise
// at x. It fits a model with a parameter quantile, such as quantile_regression, three times: as it
// is, for the predictions, and with the two quantiles. Predictions at another level use the same
// quantiles and another q. An interval whose ends cross, for a negative q, has width 0.
//
// With Group, each value of the column has its own q, of the calibration rows with this value (Mondrian
// conformal prediction). Values with too few calibration rows for the Level share one q, or use all
// calibration rows if these are too few together. New rows with a missing value, or one without
// calibration rows, use all calibration rows.
//
// The jackknife does not refit the model: its leave-one-out predictions follow from one fit of a linear
// smoother, such as ridge and kernel_ridge. It stores n×d numbers, n×n for kernel_ridge,
// and an interval costs 2nd flops more than the prediction. Preceding steps, and a rule for γ, use
// all rows; if they depend much on the targets, put Intervals around the whole pipeline (split).
//
// Classification uses the least ambiguous sets, always by split: the classes whose probability, or
// score, is at least the k-th lowest of the true classes of the calibration rows, and always the
// most probable one. The sets are not randomized: for m calibration rows, of a group or of all, their mean
// coverage is ⌈Level·(m+1)⌉/(m+1), .9375 for 15 rows at .9. It is at least the share of rows whose
// most probable class is right.
//
// A search over the parameters of the model fits each candidate separately; the section intervals
// of an experiment file applies Intervals to the best candidate only.
//
// The fit uses row weights; ranks count all rows of nonzero weight equally. Rows with groups are
// split by groups; the jackknife does not support them. Each of several targets has its own
// interval of level Level. Too few rows for the Level are an error. Classifiers get
// prediction sets. (Barber, Candès, Ramdas & Tibshirani, Annals
// of Statistics 2021; Lei et al., JASA 2018; Romano, Patterson & Candès, NeurIPS 2019; Vovk,
// Gammerman & Shafer 2005, section 4.5; Sadinle, Lei & Wasserman, JASA 2019.)
// Use [NewIntervals]: the zero value is invalid.
type Intervals struct {
	Method      string
	Level       float64
	Calibration float64
	Normalize   bool
	Group       string // column by whose values split, cqr and sets are calibrated; "" for all rows together
	Seed        uint64
	Estimator   estimator.Estimator
}

// NewIntervals returns the spec of intervals of level 0.9 for the predictions of inner.
func NewIntervals(inner estimator.Estimator) Intervals {
	return Intervals{Method: "auto", Level: coverage.DefaultLevel, Calibration: 0.25, Estimator: specs.ByValue(inner)}
}

// Params declares the method with its numbers, and the parameters of the model, below of.
func (s *Intervals) Params(l *param.List) {
	between := param.Range{Low: 0, High: 1, LowOpen: true, HighOpen: true}
	l.Choice(&s.Method, "method", "method, as in the section intervals; classes require split", coverage.Methods...)
	l.Float(&s.Level, "level", "probability that an interval contains a new target, or a set the class", between)
	l.Float(&s.Calibration, "calibration",
		"share of the rows that split and cqr hold out for calibration", between)
	l.Bool(&s.Normalize, "normalize", "whether split divides residuals by the predicted standard deviation")
	l.String(&s.Group, "group", "input column of groups, which split and cqr calibrate separately")
	l.Seed(&s.Seed, "seed", "seed of the selection of the calibration rows")
	l.Child("estimator", &s.Estimator)
}

// Requirements declares the column of the groups.
func (s Intervals) Requirements() []datasets.Requirement {
	if s.Group == "" {
		return nil
	}
	return []datasets.Requirement{{Column: s.Group, Reason: "calibrates by it"}}
}

func (s Intervals) within() estimator.Estimator { return s.Estimator }

func (s Intervals) named(err error) error { return wrapError("intervals", err) }

// ResolvedMethod returns the method for data of the given shape: that of the spec, or the one
// selected by auto.
func (s Intervals) ResolvedMethod(shape datasets.Shape) string {
	if s.Method != "auto" {
		return s.Method
	}
	smoothing, ok := s.Estimator.(estimator.LinearSmoother)
	if ok && !s.Normalize && s.Group == "" && smootherBytes >= smoothing.SmootherCost(shape).Bytes {
		return "jackknife_plus"
	}
	return "split"
}

// smootherBytes is the memory that auto lets intervals take.
const smootherBytes = 256 << 20

// Cost returns the cost of the model and of the smoother weights of the jackknife.
func (s Intervals) Cost(shape datasets.Shape) datasets.Cost {
	rest, way := shape, s.ResolvedMethod(shape)
	if coverage.Splits(way) && shape.Rows > 0 {
		rest.Rows -= int(s.Calibration * float64(shape.Rows))
	}
	var cost datasets.Cost
	if c, ok := s.Estimator.(datasets.CostEstimator); ok {
		cost = c.Cost(rest)
		cost.Float32 = false // the passes for residuals read float64 rows
	}
	if way == "normal" {
		return cost
	}
	if way == "cqr" {
		cost = cost.Scale(3)
		cost.Passes *= 3
	}
	if _, streamed := s.Estimator.(estimator.BlockEstimator); !coverage.Splits(way) || !streamed {
		cost.Passes = 1
	} else if cost.Passes > 0 {
		cost.Passes += 2
	}
	if smoothing, ok := s.Estimator.(estimator.LinearSmoother); ok && (way == "jackknife" || way == "jackknife_plus") {
		more := smoothing.SmootherCost(shape)
		cost.Flops, cost.Bytes = cost.Flops+more.Flops, max(cost.Bytes, more.Bytes)
	}
	return cost
}

// FitSource is Fit over a stream. If the model can be fitted to streams, normal streams the rows,
// and split and cqr store only targets, weights and groups. Rows are read into memory for other models,
// for the jackknife, and for classes that the schema does not name.
func (s Intervals) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if err := checkModel(s, s.Estimator); err != nil {
		return nil, s.named(err)
	}
	out, err := s.fitSource(ctx, data)
	if errors.Is(err, errNeedsMemory) {
		var set datasets.Set
		if set, err = datasets.ReadAll(ctx, data); err == nil {
			out, err = s.fit(ctx, set)
		}
	}
	return out, s.named(err)
}

func (s Intervals) fitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	streamed, ok := s.Estimator.(estimator.BlockEstimator)
	_, cols := data.Dims()
	switch {
	case ok && s.Method == "normal":
		fitted, err := guard.NotNil(streamed.FitSource(ctx, data))
		if err != nil {
			return nil, err
		}
		return s.normal(fitted, cols)
	case ok && (s.Method == "auto" || coverage.Splits(s.Method)):
		return s.splitSource(ctx, data)
	}
	return nil, errNeedsMemory
}

// Tags returns the task of the inner estimator.
func (s Intervals) Tags() datasets.Tags {
	return datasets.Tags{Task: datasets.TagsOf(s.Estimator).Task}
}

// Fit fits the model and its conformal scores.
func (s Intervals) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	out, err := s.fit(ctx, data)
	return out, s.named(err)
}

func (s Intervals) fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := checkModel(s, s.Estimator); err != nil {
		return nil, err
	}
	if err := data.Check(); err != nil {
		return nil, err
	}
	if s.Method == "auto" && data.Groups != nil {
		s.Method = "split"
	}
	switch s.Method = s.ResolvedMethod(data.Shape()); s.Method {
	case "split", "cqr":
		return s.split(ctx, data)
	case "normal":
		fitted, err := guard.NotNil(s.Estimator.Fit(ctx, data))
		if err != nil {
			return nil, err
		}
		return s.normal(fitted, data.Cols())
	}
	return s.jackknife(ctx, data)
}

// normal returns the model with intervals from its standard deviations.
func (s Intervals) normal(fitted estimator.Predictor, cols int) (estimator.Predictor, error) {
	if s.Group != "" {
		return nil, errGroupMethod(s.Method)
	}
	if !estimator.OutputsOf(fitted).Has.Has(estimator.OutputStd) {
		return nil, errNoStd
	}
	return &fittedIntervals{wrapper: wrapper{cols, fitted}, method: "normal", level: s.Level}, nil
}

func errGroupMethod(method string) error {
	return fmt.Errorf("group goes with split and cqr, and the method is %s", method)
}

var errNoStd = errors.New("the model within does not know its standard deviation, as gaussian_process does")

// jackknife takes the residuals of all models of all rows but one.
func (s Intervals) jackknife(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	smoothing, ok := s.Estimator.(estimator.LinearSmoother)
	switch {
	case !ok:
		return nil, fmt.Errorf("method %s needs a model whose predictions are linear in the targets, ridge or "+
			"kernel_ridge; use split", s.Method)
	case data.Groups != nil:
		return nil, fmt.Errorf("method %s leaves out single rows, and the rows have groups; use split", s.Method)
	case s.Group != "":
		return nil, errGroupMethod(s.Method)
	case s.Normalize:
		return nil, fmt.Errorf("normalize goes with split, and the method is %s", s.Method)
	}
	if _, err := conformal.Rank(positiveWeights(data), s.Level); err != nil {
		return nil, err
	}
	fitted, err := guard.NotNil(s.Estimator.Fit(ctx, data))
	if err != nil {
		return nil, err
	}
	smoother, err := smoothing.SmootherWeights(ctx, data)
	if err != nil {
		return nil, err
	}
	out := &fittedIntervals{wrapper: wrapper{data.Cols(), fitted}, method: s.Method, level: s.Level}
	out.nonconformity = smoother.Residuals()
	if s.Method == "jackknife_plus" {
		out.smoother = smoother
	} else {
		out.nonconformity.Apply(func(_, _ int, r float64) float64 { return math.Abs(r) }, out.nonconformity)
		out.sort()
	}
	return out, nil
}

// CheckRows reports that n rows are too few for the level.
func (s Intervals) CheckRows(rows int) error {
	switch s.ResolvedMethod(datasets.Shape{Rows: rows}) {
	case "normal":
		return nil
	case "split", "cqr":
		others := int(math.Ceil(s.Calibration * float64(rows)))
		if _, err := conformal.Rank(others, s.Level); err != nil {
			return fmt.Errorf("%w: of %d rows split takes a share of %v; raise calibration, or lower level", err, rows,
				s.Calibration)
		}
		return nil
	}
	_, err := conformal.Rank(rows, s.Level)
	return err
}

// positiveWeights counts the rows of nonzero weight.
func positiveWeights(data datasets.Set) int {
	n := data.Rows()
	for _, w := range data.Weights {
		if w == 0 {
			n--
		}
	}
	return n
}
