package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
)

// groups is a CSV of n rows in two clusters, labeled by kind, with permuted kinds if shuffled.
func groups(n int, kinds []string, shuffled bool) string {
	rng := rand.New(rand.NewPCG(1, 2))
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var rows []string
	for i := range n {
		far := float64(i*len(kinds)/n) * 8
		rows = append(rows, fmt.Sprintf("%.3f,%.3f", far+rng.NormFloat64(), -far+rng.NormFloat64()))
	}
	if shuffled {
		rng.Shuffle(n, func(i, k int) { order[i], order[k] = order[k], order[i] })
	}
	text := "a,b,kind\n"
	for i := range n {
		text += rows[i] + "," + kinds[order[i]*len(kinds)/n] + "\n"
	}
	return text
}

// bare is a CSV without its last column.
func bare(text string) string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		out = append(out, line[:strings.LastIndexByte(line, ',')])
	}
	return strings.Join(out, "\n") + "\n"
}

const clustering = "data: {train: rows.csv, target: kind}\npipeline: [standardize, {rff: {gamma: 0.1, features: " +
	"50}}, {kmeans: {clusters: 2}}]\noutput: {dir: out}\n"

// TestClustering checks that a clustering run writes the clusters of the training rows, if there
// are no test rows, and that the model predicts the same, with or without the target.
func TestClustering(t *testing.T) {
	t.Chdir(t.TempDir())
	labeled := groups(120, []string{"left", "right"}, false)
	put(t, "rows.csv", labeled)
	put(t, "bare.csv", bare(labeled))
	r := execute(t, spec(t, clustering))
	if r.Task != "clustering" || r.Positive != "" || !slices.Equal(r.Clusters.Train, []int{60, 60}) ||
		r.Clusters.Test != nil {
		t.Errorf("task %q, positive %q, clusters %v", r.Task, r.Positive, r.Clusters)
	}
	if r.Train["adjusted_rand"] != 1 || r.Train["normalized_mutual_info"] != 1 || !(r.Train["silhouette"] > 0.7) {
		t.Errorf("scores %v", r.Train)
	}
	truth, got := below(t, "out/predictions.csv", 1), below(t, "out/predictions.csv", 2)
	for i := range got {
		if same := got[i] == got[0]; same != (truth[i] == "left") || got[i] != "0" && got[i] != "1" {
			t.Fatalf("row %d of %s is of cluster %s", i, truth[i], got[i])
		}
	}
	for file, scores := range map[string]int{"rows.csv": 5, "bare.csv": 3} {
		e, err := Evaluate(context.Background(), "out/model.bochner", file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Scores) != scores || e.Scores["silhouette"] != r.Train["silhouette"] ||
			!slices.Equal(e.Clusters, []int{60, 60}) || e.Rows != 120 {
			t.Errorf("%s: %+v", file, e)
		}
		if _, err := (Options{}).PredictFile(context.Background(), "out/model.bochner", file, "again.csv"); err != nil {
			t.Fatal(err)
		}
		j := 1
		if file == "rows.csv" {
			j = 2
		}
		if !slices.Equal(below(t, "again.csv", j), got) {
			t.Errorf("%s: the model predicts otherwise than the run", file)
		}
	}
	m, err := Inspect("out/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	if m.Task != "clustering" || !slices.Equal(m.Targets, []string{"kind"}) || m.Positive != "" ||
		m.Metrics["train.silhouette"] != r.Train["silhouette"] {
		t.Errorf("inspected %+v", m)
	}
}

// TestClusteringIgnoresTarget checks that the target affects only its own scores: the clusters are
// bit-identical without a target, with its values permuted, and from a stream.
func TestClusteringIgnoresTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	labeled := groups(150, []string{"left", "right"}, false)
	put(t, "rows.csv", labeled)
	put(t, "bare.csv", bare(labeled))
	put(t, "shuffled.csv", groups(150, []string{"left", "right"}, true))
	want := execute(t, spec(t, clustering))
	clusters := below(t, "out/predictions.csv", 2)
	weights := func() []byte { // of the model
		all := []byte{}
		parts := unpack(t, []byte(text(t, "out/model.bochner")))
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if strings.HasSuffix(name, ".npy") {
				all = append(all, parts[name]...)
			}
		}
		return all
	}
	first := weights()
	for name, c := range map[string]struct {
		overrides []Override
		column    int
	}{
		"another order": {[]Override{set("data.train", "shuffled.csv")}, 2},
		"no target":     {[]Override{set("data.train", "bare.csv"), set("data.target", "[]")}, 1},
		"a stream":      {[]Override{set("data.stream", "always")}, 2},
	} {
		r := execute(t, spec(t, clustering, c.overrides...))
		if !slices.Equal(below(t, "out/predictions.csv", c.column), clusters) {
			t.Errorf("%s: other clusters", name)
		}
		if r.Train["silhouette"] != want.Train["silhouette"] {
			t.Errorf("%s: silhouette %v, want %v", name, r.Train["silhouette"], want.Train["silhouette"])
		}
		if name != "a stream" && !slices.Equal(weights(), first) {
			t.Errorf("%s: the model has other weights", name)
		}
		if truth := r.Train["adjusted_rand"]; name == "another order" && math.Abs(truth) > 0.1 {
			t.Errorf("%s: adjusted_rand %v of clusters and chance", name, truth)
		}
	}
}

