package experiment

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/result"
)

// waves is a table of two inputs, two targets that they explain but for noise, and a class.
func waves(n int) string {
	rng := rand.New(rand.NewPCG(8, 8))
	var b strings.Builder
	b.WriteString("a,b,y,z,kind\n")
	for range n {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		y := math.Sin(u) + v + 0.3*rng.NormFloat64()
		fmt.Fprintf(&b, "%.4f,%.4f,%.4f,%.4f,%s\n", u, v, y, 10*u+rng.NormFloat64(),
			[]string{"low", "mid|dle", "high"}[min(2, max(0, int(y+1.5+0.4*rng.NormFloat64())))])
	}
	return b.String()
}

const waving = `seed: 5
data: {train: rows.csv, target: y, drop: [z, kind], split: {test: 0.4}}
pipeline:
  - standardize
  - rff: {features: 60, gamma: 0.2}
  - ridge: {alpha: 0.1}
`

// table reads a CSV file into its columns.
func table(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{"": rows[0]}
	for j, name := range rows[0] {
		for _, row := range rows[1:] {
			out[name] = append(out[name], row[j])
		}
	}
	return out
}

func numbersOf(t *testing.T, strs []string) []float64 {
	t.Helper()
	out := make([]float64, len(strs))
	for i, text := range strs {
		var err error
		if out[i], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// checkIntervals compares coverage and width of predictions.csv with those of result.json, and both with the level.
func checkIntervals(t *testing.T, r result.Result, method string) {
	t.Helper()
	got := table(t, "runs/spec/predictions.csv")
	if !slices.Equal(got[""][:5], []string{"row", "truth", "prediction", "lower", "upper"}) {
		t.Fatalf("columns %v", got[""])
	}
	y, lower, upper := numbersOf(t, got["truth"]), numbersOf(t, got["lower"]), numbersOf(t, got["upper"])
	inside, width := 0.0, 0.0
	for i := range y {
		width += (upper[i] - lower[i]) / float64(len(y))
		if lower[i] <= y[i] && y[i] <= upper[i] {
			inside += 1 / float64(len(y))
		}
	}
	i := r.Intervals
	if i == nil || i.Method != method || i.Level != 0.9 || i.Size != nil || math.Abs(*i.Coverage-inside) > 1e-12 ||
		math.Abs(*i.Width-width) > 1e-9 {
		t.Fatalf("%+v, and the file has coverage %v and width %v", i, inside, width)
	}
	if inside < 0.8 || inside > 0.99 || width > 3 {
		t.Errorf("coverage %v, width %v", inside, width)
	}
	text, err := os.ReadFile("runs/spec/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Intervals map[string]any }
	if err := json.Unmarshal(text, &kept); err != nil || kept.Intervals["coverage"] != *i.Coverage ||
		kept.Intervals["width"] != *i.Width || kept.Intervals["level"] != 0.9 || kept.Intervals["method"] != method {
		t.Errorf("result.json has %v, %v", kept.Intervals, err)
	}
}

// Intervals need only their section of the file: for every method, with and without a search, in
// memory and streamed, the columns, the result, the model file, its evaluation and its predictions
// agree; the candidates of a search are unaffected.
func TestIntervalsOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(500))
	plain := execute(t, spec(t, waving+"search: {grid: {ridge.alpha: [0.01, 0.1]}, folds: 3}\n"))
	if plain.Intervals != nil {
		t.Errorf("intervals without asking: %+v", plain.Intervals)
	}
	scores, err := os.ReadFile("runs/spec/cv_results.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ section, more, method string }{
		{"intervals: {}", "", "jackknife_plus"},
		{"intervals: {level: 0.9}", "search: {grid: {ridge.alpha: [0.01, 0.1]}, folds: 3}", "jackknife_plus"},
		{"intervals: {method: split}", "search: {grid: {ridge.alpha: [0.01, 0.1]}, folds: 3}", "split"},
		{"intervals: {method: split}", "search: {grid: {ridge.alpha: [0.01, 0.1]}, folds: 3, strategy: coordinate}", "split"},
		{"intervals: {method: jackknife}",
			"search: {grid: {ridge.alpha: [0.01, 0.1]}, folds: 3, halving: {min_resources: 100}}", "jackknife"},
		{"intervals: {method: jackknife_plus}", "precision: float32", "jackknife_plus"},
	} {
		r := execute(t, spec(t, waving+c.section+"\n"+c.more+"\n"))
		checkIntervals(t, r, c.method)
		if strings.Contains(c.section, "jack") && c.more == "" && !reflect.DeepEqual(r.Test, plain.Test) {
			t.Errorf("%s: other scores %v, without intervals %v", c.section, r.Test, plain.Test)
		}
		if strings.HasSuffix(c.more, "folds: 3}") {
			again, err := os.ReadFile("runs/spec/cv_results.csv")
			if err != nil || len(again) == 0 || firstColumns(string(again)) != firstColumns(string(scores)) {
				t.Errorf("%s: other scores of candidates:\n%s\n%s", c.section, again, scores)
			}
		}
		same(t, c.method)
	}
	streamed := spec(t, waving+"intervals: {}\n", set("data.stream", "always"))
	checkIntervals(t, execute(t, streamed), "jackknife_plus")
	learned := spec(t, strings.ReplaceAll(waving, "rff: {features", "ard: {features: 20, steps: 2}\n  - rff: {features")+
		"intervals: {}\n")
	checkIntervals(t, execute(t, learned), "split") // for ard has seen the targets
	if m, err := Inspect("runs/spec/model.bochner"); err != nil || len(m.Relevance) != 1 || m.Relevance[0].Step != "ard" {
		t.Errorf("relevance behind intervals: %+v, %v", m.Relevance, err)
	}
	if p, err := NewPlan(context.Background(), learned); err != nil || len(p.Steps) != 4 || p.Steps[2].Width != 60 ||
		p.Steps[3].Name != "ridge" {
		t.Errorf("plan of split: %+v, %v", p.Steps, err)
	}
	grouped := spec(t, waving+"intervals: {}\n", set("data.group", "kind"), set("data.drop", "[z]"),
		set("data.split.test", "0"))
	if r := execute(t, grouped); r.Intervals.Method != "split" {
		t.Errorf("%+v of groups", r.Intervals)
	}
}

// Intervals of two quantiles, for each kind of rows: all ways to use a model agree, the coverage holds
// in each group, and the report has the reliability of the quantile.
func TestIntervalsByQuantilesAndGroups(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(900))
	text := strings.ReplaceAll(waving, "ridge: {alpha: 0.1}", "quantile_regression")
	text = strings.ReplaceAll(text, "  - standardize\n",
		"  - columns: [{select: kind, steps: [onehot]}, {select: numeric, steps: [standardize]}]\n")
	r := execute(t, spec(t, text+"intervals: {method: cqr, group: kind}\n", set("data.drop", "[z]")))
	checkIntervals(t, r, "cqr")
	same(t, "cqr")
	if q := r.Quantile; q.Quantile != 0.5 || len(q.Below) < 5 || r.Test["pinball_0.5"] == 0 {
		t.Errorf("%+v, scores %v", q, r.Test)
	}
	got := table(t, "runs/spec/predictions.csv")
	kinds := table(t, "rows.csv")["kind"]
	y, lower, upper := numbersOf(t, got["truth"]), numbersOf(t, got["lower"]), numbersOf(t, got["upper"])
	inside, rows := map[string]float64{}, map[string]float64{}
	for i, at := range numbersOf(t, got["row"]) {
		if rows[kinds[int(at)]]++; lower[i] <= y[i] && y[i] <= upper[i] {
			inside[kinds[int(at)]]++
		}
	}
	for kind, n := range rows {
		if share := inside[kind] / n; share < 0.8 {
			t.Errorf("%s: coverage %v of %v rows", kind, share, n)
		}
	}
}

