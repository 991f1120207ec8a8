package estimatortest

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

// halves detects rows whose first input exceeds the mean of the training rows of positive weight.
// It violates one invariant, or none.
type halves struct {
	breaks string
	task   datasets.Task
}

func (h halves) Tags() datasets.Tags { return datasets.Tags{Task: h.task} }

func (h halves) Fit(_ context.Context, data datasets.Set) (estimator.Predictor, error) {
	n, at := data.Rows(), 0.0
	for i := range n {
		at += data.X.At(i, 0) / float64(n)
	}
	switch h.breaks {
	case "unsupervised models ignore targets":
		if len(data.Y) > 0 {
			at += 1e-3 * data.Y[0]
		}
	case "unsupervised models are scale invariant":
		at = 1
	}
	if h.task == datasets.Anomaly {
		return halvesScored{halvesFit{h, at}}, nil
	}
	return halvesFit{h, at}, nil
}

type halvesFit struct {
	halves
	at float64
}

func (h halvesFit) Predict(_ context.Context, X mat.Matrix) ([]float64, error) {
	n, _ := X.Dims()
	out := make([]float64, n)
	for i := range out {
		if X.At(i, 0) > h.at {
			out[i] = 1
		}
		if h.breaks == "clusters are numbered, anomalies flagged" {
			out[i]++
		}
	}
	return out, nil
}

// halvesScored adds anomaly scores.
type halvesScored struct{ halvesFit }

func (h halvesScored) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputValues | estimator.OutputAnomalyScores}
}

func (h halvesScored) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	out.Values, err = h.Predict(ctx, X)
	out.Anomaly = make([]float64, len(out.Values))
	for i := range out.Anomaly {
		if out.Anomaly[i] = X.At(i, 0) - h.at; h.breaks == "scores" {
			out.Anomaly[i] = -out.Anomaly[i]
		}
	}
	return out, err
}

// TestUnsupervisedChecks checks that the checks of unsupervised models pass for valid ones and fail
// for broken ones.
func TestUnsupervisedChecks(t *testing.T) {
	names := []string{"unsupervised models ignore targets", "clusters are numbered, anomalies flagged",
		"unsupervised models are scale invariant"}
	for _, task := range []datasets.Task{datasets.Clustering, datasets.Anomaly} {
		for _, name := range names {
			l := invariants[slices.IndexFunc(invariants, func(l invariant) bool { return l.name == name })]
			if n := holds(l, halves{task: task}, Options{}); n.failed || n.skipped {
				t.Errorf("%s, %s: a model that satisfies the invariant fails or is skipped", task, name)
			}
			if n := holds(l, halves{breaks: name, task: task}, Options{}); !n.failed {
				t.Errorf("%s, %s: a model that violates the invariant passes", task, name)
			}
		}
	}
	l := invariants[slices.IndexFunc(invariants, func(l invariant) bool { return l.name == names[1] })]
	if n := holds(l, halves{breaks: "scores", task: datasets.Anomaly}, Options{}); !n.failed {
		t.Error("scores that do not agree with the flags pass")
	}
}