// TestClusteringSearch checks that a search without a target maximizes an internal criterion, one
// with a target the agreement with it.
func TestClusteringSearch(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", groups(150, []string{"one", "two", "three"}, false))
	put(t, "bare.csv", bare(groups(150, []string{"one", "two", "three"}, false)))
	const search = "search: {grid: {kmeans.clusters: [2, 3, 5]}, folds: 3}\n"
	for _, c := range []struct {
		score     string
		overrides []Override
	}{{"adjusted_rand", nil}, {"silhouette", []Override{set("data.train", "bare.csv"), set("data.target", "[]")}}} {
		s := spec(t, clustering+search, c.overrides...)
		if _, err := NewPlan(context.Background(), s); err != nil {
			t.Error(err)
		}
		r := execute(t, s)
		if r.Search.Score != c.score || r.Search.Best.Params["kmeans.clusters"] != 3 || len(r.Warnings) > 0 {
			t.Errorf("by %s: %v, warnings %q", r.Search.Score, r.Search.Best, r.Warnings)
		}
	}
}

// TestClusteringTestRows checks that test rows have separate predictions and counts, with 0 for an
// empty cluster.
func TestClusteringTestRows(t *testing.T) {
	t.Chdir(t.TempDir())
	text := groups(100, []string{"left", "right"}, false)
	lines := strings.SplitAfter(text, "\n")
	put(t, "rows.csv", text)
	put(t, "test.csv", lines[0]+strings.Join(lines[1:21], ""))
	r := execute(t, spec(t, clustering, set("data.test", "test.csv")))
	sizes := slices.Sorted(slices.Values(r.Clusters.Test))
	if !slices.Equal(sizes, []int{0, 20}) || len(below(t, "out/predictions.csv", 0)) != 20 {
		t.Errorf("clusters %v", r.Clusters)
	}
	if _, there := r.Test["silhouette"]; there || !slices.ContainsFunc(r.Warnings,
		func(w string) bool { return strings.HasPrefix(w, "test: silhouette: undefined") }) {
		t.Errorf("scores of one cluster: %v, %q", r.Test, r.Warnings)
	}
}

// A constant target is no target.
func TestClusteringOfOneKind(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", groups(40, []string{"same"}, false))
	r := execute(t, spec(t, clustering))
	if _, there := r.Train["adjusted_rand"]; there || !slices.Contains(r.Warnings,
		"the target, kind, is the same in every row: it scores nothing") {
		t.Errorf("scores %v, warnings %q", r.Train, r.Warnings)
	}
}

// Rows without the target are numbered as in the file.
func TestClusteringLeavesRowsOut(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := strings.SplitAfter(groups(40, []string{"left", "right"}, false), "\n")
	lines[3] = strings.Replace(lines[3], "left", "", 1)
	put(t, "rows.csv", strings.Join(lines, ""))
	execute(t, spec(t, clustering, set("data.missing_target", "drop")))
	if got := below(t, "out/predictions.csv", 0); !slices.Equal(got[:4], []string{"0", "1", "3", "4"}) || len(got) != 39 {
		t.Errorf("rows %v", got[:4])
	}
}

