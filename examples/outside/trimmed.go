package outside

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Trimmed fits any model, a pipeline or a search among them, then again without the rows that it is most wrong
// about, and so on: least trimmed squares where the model is least squares. It is for targets some of
// which are grossly wrong. A Share of all weight is left out in each of Rounds fits after the first.
// (Rousseeuw & Van Driessen, "Computing LTS regression for large data sets", DMKD 2006.)
type Trimmed struct {
	Model  estimator.Estimator
	Share  float64
	Rounds int
}

// NewTrimmed returns the spec that leaves a tenth out of an [Expectile].
func NewTrimmed() Trimmed { return Trimmed{Model: NewExpectile(), Share: 0.1, Rounds: 2} }

// Params declares share, rounds, and the parameters of the model, below model.
func (s *Trimmed) Params(l *param.List) {
	l.Float(&s.Share, "share", "share of the rows' weight that is left out", param.Range{High: 0.5, HighOpen: true})
	l.Int(&s.Rounds, "rounds", "fits after the first", param.Between(1, 100))
	l.Child("model", &s.Model)
}

// Cost returns the cost of one fit of the model per round, and of the first.
func (s Trimmed) Cost(shape datasets.Shape) datasets.Cost {
	c, ok := s.Model.(datasets.CostEstimator)
	if !ok {
		return datasets.Cost{}
	}
	cost := c.Cost(shape)
	cost.Flops, cost.Passes = cost.Flops*float64(1+s.Rounds), 0
	return cost
}

func (s Trimmed) check() error {
	if s.Model == nil {
		return errors.New("trimmed: there is no model")
	}
	if err := param.Check(s); err != nil {
		return fmt.Errorf("trimmed: %w", err)
	}
	return nil
}

// Fit fits the model to data, again and again; it returns a [*FittedTrimmed].
func (s Trimmed) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.fit(ctx, data.Source(), func(weights []float64) (estimator.Predictor, error) {
		own := data
		if weights != nil {
			own.Weights = weights
		}
		return s.Model.Fit(ctx, own)
	})
}

// FitSource is Fit over a stream; it stores one weight per row. If the model needs all rows at
// once, they are read into memory.
func (s Trimmed) FitSource(ctx context.Context, data datasets.Source) (estimator.Predictor, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	block, ok := s.Model.(estimator.BlockEstimator)
	if !ok {
		set, err := datasets.ReadAll(ctx, data)
		if err != nil {
			return nil, err
		}
		return s.Fit(ctx, set)
	}
	return s.fit(ctx, data, func(weights []float64) (estimator.Predictor, error) {
		if weights == nil {
			return block.FitSource(ctx, data)
		}
		return block.FitSource(ctx, reweighted{data, weights})
	})
}

func (s Trimmed) fit(ctx context.Context, data datasets.Source,
	fit func(weights []float64) (estimator.Predictor, error)) (estimator.Predictor, error) {
	fitted, err := fit(nil)
	for range s.Rounds {
		if err != nil {
			return nil, fmt.Errorf("trimmed: %w", err)
		}
		weights, losses, failed := look(ctx, fitted, data)
		if failed != nil {
			return nil, fmt.Errorf("trimmed: %w", failed)
		}
		fitted, err = fit(trim(weights, losses, s.Share))
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("trimmed: %w", err)
	}
	return &FittedTrimmed{model: fitted}, nil
}

// look returns the weight of every row, and the loss of the model.
func look(ctx context.Context, fitted estimator.Predictor, data datasets.Source) (weights, losses []float64,
	err error) {
	err = data.Blocks(ctx, func(block datasets.Set) error {
		all, err := estimator.Predict(ctx, fitted, block.X, estimator.Request{})
		if err != nil {
			return err
		}
		for i := range block.Rows() {
			weight := 1.0
			if block.Weights != nil {
				weight = block.Weights[i]
			}
			weights, losses = append(weights, weight), append(losses, loss(all, block, i))
		}
		return ctx.Err()
	})
	return weights, losses, err
}

// loss returns the absolute error, or the difference between the highest score and that of the true
// class.
func loss(all estimator.Prediction, block datasets.Set, i int) float64 {
	switch {
	case all.Scores != nil:
		scores, class := all.Scores.RawRowView(i), int(block.Y[i])
		if len(scores) == 1 {
			return scores[0] * float64(1-2*class)
		}
		most := math.Inf(-1)
		for k, v := range scores {
			if k != class {
				most = max(most, v)
			}
		}
		return most - scores[class]
	case all.Targets != nil && block.Targets != nil:
		sum := 0.0
		for j, v := range all.Targets.RawRowView(i) {
			sum += math.Abs(v - block.Targets.At(i, j))
		}
		return sum
	}
	return math.Abs(all.Values[i] - block.Y[i])
}

// trim returns the weights with a share of all weight taken from the rows of the largest losses, of the last
// one in part.
func trim(weights, losses []float64, share float64) []float64 {
	order, left := make([]int, len(weights)), 0.0
	for i, w := range weights {
		order[i] = i
		left += share * w
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case losses[a] > losses[b]:
			return -1
		case losses[a] < losses[b]:
			return 1
		}
		return 0
	})
	out := slices.Clone(weights)
	for _, i := range order {
		taken := min(left, out[i])
		if out[i], left = out[i]-taken, left-taken; left <= 0 {
			break
		}
	}
	return out
}

// reweighted is a source with other weights.
type reweighted struct {
	datasets.Source
	weights []float64
}

func (r reweighted) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	first := 0
	return r.Source.Blocks(ctx, func(block datasets.Set) error {
		last := first + block.Rows()
		if last > len(r.weights) {
			return fmt.Errorf("trimmed: %d rows when read before, more now", len(r.weights))
		}
		block.Weights = r.weights[first:last]
		first = last
		return yield(block)
	})
}

// FittedTrimmed is a fitted [Trimmed]: the model of the last round, with the outputs of that model.
type FittedTrimmed struct{ model estimator.Predictor }

// Predict returns the predictions of the model.
func (f *FittedTrimmed) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	return f.model.Predict(ctx, X)
}

// Outputs returns the outputs of the model.
func (f *FittedTrimmed) Outputs() estimator.Outputs { return estimator.OutputsOf(f.model) }

// PredictFull returns the outputs of the model.
func (f *FittedTrimmed) PredictFull(ctx context.Context, X mat.Matrix, want estimator.Request) (estimator.Prediction,
	error) {
	return estimator.Predict(ctx, f.model, X, want)
}

// Unwrap returns the model, which takes the same rows.
func (f *FittedTrimmed) Unwrap() (within estimator.Predictor, sameRows bool) { return f.model, true }

// State keeps the model.
func (f *FittedTrimmed) State(s *model.State) { pipeline.KeepPredictor(s.Child("model"), &f.model) }

// ExportModel exports the inner model.
func (f *FittedTrimmed) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	out, err := estimator.Export(g, f.model, rows)
	return out, graph.WithPath("model", err)
}

var (
	_ estimator.BlockEstimator = Trimmed{}
	_ datasets.CostEstimator   = Trimmed{}
	_ estimator.FullPredictor  = (*FittedTrimmed)(nil)
	_ estimator.Wrapper        = (*FittedTrimmed)(nil)
	_ graph.ModelExporter      = (*FittedTrimmed)(nil)
	_ model.Stateful           = (*FittedTrimmed)(nil)
)
