package modelfile_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// An unsupervised model may name a target that scores it, and round-trips; predictions of named
// rows are numbers, not classes of that target.
func TestTargetlessModels(t *testing.T) {
	data := rings()
	kmeans, oneClass := cluster.NewKMeans(), anomaly.NewOneClass()
	kmeans.Clusters = 2
	for task, spec := range map[datasets.Task]estimator.Estimator{datasets.Clustering: kmeans,
		datasets.Anomaly: oneClass} {
		p, err := pipeline.Steps(transformer.NewStandardize()).Then(spec).Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modelfile.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if m.Task != task || m.Schema.Targets != nil {
			t.Errorf("a model for %q with targets %v, want one for %q without", m.Task, m.Schema.Targets, task)
		}
		m.Schema.Targets = data.Schema.Targets
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := modelfile.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if back.Task != task || !reflect.DeepEqual(back.Schema.Targets, data.Schema.Targets) {
			t.Errorf("%s: read back %q with targets %v", task, back.Task, back.Schema.Targets)
		}
		want, err := estimator.Predict(ctx, p, data.X, estimator.Request{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := estimator.Predict(ctx, back.Predictor, data.X, estimator.Request{})
		if err != nil || !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Anomaly, want.Anomaly) ||
			(task == datasets.Anomaly) != (got.Anomaly != nil) {
			t.Errorf("%s: other predictions after loading (%v)", task, err)
		}
		rows, err := back.PredictRows(ctx, named(data))
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if row.Value != want.Values[i] || row.Class != "" || (row.AnomalyScore != nil) != (task == datasets.Anomaly) ||
				row.AnomalyScore != nil && *row.AnomalyScore != want.Anomaly[i] {
				t.Fatalf("%s: row %d: %+v", task, i, row)
			}
			word := map[bool]string{true: "unusual (", false: "usual ("}[row.Value == 1]
			if text := row.String(); task == datasets.Clustering && text != "0" && text != "1" || task == datasets.Anomaly &&
				!strings.HasPrefix(text, word) {
				t.Fatalf("%s: row %d prints as %s", task, i, text)
			}
		}
		m.Task = datasets.Regression
		if err := m.Write(&b); err == nil || !strings.Contains(err.Error(),
			"the task is regression, the model is for "+string(task)) {
			t.Errorf("%s: written as a regression: %v", task, err)
		}
	}
}