// Keys that require a target are reported with positions, before the rows are read.
func TestTargetlessComplaints(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", bare(groups(40, []string{"left", "right"}, false)))
	put(t, "kinds.csv", groups(40, []string{"a", "b", "c"}, false))
	put(t, "words.csv", "a,b\n"+strings.Repeat("x,u\ny,v\n", 20))
	const steps = "\npipeline: [standardize, kmeans]\n"
	for _, c := range []struct{ text, want string }{
		{"data: {train: rows.csv, task: clustering}\npipeline: [standardize, ridge]\n",
			"spec.yaml:2:1: pipeline: ridge predicts numbers, but the task is clustering; use kmeans or spectral"},
		{"data: {train: kinds.csv, task: regression}" + steps,
			"spec.yaml:2:1: pipeline: kmeans finds clusters, but the task is regression; use ridge"},
		{"data: {train: rows.csv}\npipeline: [ard, kmeans]\n",
			"spec.yaml:2:12: pipeline.ard: ard learns from targets, and kmeans, which is for clustering, learns without " +
				"(leave it out)"},
		{"data: {train: rows.csv, target: kind}" + steps,
			`spec.yaml:1:25: data.target: no column "kind" in rows.csv (columns: a, b)`},
		{"data: {train: kinds.csv, target: [a, kind]}" + steps,
			"data.target: must be at most one column for the task clustering, got \"a, kind\""},
		{"data: {train: rows.csv, positive: left}" + steps,
			"spec.yaml:1:25: data.positive: requires a target; no target is named"},
		{"data: {train: rows.csv, split: {test: 0.2, stratify: true}}" + steps,
			"data.split.stratify: stratification requires a target; no target is named"},
		{"data: {train: rows.csv}" + steps + "search: {cv: {kind: stratified}}\n",
			"search.cv.kind: stratification requires a target; no target is named"},
		{"data: {train: rows.csv}" + steps + "search: {score: v_measure}\n",
			"search.score: v_measure requires a target; no target is named"},
		{"data: {train: rows.csv}" + steps + "search: {score: accuracy}\n",
			"search.score: accuracy requires the task classification, got clustering"},
		{"data: {train: kinds.csv, target: kind}\npipeline: [standardize, logistic]\nsearch: {score: silhouette}\n",
			"search.score: silhouette requires the task clustering, got classification"},
		{"data: {train: rows.csv}\npipeline: [one_class]\nsearch: {}\n",
			"spec.yaml:3:1: search: a search for anomalies requires labeled rows; no target is named"},
		{"data: {train: kinds.csv, target: kind}\npipeline: [one_class]\n",
			"data.target: the target of anomaly detection must have known anomalies, got column kind with 3 values, a, b, c " +
				"(list the anomalies in data.positive)"},
		{"data: {train: kinds.csv}\npipeline: [{ensemble: {estimator: kmeans, seeds: 2}}]\n",
			"pipeline: ensemble is made of models that learn from a target, and one of them finds clusters"},
		{"data: {train: words.csv}\npipeline: [onehot, kmeans]\nsearch: {}\n",
			"spec.yaml:3:1: search: silhouette requires numeric columns"},
	} {
		_, err := Parse(context.Background(), "spec.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nsaid %v\nwanted %s", c.text, err, c.want)
		}
	}
}

const anomalies = "data: {train: rows.csv, target: kind, positive: odd}\npipeline: [standardize, {rff: {gamma: 0.5, " +
	"features: 100}}, {one_class: {nu: 0.1}}]\noutput: {dir: out}\n"

// odd is a CSV of n rows around one place, every tenth of which is far from it.
func odd(n int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	text := "a,b,kind\n"
	for i := range n {
		x, y, kind := rng.NormFloat64(), rng.NormFloat64(), "usual"
		if i%10 == 7 {
			x, y, kind = 6+x, 6*math.Cos(float64(i))+y, "odd"
		}
		text += fmt.Sprintf("%.3f,%.3f,%s\n", x, y, kind)
	}
	return text
}

