package network

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator/internal/solve"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/spectral"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// After Patience epochs without a relative improvement of the loss by this amount, training
// restores the best weights and continues with this fraction of the rate, at most this number of
// times.
const (
	progress = 1e-3
	fall     = 0.25
	falls    = 3
)

// divergenceRatio is the ratio of the training loss to that of a zero head above which training has
// diverged. If there is no signal, or the penalty is large, training may end slightly above 1.
const divergenceRatio = 1.5

// Fit trains a network. It returns [solve.ErrDiverged] if the loss is NaN or ends far above that of
// a zero head. If no epoch improves on the zero head, it returns a network with a zero head.
func (s Spec) Fit(ctx context.Context, data Data) (*Model, error) {
	t, err := newTraining[float32](ctx, s, data)
	if err != nil {
		return nil, err
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return t.finish(ctx)
}

// training is the state of a training run.
type training[T kern.Float] struct {
	Spec
	data           Data
	rows           *rows[T]
	net            *net[T]
	train, heldOut []int
	order          []int           // train, shuffled for an epoch
	batch, tile    *minibatch[T]   // workspaces of an epoch and of the loss
	total          float64         // Σ r
	moments        *design.Moments // moments of the inputs
	report         Report
}

func newTraining[T kern.Float](ctx context.Context, s Spec, data Data) (*training[T], error) {
	n, d := data.X.Dims()
	t := &training[T]{Spec: s, data: data, total: kern.Sum(data.Weights)}
	t.train, t.heldOut = s.split(data, n)
	t.order = slices.Clone(t.train)
	t.Batch = s.minibatch(len(t.train))
	t.moments = design.NewMoments(d)
	t.moments.Compute(data.X)
	t.rows = newRows[T](data, t.moments.Mean)
	var err error
	if t.net, err = newNet[T](ctx, s, t.moments.Mean, data.Outputs); err != nil {
		return nil, err
	}
	t.batch = newMinibatch(t.net, t.rows, t.Batch)
	t.tile = newMinibatch(t.net, t.rows, min(tileRows, n))
	t.initIntercepts()
	return t, nil
}

// minibatch returns the batch size for n rows. If not specified, it is at most 64, and smaller for
// few rows, so that an epoch has enough steps.
func (s Spec) minibatch(n int) int {
	const maxRows, minRows, steps = 64, 8, 48
	if s.Batch > 0 {
		return min(s.Batch, n)
	}
	return min(maxRows, max(minRows, n/steps), n)
}

// split divides the rows into training and validation rows, stratified by class.
func (s Spec) split(data Data, n int) (train, heldOut []int) {
	stream := spectral.NewStream()
	stream.At(s.Seed, spectral.HeldOut, 0)
	classes := make([][]int, 1)
	for _, i := range stream.Perm(n) {
		c := 0
		if data.Class != nil {
			c = data.Class[i]
		}
		for c >= len(classes) {
			classes = append(classes, nil)
		}
		classes[c] = append(classes[c], i)
	}
	for _, list := range classes {
		k := int(s.HeldOut * float64(len(list)))
		heldOut, train = append(heldOut, list[:k]...), append(train, list[k:]...)
	}
	slices.Sort(train)
	slices.Sort(heldOut)
	return train, heldOut
}

// initIntercepts sets the intercepts of classes such that a zero head predicts the class
// frequencies.
func (t *training[T]) initIntercepts() {
	if t.rows.loss == Squares {
		return
	}
	q := t.rows.q
	classWeights, total := make([]float64, q), 0.0
	for _, i := range t.train {
		for c := range classWeights {
			classWeights[c] += t.data.Weights[i] * t.data.Y[i*q+c]
		}
		total += t.data.Weights[i]
	}
	for c, m := range classWeights {
		switch {
		case t.rows.loss == Logistic:
			t.net.intercept[c] = T(math.Log(m / (total - m)))
		case m > 0:
			t.net.intercept[c] = T(math.Log(m / total * float64(q)))
		default:
			t.net.intercept[c] = design.AbsentIntercept
		}
	}
}

// run trains until validation stops improving, and restores the best weights.
func (t *training[T]) run(ctx context.Context) error {
	start, err := t.criterion(ctx)
	if err != nil {
		return err
	}
	if start-start != 0 {
		return errors.New("the inputs are too large, or gamma is: standardize the inputs")
	}
	bar, err := t.lossOf(ctx, t.train)
	if err != nil {
		return err
	}
	best, bestLoss, mark := slices.Clone(t.net.weights), start, start
	a, rate, since, fallen := newAdam[T](len(best)), t.Rate, 0, 0
	for t.report.Epochs < t.Epochs && !t.report.Plateau {
		t.report.Epochs++
		if err := t.epoch(ctx, a, rate); err != nil {
			return err
		}
		loss, err := t.criterion(ctx)
		switch {
		case err != nil:
			return err
		case loss-loss != 0:
			return fmt.Errorf("%w: the loss is %v in epoch %d; take a smaller learning_rate", solve.ErrDiverged, loss,
				t.report.Epochs)
		case loss < bestLoss:
			bestLoss, t.report.Best = loss, t.report.Epochs
			copy(best, t.net.weights)
		}
		if since++; loss < mark*(1-progress) {
			mark, since = loss, 0
		}
		if since < t.Patience {
			continue
		}
		if t.report.Plateau = fallen == falls; !t.report.Plateau {
			rate, since, fallen, mark = rate*fall, 0, fallen+1, bestLoss
			a = newAdam[T](len(best))
			t.restore(best)
		}
	}
	if t.report.Best > 0 { // otherwise the last weights show whether training diverged
		t.restore(best)
	}
	loss, err := t.lossOf(ctx, t.train)
	if err != nil {
		return err
	}
	if !(loss <= divergenceRatio*bar) {
		return fmt.Errorf("%w: the loss is %.6g in epoch %d, where a head of zeros has %.6g; take a smaller learning_rate",
			solve.ErrDiverged, loss, t.report.Epochs, bar)
	}
	t.restore(best)
	t.report.HeldOut = bestLoss
	t.report.Objective, err = t.objective(ctx)
	return err
}

// restore sets the weights.
func (t *training[T]) restore(weights []T) {
	copy(t.net.weights, weights)
	t.net.refresh()
}

// criterion returns the criterion of early stopping: the mean loss on the validation rows, or the
// objective if there are none.
func (t *training[T]) criterion(ctx context.Context) (float64, error) {
	if len(t.heldOut) > 0 {
		return t.lossOf(ctx, t.heldOut)
	}
	return t.objective(ctx)
}

// epoch makes one pass over the training rows in random order.
func (t *training[T]) epoch(ctx context.Context, a *adam[T], rate float64) error {
	stream := spectral.NewStream()
	stream.At(t.Seed, spectral.Minibatches, t.report.Epochs)
	copy(t.order, t.train)
	stream.Shuffle(len(t.order), func(i, k int) { t.order[i], t.order[k] = t.order[k], t.order[i] })
	n := len(t.order)
	count := (n + t.Batch - 1) / t.Batch
	for k := range count {
		t.batch.take(t.rows, t.order[k*n/count:(k+1)*n/count])
		if err := t.net.forward(ctx, t.batch); err != nil {
			return err
		}
		lossAndGradient(t.batch, t.rows.loss, t.rows.q)
		if err := t.net.backward(ctx, t.batch, t.decay()); err != nil {
			return err
		}
		a.step(t.net, rate)
		t.net.refresh()
	}
	return nil
}

// decay returns the factor of the head in the gradient of the penalty.
func (t *training[T]) decay() T { return T(2 * t.Alpha / t.total) }

// lossOf returns the mean loss of the listed rows.
func (t *training[T]) lossOf(ctx context.Context, list []int) (float64, error) {
	sum, weight := 0.0, 0.0
	for lo := 0; lo < len(list); lo += tileRows {
		t.tile.take(t.rows, list[lo:min(lo+tileRows, len(list))])
		if err := t.net.forward(ctx, t.tile); err != nil {
			return 0, err
		}
		sum += lossAndGradient(t.tile, t.rows.loss, t.rows.q)
		for _, w := range t.tile.weight[:t.tile.rows] {
			weight += float64(w)
		}
	}
	return sum / weight, ctxerr.Check(ctx)
}

// objective returns the training objective, divided by the total weight of the training rows.
func (t *training[T]) objective(ctx context.Context) (float64, error) {
	loss, err := t.lossOf(ctx, t.train)
	for c := range t.net.head.Rows {
		loss += t.Alpha / t.total * float64(kern.Dot(t.net.head.Row(c), t.net.head.Row(c)))
	}
	return loss, err
}

// finish returns the trained model.
func (t *training[T]) finish(ctx context.Context) (*Model, error) {
	m := &Model{Layers: t.net.currentLayers(), Intercept: make([]float64, t.rows.q),
		Head: mat.NewDense(t.rows.q, t.Features, nil), Report: t.report}
	for c, b := range t.net.intercept {
		m.Intercept[c] = float64(b)
		for k, v := range t.net.head.Row(c) {
			m.Head.Set(c, k, float64(v))
		}
	}
	if err := m.Prepare(); err != nil {
		return nil, err
	}
	deviations := make([]float64, len(t.moments.Mean))
	for j := range deviations {
		deviations[j] = t.moments.Deviation(j)
	}
	var err error
	if m.Relevance, err = t.relevance(ctx, m, t.data, deviations); err != nil {
		return nil, err
	}
	return m, ctxerr.Check(ctx)
}
