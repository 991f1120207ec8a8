package auto

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/learning/searchloop"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
)

// Of many rows one part is held out, and scored in parts: there is one fit for all of them.
func TestHeldOut(t *testing.T) {
	ctx, data, o := context.Background(), noise(heldOutFrom+100, 2), NewOptions()
	o.Recipes = []string{"zscores linear ridge"}
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.divide(data.Rows())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.folds) != 1 || len(d.scores) != heldOutParts {
		t.Fatalf("%d folds, %d scores", len(d.folds), len(d.scores))
	}
	all := slices.Clone(d.folds[0].Train)
	for k := range d.scores {
		all = append(all, d.rows(k)...)
	}
	if slices.Sort(all); !slices.Equal(all, indices(data.Rows())) {
		t.Error("some rows are not in one part each")
	}
	out, err := r.try(ctx, data.Rows(), 0, []point{{penalty: 4}})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := r.pipelineOf(ctx, point{penalty: 4})
	if err != nil {
		t.Fatal(err)
	}
	model, err := spec.Fit(ctx, data.Select(d.folds[0].Train))
	if err != nil {
		t.Fatal(err)
	}
	for k := range d.scores {
		part := data.Select(d.rows(k))
		want, err := model.Predict(ctx, part.X)
		if err != nil {
			t.Fatal(err)
		}
		if score, _ := r.metric.Score(metrics.Input{YTrue: part.Y, YPred: want}); math.Abs(score-out[0].Scores[k]) > 1e-4 {
			t.Errorf("part %d scores %v, not %v", k, out[0].Scores[k], score)
		}
	}
}

// A trial that takes much longer than expected is canceled, its kind of work is recorded as slow,
// and the search continues.
func TestTooLong(t *testing.T) {
	o := NewOptions()
	o.Budget = seconds(0.001)
	r, err := newRun(noise(2000, 3), o)
	if err != nil {
		t.Fatal(err)
	}
	r.pace[anyWork] = pace{1e-9, 1e12}
	before, _ := r.paceOf(kindOf(r.table[0]))
	p := point{recipe: 0, size: 512}
	if out, err := r.try(context.Background(), 2000, 0, []point{p}); err != nil || !math.IsNaN(out[0].mean) ||
		out[0].Failed == "" {
		t.Fatalf("not given up: %+v, %v", out, err)
	}
	if after, _ := r.paceOf(kindOf(r.table[0])); after < 1e3*before {
		t.Errorf("the pace was %g and is %g", before, after)
	}
	if _, found := r.best[0]; found || !r.seen[evaluation{p, 2000}] {
		t.Error("a candidate without a score is the best of its recipe, or will be tried again")
	}
}

// If the trial of the first model takes too long, a cheaper one without a limit takes its place.
func TestFirstModelIsNotGivenUp(t *testing.T) {
	o := NewOptions()
	o.Budget, o.Recipes = time.Microsecond, []string{"zscores exact gaussian kernel_svm"}
	data := noise(2000, 3)
	for i := range data.Y {
		data.Y[i] = float64(i % 2)
	}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	r.pace[anyWork] = pace{1e-9, 1e12}
	if err := r.firstModel(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.log[0].Failed, "given up") || r.incumbent.rows != 250 {
		t.Errorf("the first trial: %q; the model is of %d rows", r.log[0].Failed, r.incumbent.rows)
	}
}

