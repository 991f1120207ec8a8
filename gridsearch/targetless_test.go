package gridsearch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
)

// cut divides rows into clusters by equal intervals of the first column. It fails if it gets a
// target.
type cut struct {
	Clusters int
	Kind     string
}

func (s *cut) Params(l *param.List) {
	l.Int(&s.Clusters, "clusters", "parts", param.AtLeast(1))
	l.MoreUnits("clusters")
	l.Choice(&s.Kind, "kind", "task", string(datasets.Clustering), string(datasets.Anomaly))
}

func (s cut) Tags() datasets.Tags { return datasets.Tags{Task: datasets.Task(s.Kind)} }

func (s cut) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	if data.Y != nil || data.Targets != nil || data.Schema.Targets != nil {
		return nil, errors.New("cut: there are targets")
	}
	column := mat.Col(nil, 0, data.X)
	return fittedCut{s, slices.Min(column), slices.Max(column)}, nil
}

type fittedCut struct {
	cut
	low, high float64
}

func (p fittedCut) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	out := mat.Col(nil, 0, X)
	for i, v := range out {
		part := int(float64(p.Clusters) * (v - p.low) / (p.high - p.low))
		out[i] = float64(min(max(part, 0), p.Clusters-1))
	}
	return out, ctx.Err()
}

// fittedRightmost also scores how far to the right of a border a row is; the number of clusters
// moves the border.
type fittedRightmost struct{ fittedCut }

func (fittedRightmost) Outputs() estimator.Outputs {
	return estimator.Outputs{Has: estimator.OutputAnomalyScores}
}

func (p fittedRightmost) PredictFull(ctx context.Context, X mat.Matrix, _ estimator.Request) (out estimator.Prediction,
	err error) {
	out.Values, err = p.Predict(ctx, X)
	out.Anomaly = mat.Col(nil, 0, X)
	for i := range out.Anomaly {
		if out.Anomaly[i] -= p.high / 2; p.Clusters%2 == 1 {
			out.Anomaly[i] = -out.Anomaly[i]
		}
	}
	return out, err
}

// rightmost is a cut that detects anomalies.
type rightmost struct{ cut }

func (s *rightmost) Params(l *param.List) { s.cut.Params(l) }

func (s rightmost) Fit(ctx context.Context, data datasets.Set) (estimator.Predictor, error) {
	fitted, err := s.cut.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return fittedRightmost{fitted.(fittedCut)}, nil
}

// clouds returns two adjacent round clouds with their labels. The second column has another scale.
func clouds(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range n {
		data.Y[i] = float64(i % 2)
		data.X.(*mat.Dense).SetRow(i, []float64{10*data.Y[i] + rng.NormFloat64(), 1000 * rng.NormFloat64()})
	}
	return data
}

func clusterSearch() Search {
	return NewSearch(cut{2, string(datasets.Clustering)}, Axis{Path: "clusters", Values: []any{5, 2, 3}})
}

// Without targets silhouette decides, on columns of one size; with targets adjusted_rand does. No fit sees them.
func TestSearchClusters(t *testing.T) {
	ctx, data := context.Background(), clouds(100)
	for _, c := range []struct {
		score string
		data  datasets.Set
	}{{"silhouette", data.WithoutTargets()}, {"adjusted_rand", data}} {
		r, err := clusterSearch().Run(ctx, c.data)
		if err != nil {
			t.Fatal(err)
		}
		if r.Score != c.score || r.Best().String() != "clusters=2" || r.Positive != "" {
			t.Errorf("best by %s is %s, positive %q", r.Score, r.Best(), r.Positive)
		}
		if len(r.Warnings) > 0 {
			t.Errorf("warnings: %q", r.Warnings) // of two clusters, of which there are no fewer
		}
		for _, c := range r.Candidates {
			if c.Failed != "" || !(c.Mean > 0) {
				t.Errorf("%s: %v %s", c, c.Mean, c.Failed)
			}
		}
	}
}

