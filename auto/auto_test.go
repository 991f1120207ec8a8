package auto_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
)

// waves returns rows whose target is a smooth function of two of their inputs, with noise.
func waves(n, d int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(2*X.At(i, 0)) + X.At(i, 1)*X.At(i, 1)/2 + 0.1*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

// classes discretizes the target into k classes of about equal size.
func classes(data datasets.Set, k int) datasets.Set {
	y := make([]float64, len(data.Y))
	for i, v := range data.Y {
		y[i] = math.Min(math.Max(math.Floor((v+1)*float64(k)/3), 0), float64(k-1))
	}
	data.Y = y
	names := []string{"a", "b", "c", "d"}[:k]
	data.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: names}}
	return data
}

// counted returns the options of a search over the given number of candidates of a few recipes.
func counted(candidates int) auto.Options {
	o := auto.NewOptions()
	o.Candidates = candidates
	for _, model := range []string{"ridge", "ridge_classifier", "logistic"} {
		for _, features := range []string{"zscores gaussian ", "zscores exponential ", "zscores linear ", "unit gaussian "} {
			o.Recipes = append(o.Recipes, features+model)
		}
	}
	return o
}

func fit(t *testing.T, data datasets.Set, o auto.Options) *auto.Result {
	t.Helper()
	result, err := auto.Fit(context.Background(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// What is chosen predicts rows that the search has not seen far better than the first model does, for a
// quantity and for classes.
func TestFit(t *testing.T) {
	for _, k := range []int{0, 3} {
		train, test := waves(160, 3, 1), waves(300, 3, 2)
		if k > 0 {
			train, test = classes(train, k), classes(test, k)
		}
		result := fit(t, train, counted(50))
		predicted, err := result.Model.Predict(context.Background(), test.X)
		if err != nil {
			t.Fatal(err)
		}
		if got, least := score(test.Y, predicted, k), []float64{2: 0.8, 3: 0.7, 0: 0.8}[k]; got < least {
			t.Errorf("%d classes: score %.3f on new rows, want at least %.2f; chosen %s %s", k, got, least, result.Chosen.Recipe,
				result.Chosen.Parameters())
		}
		if result.Tried > 50 || result.Tried < 30 {
			t.Errorf("%d candidates tried, of 50", result.Tried)
		}
		if result.Rows != 160 || len(result.Rounds) < 2 {
			t.Errorf("learned from %d rows in %d rounds", result.Rows, len(result.Rounds))
		}
	}
}

// score is the share of what is right, or r².
func score(truth, predicted []float64, classes int) float64 {
	right, mean, of, off := 0.0, 0.0, 0.0, 0.0
	for i := range truth {
		mean += truth[i] / float64(len(truth))
		if truth[i] == predicted[i] {
			right++
		}
	}
	if classes > 0 {
		return right / float64(len(truth))
	}
	for i := range truth {
		of += (truth[i] - mean) * (truth[i] - mean)
		off += (truth[i] - predicted[i]) * (truth[i] - predicted[i])
	}
	return 1 - off/of
}

// timeless is a result without what differs from run to run.
func timeless(r *auto.Result) string {
	var b strings.Builder
	board := append(auto.Leaderboard(nil), r.Leaderboard...)
	for i := range board {
		board[i].Seconds = 0
	}
	board.WriteCSV(&b)
	b.WriteString(r.Pipeline.String() + r.StopReason + r.Chosen.Parameters())
	return b.String()
}

// With candidates as the budget the result has the same bits on any number of cores.
func TestCores(t *testing.T) {
	data := waves(100, 3, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := fit(t, data, counted(60))
	runtime.GOMAXPROCS(3)
	three := fit(t, data, counted(60))
	if a, b := timeless(one), timeless(three); a != b {
		t.Errorf("on one core\n%s\non three\n%s", a, b)
	}
	p, _ := one.Model.Predict(context.Background(), data.X)
	q, _ := three.Model.Predict(context.Background(), data.X)
	if !reflect.DeepEqual(p, q) {
		t.Error("the models differ")
	}
	other := counted(60)
	other.Seed = 1
	if timeless(fit(t, data, other)) == timeless(one) {
		t.Error("another seed gives the same")
	}
}

// A search that is stopped anywhere and begun again finds what one that was not stopped finds, and does no
// trial twice.
func TestJournal(t *testing.T) {
	data := classes(waves(90, 3, 1), 2)
	whole := fit(t, data, counted(60))
	o := counted(60)
	o.Journal = filepath.Join(t.TempDir(), "auto.journal")
	trials := map[int]bool{}
	for k := range 2 {
		ctx, cancel := context.WithCancelCause(context.Background())
		o.Progress = func(p gridsearch.Progress) {
			if trials[p.Done] = true; p.Done >= 10*(k+1) {
				cancel(errors.New("enough"))
			}
		}
		if _, err := auto.Fit(ctx, data, o); !errors.Is(err, context.Canceled) || !errors.Is(err, context.Cause(ctx)) {
			t.Fatal(err)
		}
	}
	o.Progress = nil
	again := fit(t, data, o)
	if again.Resumed < 10 {
		t.Errorf("%d candidates taken from the journal", again.Resumed)
	}
	if a, b := timeless(whole), timeless(again); a != b {
		t.Errorf("not stopped\n%s\nstopped\n%s", a, b)
	}
	third := fit(t, data, o)
	if third.Resumed != third.Tried || timeless(third) != timeless(whole) {
		t.Errorf("%d of %d taken from a full journal", third.Resumed, third.Tried)
	}
	o.Seed = 1
	if _, err := auto.Fit(context.Background(), data, o); !errors.Is(err, auto.ErrOtherSearch) {
		t.Errorf("with another seed the journal is taken: %v", err)
	}
}

// A stopped search returns the best model so far.
func TestStop(t *testing.T) {
	data := waves(200, 3, 1)
	for _, after := range []int{1, 20, 40} {
		stop := make(chan struct{})
		o := counted(200)
		o.Stop = stop
		closed := false
		o.Progress = func(p gridsearch.Progress) {
			if p.Done >= after && p.Phase == "search" && p.Settings != "" && !closed {
				closed = true
				close(stop)
			}
		}
		result, err := auto.Fit(context.Background(), data, o)
		if errors.Is(err, auto.ErrNoModel) && after == 1 {
			continue // within the first fit
		}
		if err != nil {
			t.Fatal(err)
		}
		if result.StopReason != "stopped" || result.Tried >= 200 {
			t.Errorf("ended by %s after %d candidates", result.StopReason, result.Tried)
		}
		if _, err := result.Model.Predict(context.Background(), data.X); err != nil {
			t.Error(err)
		}
	}
}

// Of targets that are random nothing is learned: new rows are predicted no better than by chance.
func TestRandomTargets(t *testing.T) {
	train, test := waves(200, 5, 1), waves(1000, 5, 2)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, y := range [][]float64{train.Y, test.Y} {
		for i := range y {
			y[i] = rng.NormFloat64()
		}
	}
	result := fit(t, train, counted(60))
	predicted, err := result.Model.Predict(context.Background(), test.X)
	if err != nil {
		t.Fatal(err)
	}
	if got := score(test.Y, predicted, 0); got > 0.02 || got < -0.25 {
		t.Errorf("r² %.3f on random targets", got)
	}
	if got := result.Chosen.Score; got > 0.05 {
		t.Errorf("r² %.3f over the folds of random targets", got)
	}
}

// Rows of one group are in one fold, and rows in the order of time are tested on what comes later only.
func TestGroups(t *testing.T) {
	data := waves(240, 3, 1)
	rng := rand.New(rand.NewPCG(9, 9))
	data.Groups = make([]int, 240)
	effect := map[int]float64{}
	for i := range data.Y {
		g := i / 8
		if _, ok := effect[g]; !ok {
			effect[g] = rng.NormFloat64()
		}
		data.Groups[i] = g
		data.Y[i] = effect[g]
		data.X.(*mat.Dense).SetRow(i, []float64{float64(g), float64(g * 7 % 30), rng.NormFloat64()})
	}
	if got := fit(t, data, counted(60)).Chosen.Score; got > 0.3 {
		t.Errorf("r² %.2f: rows of a group are in several folds", got)
	}
	data.Groups = nil
	if got := fit(t, data, counted(60)).Chosen.Score; got < 0.5 {
		t.Errorf("r² %.2f without groups: the case tells nothing", got)
	}
	o := counted(30)
	o.TimeOrdered = true
	fit(t, data, o)
}

// Rows of a large weight count more than those of a small one.
func TestWeights(t *testing.T) {
	data := waves(200, 3, 1)
	data.Weights = make([]float64, 200)
	for i := range data.Weights {
		if data.Weights[i] = 1; i%2 == 0 {
			data.Weights[i], data.Y[i] = 0, 1000
		}
	}
	if got := fit(t, data, counted(40)).Chosen.Score; got < 0.5 {
		t.Errorf("r² %.2f: rows of weight 0 count", got)
	}
}

// Invalid options and rows are errors with their reasons.
func TestFaults(t *testing.T) {
	good := waves(60, 2, 1)
	constant := waves(60, 2, 1)
	for i := range constant.Y {
		constant.Y[i] = 3
	}
	tests := []struct {
		name   string
		data   datasets.Set
		change func(o *auto.Options)
		want   []string
	}{
		{"options", good, func(o *auto.Options) {
			o.Candidates, o.Score, o.Recipes = -1, "acuracy", []string{"zscore gaussian ridge"}
		},
			[]string{"candidates", "accuracy", "zscores gaussian ridge"}},
		{"no budget", good, func(o *auto.Options) { o.Candidates, o.Budget = 0, 0 }, []string{"budget"}},
		{"other task", good, func(o *auto.Options) { o.Score = "accuracy" }, []string{"classification"}},
		{"few rows", waves(10, 2, 1), nil, []string{"at least 20 rows", "got 10"}},
		{"no targets", datasets.Set{X: good.X}, nil, []string{"no targets"}},
		{"constant", constant, nil, []string{"the same in every row"}},
		{"recipe of another task", good, func(o *auto.Options) { o.Recipes = []string{"zscores linear logistic"} },
			[]string{"recipes"}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			o := counted(20)
			if c.change != nil {
				c.change(&o)
			}
			_, err := auto.Fit(context.Background(), c.data, o)
			for _, word := range c.want {
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("error %v, want one with %q", err, word)
				}
			}
		})
	}
}

// The pipeline that is chosen, fitted again, is the model.
func TestPipeline(t *testing.T) {
	data := classes(waves(120, 3, 1), 3)
	result := fit(t, data, counted(40))
	model, err := result.Pipeline.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := result.Model.Predict(context.Background(), data.X)
	q, _ := model.Predict(context.Background(), data.X)
	if !reflect.DeepEqual(p, q) {
		t.Error("fitted again it predicts otherwise")
	}
	if pipeline.Find(result.Model) == nil {
		t.Error("the model is no pipeline")
	}
}

// Folds of shuffled rows interpolate in a series, which a warning names; not so where the folds are in
// the order of time, or the rows are in no order.
func TestOrderedRowsAreNamed(t *testing.T) {
	walk := waves(200, 3, 5)
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range walk.Y {
		walk.X.(*mat.Dense).Set(i, 0, float64(i))
		if walk.Y[i] = rng.NormFloat64(); i > 0 {
			walk.Y[i] += walk.Y[i-1]
		}
	}
	for _, c := range []struct {
		name  string
		data  datasets.Set
		timed bool
		want  bool
	}{{"walk", walk, false, true}, {"walk by time", walk, true, false}, {"waves", waves(200, 3, 5), false, false}} {
		o := counted(4)
		o.TimeOrdered = c.timed
		warned := strings.Contains(strings.Join(fit(t, c.data, o).Warnings, "\n"), "interpolate")
		if warned != c.want {
			t.Errorf("%s: a warning is %v, must be %v", c.name, warned, c.want)
		}
	}
}

// Classes of one row each are refused with a way out.
func TestClassesOfOneRow(t *testing.T) {
	data := waves(60, 2, 5)
	var names []string
	for i := range data.Y {
		data.Y[i] = float64(i)
		names = append(names, string(rune('A'+i)))
	}
	data.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: names}}
	o := auto.NewOptions()
	o.Candidates = 4
	if _, err := auto.Fit(context.Background(), data, o); err == nil || !strings.Contains(err.Error(), "take regression") {
		t.Errorf("error %v", err)
	}
}