// Targets with a long tail are fitted to their logarithms, or to roots where some are 0.
func TestTail(t *testing.T) {
	for _, c := range []struct {
		of   func(i float64) float64
		want string
	}{
		{func(i float64) float64 { return i }, ""},
		{func(i float64) float64 { return 100 - math.Exp(i/20) }, ""},
		{func(i float64) float64 { return math.Exp(i / 20) }, "log log range sqrt"},
		{func(i float64) float64 { return i * i * i }, "signed_log signed_log range sqrt"},
		{func(i float64) float64 { return math.Exp(i/20) - 2 }, ""},
	} {
		data := noise(100, 2)
		for i := range data.Y {
			data.Y[i] = c.of(float64(i))
		}
		o := NewOptions()
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, transform := range r.transforms {
			if transform != "" {
				got = append(got, transform)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: fitted to %v, want %q", c.of(0), c.of(99), got, c.want)
		}
	}
}

// A last fit with an exact kernel that would take too long ends with the steps that it has made,
// and its spec makes the same model again.
func TestLastFitEndsInTime(t *testing.T) {
	const name = "zscores exact exponential kernel_ridge"
	o := NewOptions()
	o.Budget, o.Recipes = time.Hour, []string{name}
	data := noise(4500, 2) // more than are factorized
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	before := &fitted{}
	r.incumbent = before
	r.began = time.Now().Add(-seconds((overrunFactor - softMargin) * o.Budget.Seconds())) // it is late
	refit := func(penalty int) error {
		_, err := r.fit(context.Background(), single(scored{point: point{penalty: penalty}}), 1, data.Rows(), r.hardDeadline())
		return err
	}
	if err := refit(-8); !errors.Is(err, searchloop.ErrEnded) || r.incumbent != before {
		t.Errorf("a model of one step is kept (%v)", err)
	}
	if err := refit(8); err != nil { // of which one step is nearly all
		t.Fatal(err)
	}
	var report estimator.Reporter
	if !estimator.As(r.incumbent.model, &report) || report.Report().Iterations != 1 || report.Report().Converged {
		t.Fatalf("not ended: %+v", report)
	}
	again, err := r.incumbent.spec.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	want, err1 := again.Predict(context.Background(), data.X)
	got, err2 := r.incumbent.model.Predict(context.Background(), data.X)
	if err1 != nil || err2 != nil || !slices.Equal(got, want) {
		t.Errorf("another model (%v, %v)", err1, err2)
	}
}

// A final fit of a wide map is in float32, but not that of a member of an ensemble, whose documents have no precision.
func TestPrecision(t *testing.T) {
	o := NewOptions()
	o.Candidates, o.Recipes = 10, []string{"zscores gaussian ridge"}
	data := noise(60, 2)
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	one := scored{point: point{size: 2048}}
	if _, err := r.fit(context.Background(), single(one), 1, data.Rows(), 0); err != nil {
		t.Fatal(err)
	}
	if r.incumbent.spec.Precision != pipeline.Float32 {
		t.Error("a wide map alone is not in float32")
	}
	two := ensemble{members: []scored{one, {point: point{size: 2048, gamma: 2}}}, weights: []float64{0.5, 0.5}}
	if _, err := r.fit(context.Background(), two, 1, data.Rows(), 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.incumbent.spec.Estimator.(meta.Ensemble).Members {
		if m.Estimator.(pipeline.Pipeline).Precision == pipeline.Float32 {
			t.Errorf("%s is in float32", m.Name)
		}
	}
}

// Columns are alike where most have the range of the others, and none one that is much larger.
func TestColumnsAlike(t *testing.T) {
	columns := func(change func(j int, x float64) float64) datasets.Set {
		data := noise(200, 20)
		X := data.X.(*mat.Dense)
		for i := range 200 {
			for j := range 20 {
				X.Set(i, j, change(j, float64((i*7+j)%16)))
			}
		}
		return data
	}
	for _, test := range []struct {
		name string
		data datasets.Set
		want bool
	}{
		{"pixels", columns(func(_ int, x float64) float64 { return x }), true},
		{"pixels, some of them dark", columns(func(j int, x float64) float64 { return x * min(1, float64(j)/5) }), true},
		{"one in thousands", columns(func(j int, x float64) float64 {
			if j == 3 {
				return 1000 * x
			}
			return x
		}), false},
		{"all different", columns(func(j int, x float64) float64 { return x * float64(j+1) }), false},
		{"few", noise(200, 5), false},
		{"missing values", columns(func(_ int, x float64) float64 {
			if x == 3 {
				return math.NaN()
			}
			return x
		}), false},
	} {
		r := &run{sample: sample{data: test.data}}
		if got := r.columnsAlike(); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		first := r.orderedRepresentations()[0].name
		if want := map[bool]string{true: "raw", false: "zscores"}[test.want]; first != want {
			t.Errorf("%s: %s come first", test.name, first)
		}
	}
}

// Of candidates that are as good, the one whose predictions are kept is the one that leads, whatever the order.
func TestEquals(t *testing.T) {
	r, err := newRun(noise(100, 2), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	out := []scored{{mean: 0.9}, {mean: 0.9}, {mean: 0.9}}
	for i, penalty := range []int{2, 1, 3} {
		out[i].penalty, out[i].on, out[i].Scores = penalty, 100, []float64{0.9}
	}
	best := r.storedCandidates(out)[0]
	out[best].Output.Values = make([]float64, 100)
	r.updateBest(out)
	if r.leader.Output.Values == nil || len(r.bestOfRecipes()) != 1 {
		t.Errorf("penalty %d leads, and the predictions of %d are kept", r.leader.penalty, out[best].penalty)
	}
}

// Of few rows with classes, the recipes that are hardly worse than the leader go together and count
// the same, whether or not they do better; of more rows only where they do.
func TestEvenEnsemble(t *testing.T) {
	for _, c := range []struct {
		rows    int
		members int
	}{{600, 3}, {maxEqualRows, 0}} {
		data := noise(c.rows, 2)
		for i := range data.Y {
			data.Y[i] = float64(i % 2)
		}
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		r, err := newRun(data, NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		var out []scored
		// the others are wrong where the leader is, and in more rows
		for _, mean := range []float64{0.9, 0.896, 0.894, 0.89} {
			recipe := slices.IndexFunc(r.table, func(k recipe) bool {
				taken := slices.ContainsFunc(out, func(s scored) bool { return r.table[s.recipe].String() == k.String() })
				return k.head.name == "ridge_classifier" && !taken
			})
			s := scored{point: point{recipe: recipe}, on: c.rows, mean: mean, spread: 0.013,
				Outcome: searchloop.Outcome{Scores: []float64{mean}}}
			out = append(out, withOutput(t, r, s, func(i int) float64 {
				output := (2*data.Y[i] - 1) * (1 + float64(recipe))
				if float64(i) >= mean*float64(c.rows) {
					output *= -1
				}
				return output
			}))
		}
		r.updateBest(out)
		found, ok := r.combine(r.competitors())
		if ok != (c.members > 0) || len(found.members) < c.members {
			t.Fatalf("%d rows: %d members, %v", c.rows, len(found.members), ok)
		}
		if !ok {
			continue
		}
		if len(found.members) != c.members {
			t.Errorf("%d members, want %d", len(found.members), c.members)
		}
		for k, m := range found.members {
			first := found.weights[0] * (1 + float64(found.members[0].recipe))
			// up to the scale of the outputs
			if got := found.weights[k] * (1 + float64(m.recipe)); math.Abs(got/first-1) > 0.02 {
				t.Errorf("member %d counts %g, the first %g", k, got, first)
			}
		}
		if math.Abs(found.mean-0.896) > 0.003 {
			t.Errorf("score %g", found.mean)
		}
	}
}

// Of classifiers that are equal up to chance, one with probabilities is taken, and an ensemble of them.
func TestProbabilitiesArePreferred(t *testing.T) {
	for _, c := range []struct {
		mean     float64 // of the candidates with probabilities; the others have 0.9
		probable bool
	}{{0.898, true}, {0.91, true}, {0.85, false}} {
		data := noise(600, 2)
		for i := range data.Y {
			data.Y[i] = float64(i % 2)
		}
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		o := NewOptions()
		o.Candidates = 100
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		var out []scored
		count := map[string]int{}
		for i, k := range r.table {
			if count[k.head.name]++; count[k.head.name] > 2 || k.head.name != "logistic" && k.head.name != "ridge_classifier" {
				continue
			}
			s := scored{point: point{recipe: i}, on: 600, mean: 0.9, spread: 0.013}
			if k.probabilities {
				s.mean = c.mean
			}
			s.Scores = []float64{s.mean}
			s = withOutput(t, r, s, func(i int) float64 {
				output := 0.8 * (2*data.Y[i] - 1)
				if float64(i) >= s.mean*600 {
					output *= -1
				}
				return output
			})
			if k.probabilities {
				n := len(s.Output.Values)
				s.Output.Probabilities = mat.NewDense(n, 2, nil)
				for at := range n {
					v := s.Output.Scores.At(at, 0)
					s.Output.Probabilities.SetRow(at, []float64{0.5 - v/2, 0.5 + v/2})
				}
			}
			out = append(out, s)
		}
		r.updateBest(out)
		found, err := r.choose(context.Background())
		if err != nil || len(found.members) < 2 {
			t.Fatalf("no ensemble: %v", err)
		}
		for _, m := range found.members {
			if r.table[m.recipe].probabilities != c.probable {
				t.Errorf("mean %v: %s is a member", c.mean, r.table[m.recipe])
			}
		}
		if p := r.ranked()[0]; r.table[p.recipe].probabilities != c.probable {
			t.Errorf("mean %v: %s is preferred", c.mean, r.table[p.recipe])
		}
	}
}

// wrongInTurn returns a run of two classes with two ridge classifiers of the given scores. Each has another tenth of the
// rows wrong, by a factor of what is right.
func wrongInTurn(t *testing.T, o Options, s scored, factor float64) (*run, []scored) {
	t.Helper()
	data := noise(s.on, 2)
	for i := range data.Y {
		data.Y[i] = float64(i % 2)
	}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []scored
	for recipe, k := range r.table {
		if k.head.name != "ridge_classifier" || len(out) == 2 {
			continue
		}
		s.recipe = recipe
		out = append(out, withOutput(t, r, s, func(i int) float64 {
			if i/(s.on/10) == len(out) {
				return -factor * (2*data.Y[i] - 1)
			}
			return 2*data.Y[i] - 1
		}))
	}
	r.updateBest(out)
	return r, out
}

// Of many rows, an ensemble of all candidates without probabilities keeps its members while one of candidates with
// probabilities is sought.
func TestMembersWithoutProbabilities(t *testing.T) {
	o := NewOptions()
	o.Budget, o.Candidates = 0, 100
	r, out := wrongInTurn(t, o, scored{point: point{penalty: 4}, on: 4000, mean: 0.9, spread: 0.005,
		Outcome: searchloop.Outcome{Scores: []float64{0.9}}}, 0.5)
	found, err := r.choose(context.Background())
	if err != nil || len(found.members) != 2 {
		t.Fatalf("%d members: %v", len(found.members), err)
	}
	for _, m := range found.members {
		if m.penalty != 4 || m.on != 4000 || m.recipe != out[0].recipe && m.recipe != out[1].recipe {
			t.Errorf("the member %+v is no candidate", m.point)
		}
	}
}

// Members that count the same and are together clearly worse than the leader are not taken, though each
// of them is as good.
func TestWorseEnsemble(t *testing.T) {
	r, _ := wrongInTurn(t, NewOptions(), scored{on: 600, mean: 0.9, spread: 0.013,
		Outcome: searchloop.Outcome{Scores: []float64{0.9}}}, 3)
	if found, ok := r.combine(r.competitors()); ok {
		t.Errorf("an ensemble of score %g beside single ones of 0.9", found.mean)
	}
}

// Of quantities no more than six candidates are members, those that count the most, several of one
// recipe where that helps; they are together better than each.
func TestMembers(t *testing.T) {
	data := noise(400, 2)
	r, err := newRun(data, NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var out []scored
	for k := range 9 {
		s := scored{point: point{recipe: k / 3, gamma: k}, on: 400, mean: 0.8 - 0.001*float64(k), spread: 0.01,
			Outcome: searchloop.Outcome{Scores: []float64{0.8}}}
		out = append(out, withOutput(t, r, s, func(i int) float64 {
			return data.Y[i] + (0.4+0.05*float64(k))*rng.NormFloat64()
		}))
	}
	r.log = out
	r.updateBest(out)
	if got := len(r.bestOfRecipes()); got != 3 {
		t.Errorf("%d recipes", got)
	}
	found, ok := r.combine(r.competitors())
	if !ok || len(found.members) != maxMembers {
		t.Fatalf("%d members, %v", len(found.members), ok)
	}
	sum := 0.0
	for k, m := range found.members {
		if sum += found.weights[k]; m.gamma >= 8 {
			t.Errorf("candidate %d is a member", m.gamma)
		}
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Errorf("weights sum to %g", sum)
	}
	d, err := r.divide(400)
	if err != nil {
		t.Fatal(err)
	}
	_, folds, err := r.crossValidate(d, out[:1])
	if alone, _ := meanAndSpread(folds, 1); err != nil || found.mean <= alone {
		t.Errorf("score %g of all, %g of the best: %v", found.mean, alone, err)
	}
}

// withOutput returns a candidate with an output for each test row of its folds.
func withOutput(t *testing.T, r *run, s scored, of func(row int) float64) scored {
	t.Helper()
	d, err := r.divide(s.on)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.folds {
		for _, i := range f.Test {
			s.Output.Values = append(s.Output.Values, of(i))
		}
	}
	if r.classes > 0 {
		s.Output.Scores = mat.NewDense(len(s.Output.Values), 1, slices.Clone(s.Output.Values))
	}
	return s
}

// The score of members that are one candidate has the folds of that candidate, whatever the folds and
// the outputs.
func TestScoreOfMembersIsThatOfCandidates(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   int
		model  string
		change func(data *datasets.Set, o *Options)
	}{
		{"repeated", 150, "zscores linear ridge", nil},
		{"groups", 150, "zscores linear ridge", func(data *datasets.Set, _ *Options) {
			for i := range data.Y {
				data.Groups = append(data.Groups, i/5)
			}
		}},
		{"time", 150, "zscores linear ridge", func(_ *datasets.Set, o *Options) { o.TimeOrdered = true }},
		{"time, scores", 150, "zscores linear ridge_classifier", func(_ *datasets.Set, o *Options) { o.TimeOrdered = true }},
		{"held-out parts", heldOutFrom, "zscores linear ridge", nil},
		{"probabilities", 150, "zscores linear logistic", nil},
		{"AUC of scores", 150, "zscores linear ridge_classifier", func(_ *datasets.Set, o *Options) { o.Score = "roc_auc" }},
	} {
		data, o := noise(c.rows, 3), NewOptions()
		if o.Recipes = []string{c.model}; !strings.HasSuffix(c.model, "ridge") {
			for i, y := range data.Y {
				data.Y[i] = 0
				if y+data.X.At(i, 0) > 0 {
					data.Y[i] = 1
				}
			}
			data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		}
		if c.change != nil {
			c.change(&data, &o)
		}
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		r.measureSpeed()
		out, err := r.try(context.Background(), c.rows, 0, []point{{penalty: 4}})
		if err != nil || out[0].Failed != "" {
			t.Fatal(err, out[0].Failed)
		}
		for n := 1; n <= 2; n++ {
			d, err := r.divide(c.rows)
			if err != nil {
				t.Fatal(err)
			}
			_, got, err := r.crossValidate(d, slices.Repeat(out, n))
			if err != nil || len(got) != len(out[0].Scores) {
				t.Fatal(err)
			}
			for k, v := range got {
				if want := out[0].Scores[k]; math.Abs(v-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("%s: fold %d of %d members has score %v, want %v", c.name, k, n, v, want)
				}
			}
		}
	}
}

// The weights of a fold do not depend on the true values of its rows, of rows of their groups, or of
// later rows of a series.
func TestWeightsDoNotUseTestedRows(t *testing.T) {
	for _, timed := range []bool{false, true} {
		data := noise(120, 2)
		for i := range data.Y {
			data.Groups = append(data.Groups, i/6)
		}
		o := NewOptions()
		if o.TimeOrdered = timed; timed {
			data.Groups = nil
		}
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		var out []scored
		for k := range 2 {
			s := scored{point: point{recipe: k}, on: 120, mean: 0.8, spread: 0.1,
				Outcome: searchloop.Outcome{Scores: []float64{0.8}}}
			out = append(out, withOutput(t, r, s, func(i int) float64 { return data.Y[i] + rng.NormFloat64() }))
		}
		r.updateBest(out)
		d, err := r.divide(120)
		if err != nil {
			t.Fatal(err)
		}
		_, before, err := r.crossValidate(d, out)
		if err != nil {
			t.Fatal(err)
		}
		last := len(before) - 1
		leftOut := r.leftOut(d, last)
		for at, i := range slices.Concat(d.folds[0].Test, d.folds[1].Test) {
			if leftOut[at] != slices.Contains(d.rows(last), i) {
				t.Errorf("timed %v: row %d is left out: %v", timed, i, leftOut[at])
			}
		}
		w, _, err := r.weights(d, out, leftOut)
		if err != nil {
			t.Fatal(err)
		}
		changed := slices.Clone(data.Y)
		for _, i := range d.rows(last) { // rows of the last fold have other true values
			changed[i] *= -3
		}
		d.data.Y = changed
		_, after, err := r.crossValidate(d, out)
		if err != nil {
			t.Fatal(err)
		}
		for k := range before {
			if k < last && timed && before[k] != after[k] {
				t.Errorf("fold %d uses later rows", k)
			}
		}
		want := metrics.Input{}
		cases := d.scores[last]
		for k, i := range d.rows(last) {
			want.YTrue = append(want.YTrue, changed[i])
			want.YPred = append(want.YPred, w[0]*out[0].Output.Values[cases[k]]+w[1]*out[1].Output.Values[cases[k]])
		}
		if score, _ := r.metric.Score(want); math.Abs(score-after[last]) > 1e-12 {
			t.Errorf("timed %v: the last fold has score %v, want %v", timed, after[last], score)
		}
	}
}

// The predictions of the best few candidates of a trial are kept, of classes those of the best one.
func TestKept(t *testing.T) {
	out := []scored{{mean: 0.1}, {mean: 0.5}, {mean: math.NaN()}, {mean: 0.4}, {mean: 0.3}, {mean: 0.2}}
	r, err := newRun(noise(100, 2), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.storedCandidates(out), []int{1, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	r.classes = 2
	if got, want := r.storedCandidates(out), []int{1}; !slices.Equal(got, want) {
		t.Errorf("of classes %v, want %v", got, want)
	}
}

// The widest map is found by doubling, then by halves; narrow depends on the rows.
func TestWidest(t *testing.T) {
	r, err := newRun(noise(40_000, 3), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	r.measureSpeed()
	p := point{recipe: slices.IndexFunc(r.table, func(k recipe) bool { return k.String() == "zscores gaussian ridge" }),
		size: 512}
	took := map[int]float64{}
	for _, size := range []int{512, 768, 1024} {
		wider := p
		wider.size = size
		if took[size], err = r.expectedFit(context.Background(), wider); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[float64]float64{took[1024]: 2, (took[768] + took[1024]) / 2: 1.5,
		(took[512] + took[768]) / 2: 1} {
		share := limit / r.options.Budget.Seconds()
		r.began = time.Now()
		if got, err := r.widest(context.Background(), single(scored{point: p}), 4, 1.001*share); got != want || err != nil {
			t.Errorf("%g within %g s, want %g: %v", got, limit, want, err)
		}
	}
	for size, want := range map[int]bool{2048: true, 4096: false} {
		p.size = size
		if got := r.narrow(scored{point: p}); got != want {
			t.Errorf("%d features beside 40,000 rows are narrow: %v", size, got)
		}
	}
}

// Dividing the same rows again does not make the error of a score smaller.
func TestErrorOfRepeatedFolds(t *testing.T) {
	folds := []float64{0.8, 0.9, 0.7, 0.8, 0.8}
	mean, once := meanAndSpread(folds, 1)
	again, twice := meanAndSpread(slices.Concat(folds, folds), 2)
	if math.Abs(mean-0.8) > 1e-12 || math.Abs(again-0.8) > 1e-12 || math.Abs(once-math.Sqrt(0.02/25)) > 1e-12 ||
		math.Abs(once-twice) > 1e-12 {
		t.Errorf("%g ± %g, divided twice %g ± %g", mean, once, again, twice)
	}
	r, err := newRun(noise(100, 2), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	if d, err := r.divide(100); err != nil || d.times != 5 || len(d.folds)%d.times != 0 {
		t.Errorf("%d folds, divided %d times: %v", len(d.folds), d.times, err)
	}
}

// Of equals the one with the stronger penalty comes first.
func TestStrongerPenalty(t *testing.T) {
	for _, c := range []struct {
		head string
		want int
	}{{"ridge_classifier", 3}, {"logistic", 1}} {
		data := noise(100, 2)
		for i := range data.Y {
			data.Y[i] = float64(i % 2)
		}
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		o := NewOptions()
		o.Recipes = []string{"zscores linear " + c.head}
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		equals := []scored{{point: point{penalty: 2}, mean: 0.9}, {point: point{penalty: 3}, mean: 0.9},
			{point: point{penalty: 1}, mean: 0.9}, {point: point{penalty: 5}, mean: 0.8}}
		if best := slices.MinFunc(equals, r.compare); best.penalty != c.want {
			t.Errorf("%s: penalty %d, want %d", c.head, best.penalty, c.want)
		}
	}
}

// Of sparse rows a linear model is tried first.
func TestSparseRowsBeginWithALinearModel(t *testing.T) {
	data := noise(100, 3)
	data.X = matrices.CSRFromDense(data.X)
	r, err := newRun(data, NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	if first := r.table[0]; !first.plain() || first.late {
		t.Errorf("%s comes first", first)
	}
}

// A linear model is tried on the rows of the leader, whatever the rounds had time for, and leads where it is
// better.
func TestLinearIsTried(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n, d = 200, 100
	X, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for j := range d {
			X.Set(i, j, rng.NormFloat64())
			if j < 10 {
				y[i] += X.At(i, j)
			}
		}
	}
	o := NewOptions()
	o.Budget = time.Hour
	r, err := newRun(datasets.Set{X: X, Y: y}, o)
	if err != nil {
		t.Fatal(err)
	}
	r.began = time.Now()
	r.measureSpeed()
	if err := r.firstModel(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := r.leader
	if r.table[first.recipe].plain() {
		t.Fatal("the first model is linear")
	}
	if err := r.tryLinear(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !r.table[r.leader.recipe].plain() || r.leader.on != first.on || !(r.leader.mean > first.mean) {
		t.Errorf("recipe %d leads with %v, the first model has %v", r.leader.recipe, r.leader.mean, first.mean)
	}
}

// A number of candidates suffices for linear models on the rows of the leader, too.
func TestLinearIsTriedWithinCandidates(t *testing.T) {
	o := NewOptions()
	o.Candidates = 80
	for _, name := range Recipes() {
		if !strings.Contains(name, "scales") && !strings.HasPrefix(name, "machine") { // they take long
			o.Recipes = append(o.Recipes, name)
		}
	}
	r, err := newRun(noise(2500, 3), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.search(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, k := range r.table {
		if k.plain() && r.best[i].on < r.leader.on {
			t.Errorf("%s is tried on %d rows, the leader on %d", k, r.best[i].on, r.leader.on)
		}
	}
	if r.tried > o.Candidates {
		t.Errorf("%d candidates, of %d", r.tried, o.Candidates)
	}
}

// Rounds on some rows in the order of time use rows of the whole time, in that order.
func TestRowsOfTheWholeTime(t *testing.T) {
	data := noise(1000, 2)
	for i := range data.Y {
		data.Y[i] = float64(i)
	}
	o := NewOptions()
	o.TimeOrdered = true
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	y := r.first(100).Y
	if !slices.IsSorted(y) || y[10] > 300 || y[90] < 700 {
		t.Errorf("rows %v", y)
	}
}

// Models that exceed their estimated costs are replaced by a candidate that meets the limits; without one, the error
// names the closest by its measured cost.
func TestUnderestimatedCosts(t *testing.T) {
	const limit = 15_000 // a model of an exact kernel has about 30,000 bytes, a linear one 6,000
	for _, c := range []struct {
		size int64 // limit
		want string
	}{{limit, ""}, {100, "no model meets the limits: the closest is zscores linear ridge with "}} {
		ctx, o := context.Background(), NewOptions()
		o.Candidates, o.Recipes, o.MaxSize = 20, []string{"zscores linear ridge"}, 1<<40
		for _, kernel := range []string{"exponential", "gaussian", "laplacian"} {
			o.Recipes = append(o.Recipes, "zscores exact "+kernel+" kernel_ridge", "unit exact "+kernel+" kernel_ridge")
		}
		data := noise(1000, 3)
		for i := range data.Y {
			data.Y[i] += math.Sin(3 * data.X.At(i, 1))
		}
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range []func(context.Context) error{r.firstModel, r.allRounds, r.tryLinear} {
			if err := phase(ctx); err != nil {
				t.Fatal(err)
			}
		}
		r.options.MaxSize = c.size
		for _, s := range r.log { // the actual size is larger
			r.costs[s.point] = cost{bytes: 0.9 * float64(c.size)}
		}
		if err = r.finish(ctx); err == nil {
			err = r.meetLimits(ctx)
		}
		if c.want == "" {
			if bytes := r.incumbent.cost.bytes; err != nil || bytes > limit || r.incumbent.rows != 1000 {
				t.Errorf("%g bytes of a model of %d rows: %v", bytes, r.incumbent.rows, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "9e-05 MB") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