// Permuted targets change neither the clusters nor the scores that ignore targets.
func TestSearchClustersIgnoresTargets(t *testing.T) {
	data := clouds(100)
	search := clusterSearch()
	search.Score = "silhouette"
	first, err := search.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	data.Y = slices.Clone(data.Y)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(data.Y), func(i, k int) { data.Y[i], data.Y[k] = data.Y[k], data.Y[i] })
	second, err := search.Run(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range first.Candidates {
		if !slices.Equal(c.Folds, second.Candidates[i].Folds) {
			t.Errorf("%s: %v became %v", c, c.Folds, second.Candidates[i].Folds)
		}
	}
}

// The simplest clusters within a standard error are the fewest; along axes and in rounds the same are found.
func TestSearchClustersOtherWays(t *testing.T) {
	data := clouds(100)
	search := clusterSearch()
	search.Score, search.Refit = "silhouette", RefitOneStdError
	search.Scores = []string{"calinski_harabasz"}
	for _, search.Strategy = range []Strategy{nil, NewCoordinate(), NewHalving(20)} {
		r := mustRun(t, search, data)
		if r.Best().String() != "clusters=2" || r.Model == nil {
			t.Errorf("%T: best is %s", search.Strategy, r.Best())
		}
	}
	wide := clusterSearch().complexity()
	few, many := []param.Setting{{Path: "clusters", Value: 2}}, []param.Setting{{Path: "clusters", Value: 5}}
	if wide(Candidate{Settings: few}, Candidate{Settings: many}) >= 0 {
		t.Error("fewer clusters are not simpler")
	}
}

// Scores of anomalies rank the rows, by the second of two classes.
func TestSearchAnomalies(t *testing.T) {
	ctx, data := context.Background(), clouds(60)
	search := NewSearch(rightmost{cut{2, string(datasets.Anomaly)}}, Axis{Path: "clusters", Values: []any{3, 2}})
	search.Splitter = datasets.StratifiedKFold{Folds: 3}
	search.Scores = []string{"average_precision", "f1"}
	r, err := search.Run(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if r.Score != "roc_auc" || r.Best().String() != "clusters=2" || r.Best().Mean != 1 || r.Candidates[0].Mean != 0 ||
		r.Positive != "1" {
		t.Errorf("best by %s is %s with %v, positive %q", r.Score, r.Best(), r.Best().Mean, r.Positive)
	}
	if f1 := r.Best().OtherScores[1]; f1.Mean != 1 {
		t.Errorf("f1 of the predictions is %v", f1.Mean)
	}
}

// TestSearchTargetlessRefusals checks that a search that cannot be scored is rejected before any
// fit, with its requirements.
func TestSearchTargetlessRefusals(t *testing.T) {
	data := clouds(40)
	three := data
	three.Y = slices.Clone(data.Y)
	three.Y[0] = 2
	words := data.WithoutTargets()
	words.Schema.Columns = []datasets.Column{{Name: "a", Kind: datasets.Categorical},
		{Name: "b", Kind: datasets.Categorical}}
	unlike := NewSearch(rightmost{cut{2, string(datasets.Anomaly)}}, Axis{Path: "clusters", Values: []any{2, 3}})
	byTruth, byClass := clusterSearch(), clusterSearch()
	byTruth.Score, byClass.Score = "nmi", "accuracy"
	for _, c := range []struct {
		name   string
		search Search
		data   datasets.Set
		want   string
	}{
		{"anomalies without a truth", unlike, data.WithoutTargets(),
			"score roc_auc requires labels of anomalies, but the data has no targets"},
		{"three kinds of anomalies", unlike, three,
			"anomalies are scored by two classes, of which the second is theirs, and the target has 3"},
		{"clusters without a truth", byTruth, data.WithoutTargets(),
			"normalized_mutual_info requires classes, but the data has no targets; use silhouette"},
		{"a score of classes", byClass, data, "score: accuracy is for classification, the estimator for clustering"},
		{"no numbers", clusterSearch(), words, "silhouette requires numeric columns"},
	} {
		if _, err := c.search.Run(context.Background(), c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