// With a metric of probabilities, models without them are calibrated; with another metric they are not.
func TestCalibrated(t *testing.T) {
	const calibrated = "zscores exact gaussian calibrated_kernel_ridge_classifier"
	train, test := classes(waves(160, 3, 1), 2), classes(waves(300, 3, 2), 2)
	o := auto.NewOptions()
	o.Candidates, o.Score, o.Recipes = 20, "log_loss", []string{calibrated}
	result := fit(t, train, o)
	found, err := estimator.Predict(context.Background(), result.Model, test.X,
		estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil {
		t.Fatal(err)
	}
	loss := 0.0
	for i, y := range test.Y {
		loss -= math.Log(found.Probabilities.At(i, int(y))) / float64(len(test.Y))
	}
	if result.Chosen.Recipe != calibrated || loss > 0.4 {
		t.Errorf("%s: log loss %.3f on new rows, want at most 0.4", result.Chosen.Recipe, loss)
	}
	o.Score = "accuracy"
	if _, err := auto.Fit(context.Background(), train, o); err == nil || !strings.Contains(err.Error(), "none of the recipes") {
		t.Errorf("a search by accuracy: %v", err)
	}
}

// Exact support vector machines and kernels near a good one are tried from the second round on.
func TestNearKernels(t *testing.T) {
	o := auto.NewOptions()
	o.Candidates = 120
	for _, model := range []string{"kernel_ridge_classifier", "kernel_svm"} {
		o.Recipes = append(o.Recipes, "zscores exact exponential "+model, "zscores exact powered "+model)
	}
	best := map[string]float64{}
	for _, e := range fit(t, classes(waves(160, 3, 1), 2), o).Leaderboard {
		best[e.Recipe] = max(best[e.Recipe], e.Score)
	}
	for _, name := range o.Recipes {
		if best[name] < 0.75 {
			t.Errorf("%s has accuracy %.3f, want at least 0.75", name, best[name])
		}
	}
}

// wide returns normal inputs with a target that depends on a row and on noise of standard deviation 0.1.
func wide(n, p int, target func(x []float64, noise float64) float64) datasets.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := mat.NewDense(n, p, nil), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		y[i] = target(row, 0.1*rng.NormFloat64())
	}
	return datasets.Set{X: x, Y: y}
}

