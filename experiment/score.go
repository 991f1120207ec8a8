package experiment

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/metrics"
)

// judge predicts rows block by block, hands each block's predictions to write where that is not
// nil, and keeps what the metrics need.
func judge(ctx context.Context, model estimator.Predictor, rows datasets.Source, write func(block datasets.Set, p estimator.Prediction) error, done func(rows int)) (verdict, error) {
	n, _ := rows.Dims()
	v := verdict{classes: len(rows.Schema().Classes()), room: max(n, 0)}
	err := rows.Blocks(ctx, func(block datasets.Set) error {
		p, err := estimator.Predict(ctx, model, block.X)
		if err != nil {
			return datasets.FromRow(block.Locate(err, 0), v.rows)
		}
		if write != nil {
			if err := write(block, p); err != nil {
				return err
			}
		}
		v.add(block, p)
		if done != nil {
			done(v.rows)
		}
		return nil
	})
	return v, err
}

// verdict is the truth about rows beside what a model said of them.
type verdict struct {
	rows, classes, room         int
	truth, predicted, weights   []float64
	scores, probabilities       matrixRows
	truthTargets, saidOfTargets matrixRows
}

// matrixRows is the data of a matrix that grows by rows.
type matrixRows struct {
	cols int
	data []float64
}

func (t *matrixRows) add(m *mat.Dense, room int) {
	if m == nil || m.IsEmpty() {
		return
	}
	rows, cols := m.Dims()
	if t.data == nil {
		t.cols, t.data = cols, make([]float64, 0, room*cols)
	}
	for i := range rows {
		t.data = append(t.data, m.RawRowView(i)...)
	}
}

func (t *matrixRows) dense() *mat.Dense {
	if len(t.data) == 0 {
		return nil
	}
	return mat.NewDense(len(t.data)/t.cols, t.cols, t.data)
}

func (v *verdict) add(block datasets.Set, p estimator.Prediction) {
	v.rows += block.Rows()
	if block.Targets != nil {
		v.truthTargets.add(block.Targets, v.room)
		v.saidOfTargets.add(p.Targets, v.room)
	} else {
		v.truth = extend(v.truth, block.Y, v.room)
		v.predicted = extend(v.predicted, p.Values, v.room)
	}
	if block.Weights != nil {
		v.weights = extend(v.weights, block.Weights, v.room)
	}
	v.scores.add(p.Scores, v.room)
	v.probabilities.add(p.Probabilities, v.room)
}

func extend(list, more []float64, room int) []float64 {
	if list == nil {
		list = make([]float64, 0, room)
	}
	return append(list, more...)
}

// score returns the metrics worth reporting for the task, and extra, on the rows judged. A metric
// that has no value on them is left out and told of.
func (v *verdict) score(task metrics.Task, extra ...string) (scores map[string]float64, warnings []string, err error) {
	in := metrics.Input{
		Truth: v.truth, Predicted: v.predicted, Weights: v.weights, Classes: v.classes,
		Scores: v.scores.dense(), Probabilities: v.probabilities.dense(),
		TruthTargets: v.truthTargets.dense(), PredictedTargets: v.saidOfTargets.dense(),
	}
	if task == metrics.Regression {
		in.Scores, in.Probabilities, in.Classes = nil, nil, 0
	}
	list := metrics.ForTask(task, v.classes)
	for _, name := range extra {
		m, err := metrics.ByName(name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(list, func(o metrics.Metric) bool { return o.Name == m.Name }) {
			list = append(list, m)
		}
	}
	scores = map[string]float64{}
	for _, m := range list {
		if !m.Needs.Met(in) {
			continue
		}
		value, err := m.Score(in)
		if errors.Is(err, metrics.ErrUndefined) {
			warnings = append(warnings, err.Error())
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		scores[m.Name] = value
	}
	return scores, warnings, nil
}