// TestPooledGroupsAreReported checks that result.json, the page and a warning name the groups that share a
// calibration, for every seed.
func TestPooledGroupsAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := "x,site,y\n"
	for i := range 400 {
		site := []string{"north", "south"}[i%2]
		if i%10 < 8 {
			site = "large"
		}
		rows += fmt.Sprintf("%d,%s,%d\n", i%17, site, i%17+i%5)
	}
	put(t, "rows.csv", rows)
	for seed := range 3 {
		r := execute(t, spec(t, "data: {train: rows.csv, target: y}\npipeline:\n- columns: [{select: site, steps: [onehot]}"+
			", {select: numeric, steps: [standardize]}]\n- ridge\nintervals: {method: split, group: site, calibration: 0.2}\n",
			set("seed", fmt.Sprint(seed)), set("output.dir", fmt.Sprint("seed", seed))))
		want := []string{"north", "south"}
		if got := r.Intervals.Pooled; !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q", seed, got)
		}
		read, err := ReadRun(fmt.Sprint("seed", seed))
		if err != nil || !slices.Equal(read.Intervals.Pooled, want) ||
			!strings.Contains(strings.Join(read.Warnings, "\n"), "in the groups north, south: they share one calibration") {
			t.Errorf("seed %d: %+v, warnings %q, %v", seed, read.Intervals, read.Warnings, err)
		}
		if page := text(t, fmt.Sprintf("seed%d/report.html", seed)); !strings.Contains(page,
			"which share one calibration: north, south.") {
			t.Errorf("seed %d: the page does not name them", seed)
		}
	}
}