// Anomaly detection writes the score of each row, and evaluates it if labels exist.
func TestAnomaly(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", odd(200))
	put(t, "bare.csv", bare(odd(200)))
	r := execute(t, spec(t, anomalies))
	if r.Task != "anomaly" || r.Positive != "odd" || r.Anomalies.Train == nil ||
		!(*r.Anomalies.Train > 0.02 && *r.Anomalies.Train < 0.2) || r.Clusters.Train != nil {
		t.Errorf("task %q, positive %q, anomalies %+v", r.Task, r.Positive, r.Anomalies)
	}
	if !(r.Train["roc_auc"] > 0.9) || !(r.Train["average_precision"] > 0.5) {
		t.Errorf("scores %v", r.Train)
	}
	head, _, _ := strings.Cut(text(t, "out/predictions.csv"), "\n")
	if head != "row,truth,prediction,anomaly_score" {
		t.Errorf("predictions are %s", head)
	}
	truth, got, scores := below(t, "out/predictions.csv", 1), below(t, "out/predictions.csv", 2),
		below(t, "out/predictions.csv", 3)
	share := 0.0
	for i := range got {
		if score := parsed(t, scores[i]); (got[i] == "1") != (score > 0) || got[i] != "0" && got[i] != "1" ||
			truth[i] != "odd" && truth[i] != "rest" {
			t.Fatalf("row %d of %s: %s, score %s", i, truth[i], got[i], scores[i])
		}
		if got[i] == "1" {
			share += 1 / float64(len(got))
		}
	}
	if math.Abs(share-*r.Anomalies.Train) > 1e-9 {
		t.Errorf("the share of anomalies is %v, the result reports %v", share, *r.Anomalies.Train)
	}
	e, err := Evaluate(context.Background(), "out/model.bochner", "bare.csv", Options{})
	if err != nil || len(e.Scores) != 0 || *e.Anomalies != *r.Anomalies.Train {
		t.Errorf("without a target: %+v, %v", e, err)
	}
	if e, err = Evaluate(context.Background(), "out/model.bochner", "rows.csv", Options{}); err != nil ||
		e.Scores["roc_auc"] != r.Train["roc_auc"] || e.Positive != "odd" {
		t.Errorf("with a target: %+v, %v", e, err)
	}
	if _, err := (Options{}).PredictFile(context.Background(), "out/model.bochner", "bare.csv", "again.csv"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(below(t, "again.csv", 2), scores) {
		t.Error("the model in the file has other scores than the run")
	}
	var written map[string]any
	if err := json.Unmarshal([]byte(text(t, "out/result.json")), &written); err != nil ||
		written["anomalies"].(map[string]any)["train"] != *r.Anomalies.Train {
		t.Errorf("result.json has %v: %v", written["anomalies"], err)
	}
}

// TestAnomalyLearnedFromUsualRows checks that inliers are sufficient for training, with the
// outliers in the test file.
func TestAnomalyLearnedFromUsualRows(t *testing.T) {
	t.Chdir(t.TempDir())
	var usual []string
	for _, line := range strings.Split(odd(200), "\n") {
		if !strings.HasSuffix(line, ",odd") {
			usual = append(usual, line)
		}
	}
	put(t, "rows.csv", strings.Join(usual, "\n"))
	put(t, "test.csv", odd(100))
	r := execute(t, spec(t, anomalies, set("data.test", "test.csv")))
	if !(r.Test["roc_auc"] > 0.95) || r.Anomalies.Test == nil {
		t.Errorf("scores %v, anomalies %+v", r.Test, r.Anomalies)
	}
	if len(r.Train) != 0 || len(r.Warnings) != 0 {
		t.Errorf("usual rows alone have scores %v, warnings %q", r.Train, r.Warnings)
	}
	r = execute(t, spec(t, anomalies, set("data.test", "test.csv"), set("data.positive", "od"), set("output.dir", "typo")))
	if len(r.Test) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0],
		"test: no row is labeled as an anomaly") || !strings.Contains(r.Warnings[0], "data.positive") {
		t.Errorf("anomalies that are nowhere have scores %v, warnings %q", r.Test, r.Warnings)
	}
	unnamed := spec(t, anomalies, set("data.test", "test.csv"), set("output.dir", "unnamed"))
	unnamed.Data.Positive = nil
	if _, err := Run(context.Background(), unnamed, Options{}); err == nil ||
		!strings.Contains(err.Error(), "list the anomalies of the test rows in data.positive") {
		t.Errorf("a class that training rows do not have: %v", err)
	}
}