// Of many columns of which two matter, a linear model that selects columns is chosen, in any unit of the target.
func TestWideTableTakesASelectingModel(t *testing.T) {
	data := wide(120, 300, func(x []float64, noise float64) float64 { return 1e5 * (2*x[7] - x[120] + noise) })
	o := auto.NewOptions()
	o.Budget, o.Candidates = 0, 40
	best := fit(t, data, o).Chosen
	if !strings.Contains(best.Recipe, "linear lasso") && !strings.Contains(best.Recipe, "linear elastic_net") ||
		best.Score < 0.95 {
		t.Errorf("chosen %s with %v", best.Recipe, best.Score)
	}
}

// Of 2,000 columns of which two decide the class, a logistic regression that selects columns is chosen.
func TestWideTableOfClassesTakesASelectingModel(t *testing.T) {
	data := wide(200, 2000, func(x []float64, noise float64) float64 {
		if 2*x[7]-x[1200]+noise > 0 {
			return 1
		}
		return 0
	})
	data.Schema.Targets = []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	o := auto.NewOptions()
	o.Budget, o.Candidates = 0, 12
	o.Recipes = []string{"zscores linear ridge_classifier", "zscores linear sparse_logistic"}
	result := fit(t, data, o)
	best := map[string]float64{}
	for _, e := range result.Leaderboard {
		best[e.Recipe] = max(best[e.Recipe], e.Score)
	}
	ridge, sparse := best[o.Recipes[0]], best[o.Recipes[1]]
	if result.Chosen.Recipe != o.Recipes[1] || sparse < 0.9 || ridge > 0.75 {
		t.Errorf("chosen %s; sparse_logistic has %v, ridge_classifier %v", result.Chosen.Recipe, sparse, ridge)
	}
}

// On wide tables, models that select random features are tried after another model did well on their map.
func TestWideTableTriesASelectionOfRandomFeatures(t *testing.T) {
	data := wide(200, 70, func(x []float64, noise float64) float64 {
		return 50 * (2*math.Sin(2*x[7]) - math.Pow(x[60], 2) + noise)
	})
	o := auto.NewOptions()
	o.Budget, o.Candidates = 0, 30
	o.Recipes = []string{"scales gaussian ridge", "scales gaussian lasso"}
	best := map[string]float64{}
	for _, e := range fit(t, data, o).Leaderboard {
		best[e.Recipe] = max(best[e.Recipe], e.Score)
	}
	ridge, lasso := best[o.Recipes[0]], best[o.Recipes[1]]
	if lasso < 0.8 || lasso > ridge+0.1 {
		t.Errorf("lasso has R² %v on the map on which ridge regression has %v", lasso, ridge)
	}
}