// firstColumns are those of the candidates' parameters and scores, without seconds.
func firstColumns(text string) string {
	var out []string
	header := strings.Split(strings.SplitN(text, "\n", 2)[0], ",")
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		for j, cell := range strings.Split(line, ",") {
			if !strings.Contains(header[j], "seconds") {
				out = append(out, cell)
			}
		}
	}
	return strings.Join(out, ",")
}

// same checks that the model file predicts what the run did, with the method.
func same(t *testing.T, method string) {
	t.Helper()
	ctx := context.Background()
	m, err := Inspect("runs/spec/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	if m.Intervals == nil || m.Intervals.Method != method || m.Intervals.Coverage != nil ||
		!strings.Contains(m.Spec, "intervals: {method: "+method+", level: 0.9") {
		t.Errorf("inspect has %+v\n%s", m.Intervals, m.Spec)
	}
	if _, err := (Options{}).PredictFile(ctx, "runs/spec/model.bochner", "rows.csv", "all.csv"); err != nil {
		t.Fatal(err)
	}
	all, tested := table(t, "all.csv"), table(t, "runs/spec/predictions.csv")
	for k, row := range tested["row"] {
		i, _ := strconv.Atoi(row)
		for _, name := range tested[""] {
			if all[name][i] != tested[name][k] {
				t.Fatalf("row %d: %s is %s after loading, was %s", i, name, all[name][i], tested[name][k])
			}
		}
	}
	e, err := Evaluate(ctx, "runs/spec/model.bochner", "rows.csv", Options{})
	if err != nil || e.Intervals == nil || *e.Intervals.Coverage < 0.85 || e.Intervals.Method != method {
		t.Errorf("evaluate: %+v, %v", e.Intervals, err)
	}
}

// Several targets have intervals of their own, in columns of their own.
func TestIntervalsOfSeveralTargets(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(400))
	for _, method := range []string{"jackknife_plus", "split"} {
		r := execute(t, spec(t, waving, set("data.target", "[y, z]"), set("data.drop", "[kind]"),
			set("intervals.method", method)))
		got := table(t, "runs/spec/predictions.csv")
		if want := strings.Split("row,truth_y,prediction_y,lower_y,upper_y,truth_z,prediction_z,lower_z,upper_z",
			","); !slices.Equal(got[""], want) {
			t.Fatalf("columns %v", got[""])
		}
		inside, width := 0.0, 0.0
		for _, name := range []string{"y", "z"} {
			y, lower, upper := numbersOf(t, got["truth_"+name]), numbersOf(t, got["lower_"+name]),
				numbersOf(t, got["upper_"+name])
			for i := range y {
				width += (upper[i] - lower[i]) / float64(2*len(y))
				if lower[i] <= y[i] && y[i] <= upper[i] {
					inside += 1 / float64(2*len(y))
				}
			}
		}
		if math.Abs(*r.Intervals.Coverage-inside) > 1e-12 || math.Abs(*r.Intervals.Width-width) > 1e-9 || inside < 0.82 {
			t.Errorf("%s: %v, %v; the file has %v, %v", method, *r.Intervals.Coverage, *r.Intervals.Width, inside, width)
		}
	}
}

// Classes have sets, whose names are joined by bars.
func TestSetsOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(500))
	for _, model := range []string{"logistic", "ridge_classifier"} {
		text := strings.ReplaceAll(waving, "ridge: {alpha: 0.1}", model)
		r := execute(t, spec(t, text, set("data.target", "kind"), set("data.drop", "[y, z]"), set("intervals.level", "0.95")))
		got := table(t, "runs/spec/predictions.csv")
		if got[""][len(got[""])-1] != "set" {
			t.Fatalf("columns %v", got[""])
		}
		inside, size := 0.0, 0.0
		for i, text := range got["set"] {
			names := strings.Split(strings.ReplaceAll(text, `\|`, "\x00"), "|")
			for k := range names {
				names[k] = strings.ReplaceAll(names[k], "\x00", "|")
			}
			size += float64(len(names)) / float64(len(got["set"]))
			if slices.Contains(names, got["truth"][i]) {
				inside += 1 / float64(len(got["set"]))
			}
			if !slices.Contains(names, got["prediction"][i]) {
				t.Fatalf("row %d: set %q is without the prediction %q", i, text, got["prediction"][i])
			}
		}
		i := r.Intervals
		if i == nil || i.Method != "split" || i.Width != nil || math.Abs(*i.Coverage-inside) > 1e-9 ||
			math.Abs(*i.Size-size) > 1e-9 {
			t.Fatalf("%s: %+v, the file has %v, %v", model, i, inside, size)
		}
		if inside < 0.9 || size <= 1 || size > 2.5 {
			t.Errorf("%s: coverage %v, size %v", model, inside, size)
		}
		e, err := Evaluate(context.Background(), "runs/spec/model.bochner", "rows.csv", Options{})
		if err != nil || e.Intervals == nil || e.Intervals.Size == nil || *e.Intervals.Coverage < 0.9 {
			t.Errorf("evaluate: %+v, %v", e.Intervals, err)
		}
	}
}

