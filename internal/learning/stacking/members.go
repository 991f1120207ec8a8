package stacking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/model"
)

// Rule is a rule by which members are weighted.
type Rule int

// Values of [Rule].
const (
	SumToOne Rule = iota // least squared error with sum 1
	Equal                // equal weights of outputs of equal norm
)

// Fit returns the weights of members by their out-of-fold predictions of the rows of data, without rows that one
// of them does not predict (NaN). Sizes are the scales of their scores, nil if scores are not scaled.
func Fit(ctx context.Context, predictions []model.Prediction, data datasets.Set, classes int, rule Rule) (
	weights, sizes []float64, err error) {
	probable := classes > 0
	for _, p := range predictions {
		probable = probable && p.Probabilities != nil
	}
	t, err := truthOf(data, classes, probable)
	if err != nil {
		return nil, nil, err
	}
	sums, err := t.sums(ctx, predictions, data.Weights)
	if err != nil {
		return nil, nil, err
	}
	if classes > 0 && !probable {
		if sizes = sums.Sizes(); rule == Equal {
			sizes = sums.Norms()
		}
		sums.Scale(sizes)
	}
	if rule == Equal {
		return slices.Repeat([]float64{1 / float64(len(predictions))}, len(predictions)), sizes, nil
	}
	return sums.Weights(), sizes, nil
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
func (t truth) sums(ctx context.Context, predictions []model.Prediction, given []float64) (*Sums, error) {
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
	precisions := Precisions(t.y, t.width, weights)
	sums, a := NewSums(len(pred)), make([]float64, len(pred))
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
func (t truth) lists(predictions []model.Prediction) ([][]float64, error) {
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