// TestAnomalySearch searches by labeled anomalies.
func TestAnomalySearch(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", odd(200))
	r := execute(t, spec(t, anomalies+
		"search: {grid: {rff.gamma: [0.01, 0.5], one_class.nu: [0.05, 0.2]}, cv: {folds: 3}}\n"))
	_, err := Parse(context.Background(), "spec.yaml", []byte(anomalies+"search: {cv: {folds: 3}}\n"),
		set("data.positive", "od"))
	if err == nil || !strings.Contains(err.Error(), "search: a search for anomalies requires labeled anomalies") ||
		!strings.Contains(err.Error(), "list the anomalies in data.positive") {
		t.Errorf("a search that knows of no anomaly: %v", err)
	}
	if r.Search.Score != "roc_auc" || !(r.Search.Best.Mean > 0.9) || r.Search.Candidates != 4 {
		t.Errorf("search %+v", r.Search)
	}
}

// TestTargetlessDrafts checks that drafts of unsupervised tasks are complete experiments that run.
func TestTargetlessDrafts(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "bare.csv", bare(groups(60, []string{"left", "right"}, false)))
	put(t, "kinds.csv", groups(60, []string{"left", "right"}, false))
	put(t, "odd.csv", odd(100))
	put(t, "words.csv", "a,b\n"+strings.Repeat("x,1\ny,2\nx,3\n,4\n", 10))
	for _, c := range []struct {
		file string
		o    scaffold.Options
		want []string
	}{
		{"bare.csv", scaffold.Options{Task: "clustering"}, []string{"kmeans.clusters: [2, 3, 4, 5, 6, 8, 10]",
			"score: silhouette"}},
		{"words.csv", scaffold.Options{Task: "clustering"}, []string{"select: categorical", "kmeans"}},
		{"kinds.csv", scaffold.Options{Task: "clustering", Target: "kind"},
			[]string{"target: kind", "kmeans: {clusters: 2}", "score: adjusted_rand"}},
		{"bare.csv", scaffold.Options{Task: "anomaly"}, []string{"one_class", "# No search: without a target"}},
		{"odd.csv", scaffold.Options{Task: "anomaly", Target: "kind"},
			[]string{"positive: odd", "stratify: true", "score: roc_auc"}},
		{"kinds.csv", scaffold.Options{Task: "classification"}, []string{"task: classification", "logistic"}},
		{"bare.csv", scaffold.Options{Task: "regression"}, []string{"target: b", "task: regression"}},
	} {
		c.o.File = "spec.yaml"
		text, err := scaffold.Experiment(context.Background(), c.file, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %s in\n%s", c.file, want, text)
			}
		}
		if c.o.Task == "clustering" || c.o.Task == "anomaly" {
			execute(t, spec(t, string(text)))
		}
	}
	if _, err := scaffold.Experiment(context.Background(), "bare.csv", scaffold.Options{Task: "ranking"}); err == nil ||
		!strings.Contains(err.Error(), "ranking") {
		t.Errorf("an unknown task: %v", err)
	}
}

// auto rejects unsupervised tasks, from options and from a file.
func TestAutoRefusesTargetless(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", groups(40, []string{"left", "right"}, false))
	put(t, "spec.yaml", clustering)
	const want = "auto compares models by what they predict of a target, and clustering has none to predict; bochner " +
		"init --task clustering writes"
	for name, o := range map[string]AutoOptions{"rows.csv": {Minutes: 1, Task: "clustering"}, "spec.yaml": {Minutes: 1}} {
		if _, err := Auto(context.Background(), name, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

// below is column j of a CSV without its name.
func below(t *testing.T, path string, j int) []string {
	t.Helper()
	return column(t, path, j)[1:]
}
