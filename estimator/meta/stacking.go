package meta

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/learning/stacking"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// stacked contains the weights of members and the scales of their scores; sizes is nil if scores
// are not scaled.
type stacked struct{ weights, sizes []float64 }

// stack finds the weights of least squared error on out-of-fold predictions of the rows of data.
func stack(ctx context.Context, predictions []estimator.Prediction, data datasets.Set, classes int,
	sumToOne bool) (stacked, error) {
	probable := classes > 0
	for _, p := range predictions {
		probable = probable && p.Probabilities != nil
	}
	t, err := truthOf(data, classes, probable)
	if err != nil {
		return stacked{}, err
	}
	sums, err := t.sums(ctx, predictions, data.Weights)
	if err != nil {
		return stacked{}, err
	}
	if classes == 0 || probable {
		return stacked{weights: sums.Weights(sumToOne || probable)}, nil
	}
	sizes := sums.Sizes()
	sums.Scale(sizes)
	return stacked{weights: sums.Weights(sumToOne), sizes: sizes}, nil
}

// truth contains the values that members should predict.
type truth struct {
	y        []float64 // rows × width: targets, codes ±1, or 1 for the class of the row and 0 for others
	width    int
	probable bool
}

// truthOf returns the true values of the rows of data.
func truthOf(data datasets.Set, classes int, probable bool) (t truth, err error) {
	if classes == 0 {
		t.y, t.width, err = design.BlockTargets(0, data)
		return t, err
	}
	names := data.Schema.Classes()
	if len(names) != classes {
		return t, fmt.Errorf("members of %d classes, the rows have %d", classes, len(names))
	}
	l, err := design.BlockLabels(0, data, names)
	if err != nil {
		return t, err
	}
	if !probable {
		return truth{y: l.Signs(make([]float64, len(l.Y)*l.Outputs()), 0), width: l.Outputs()}, nil
	}
	t = truth{y: make([]float64, len(l.Y)*classes), width: classes, probable: true}
	for i, class := range l.Y {
		t.y[i*classes+int(class)] = 1
	}
	return t, nil
}

// sums accumulates the statistics of the rows that all members predict.
func (t truth) sums(ctx context.Context, predictions []estimator.Prediction, given []float64) (*stacking.Sums, error) {
	pred, err := t.lists(predictions)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(t.y)/t.width)
	rows := 0
	for i := range weights {
		if weights[i] = 1; given != nil {
			weights[i] = given[i]
		}
		for _, p := range predictions {
			if math.IsNaN(p.Values[i]) {
				weights[i] = 0
			}
		}
		if weights[i] > 0 {
			rows++
		}
	}
	if rows == 0 {
		return nil, errors.New("no row has out-of-fold predictions of all members")
	}
	precisions := stacking.Precisions(t.y, t.width, weights)
	sums, a := stacking.NewSums(len(pred)), make([]float64, len(pred))
	for i, w := range weights {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		for o := 0; o < t.width && w > 0; o++ {
			for k := range a {
				a[k] = pred[k][i*t.width+o]
			}
			sums.Add(w*precisions[o], a, t.y[i*t.width+o])
		}
	}
	if !sums.Finite() {
		return nil, errors.New("a member predicts numbers that are too large, or none")
	}
	return sums, nil
}

// lists returns the outputs of the members, rows × width each.
func (t truth) lists(predictions []estimator.Prediction) ([][]float64, error) {
	n := len(t.y) / t.width
	lists := make([][]float64, len(predictions))
	for k, p := range predictions {
		list, width := outputs(p, t.probable)
		if len(p.Values) != n {
			return nil, fmt.Errorf("member %d predicts %d rows of %d", k+1, len(p.Values), n)
		}
		if width != t.width || len(list) != n*width {
			return nil, fmt.Errorf("member %[1]d must have %[3]d outputs per row, got %[2]d", k+1, width, t.width)
		}
		lists[k] = list
	}
	return lists, nil
}