// Incompatible settings are reported with positions before any row is learned.
func TestIntervalsFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(60))
	for section, want := range map[string]string{
		"intervals: {level: 1}": "spec.yaml:7:20: intervals.level: must be a number with 0 < it " +
			"< 1, got 1",
		"intervals: {metod: split}":                       "intervals.metod: unknown key (did you mean method?)",
		"intervals: {method: normal}":                     "standard deviations, got ridge",
		"intervals: {normalize: true, method: jackknife}": "intervals",
		"intervals: {method: split}\nprecision: float32":  "remove precision: float32 or use another method",
		"intervals: {method: jackknife, level: 0.99}": "spec.yaml:7:32: intervals.level: level 0.99 takes 99 rows with " +
			"residuals or more, and there are 36",
		"intervals: {level: 0.99}": "spec.yaml:7:13: intervals.level: level 0.99 takes 99 rows",
		"search: {score: coverage}": "search.score: coverage requires intervals; ridge does not " +
			"return them",
		"search: {score: nlpd}": "search.score: nlpd requires standard deviations; ridge does " +
			"not return them",
		"intervals: split": "intervals",
	} {
		_, err := Parse(context.Background(), "spec.yaml", []byte(waving+section+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", section, err, want)
		}
	}
	for _, c := range []struct{ path, value, want string }{
		{"intervals.method", "jackknife_plus", "must be split or auto for classes"},
	} {
		_, err := Parse(context.Background(), "spec.yaml", []byte(strings.ReplaceAll(waving, "ridge: {alpha: 0.1}",
			"logistic")), set("data.target", "kind"), set("data.drop", "[y, z]"), set(c.path, c.value))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.value, err, c.want)
		}
	}
	ends := strings.ReplaceAll(waving, "ridge: {alpha: 0.1}", "intervals: {estimator: ridge}")
	if _, err := Parse(context.Background(), "spec.yaml", []byte(ends+"intervals: {}\n")); err == nil ||
		!strings.Contains(err.Error(), "already ends with intervals") {
		t.Errorf("intervals around intervals: %v", err)
	}
	if _, err := Parse(context.Background(), "spec.yaml", []byte(strings.ReplaceAll(waving, "ridge: {alpha: 0.1}", "svr")),
		set("intervals.method", "jackknife")); err == nil || !strings.Contains(err.Error(), "use split") {
		t.Errorf("jackknife of svr: %v", err)
	}
	if without := spec(t, waving+"intervals: {level: 0.99}\n", set("intervals", "null")); without.Intervals != nil {
		t.Error("intervals that were taken back")
	}
}

// A step with intervals is like any other: a search can tune its model, and score by its intervals.
func TestIntervalsInASearch(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", waves(300))
	text := strings.ReplaceAll(waving, "ridge: {alpha: 0.1}", "intervals: {estimator: ridge}")
	r := execute(t, spec(t, text+
		"search: {grid: {intervals.estimator.alpha: [0.1, 1000]}, folds: 3, score: mean_width}\n"))
	if r.Search.Best.Params["intervals.estimator.alpha"] != 0.1 || r.Search.Best.Mean < 0.5 || r.Search.Best.Mean > 3 {
		t.Errorf("%+v", r.Search.Best)
	}
	if r.Test["mean_width"] != *r.Intervals.Width {
		t.Errorf("width %v of the test rows, intervals have %v", r.Test["mean_width"], *r.Intervals.Width)
	}
	plan, err := NewPlan(context.Background(), spec(t, waving+"intervals: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := NewPlan(context.Background(), spec(t, waving))
	if err != nil || plan.Steps[2].Name != "intervals" {
		t.Errorf("steps %v, %v", plan.Steps, err)
	}
	if alone.Task != string(datasets.Regression) {
		t.Error(alone.Task)
	}
}
