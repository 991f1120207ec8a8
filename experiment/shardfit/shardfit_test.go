package shardfit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/distributed"
	"github.com/bochner-ml/bochner/experiment/shardfit"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// table writes n rows with numbers, missing ones, categories and a target of every kind.
func table(t testing.TB, dir string, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	var b strings.Builder
	b.WriteString("a,b,c,colour,quantity,class\n")
	for range n {
		a, z, c := rng.NormFloat64(), 3*rng.NormFloat64(), rng.ExpFloat64()
		color := []string{"red", "green", "blue"}[rng.IntN(3)]
		y := math.Sin(2*a) + 0.3*z + 0.1*rng.NormFloat64()
		class := []string{"no", "yes"}[int(math.Round(1/(1+math.Exp(-3*y+1))))]
		second := fmt.Sprintf("%.6g", z)
		if rng.IntN(50) == 0 {
			second = ""
		}
		fmt.Fprintf(&b, "%.6g,%s,%.6g,%s,%.6g,%s\n", a, second, c, color, y, class)
	}
	path := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// specs are experiments of one pass and of several.
var specs = map[string]string{
	"ridge": `
data: {train: rows.csv, target: quantity, drop: [class, colour], task: regression}
pipeline:
  - impute
  - rff: {features: 40, gamma: 0.3}
  - ridge: {alpha: 0.1}
`,
	"pca": `
data: {train: rows.csv, target: quantity, drop: [class], task: regression}
pipeline:
  - columns:
      - {name: numbers, select: numeric, steps: [impute, standardize]}
      - {name: categories, select: categorical, steps: [onehot]}
  - pca: {components: 4}
  - rff: {features: 40, gamma: 0.3}
  - ridge: {alpha: 0.1}
`,
	"logistic": `
data: {train: rows.csv, target: class, drop: [quantity, colour]}
precision: float32
pipeline:
  - impute
  - standardize
  - rff: {features: 40, gamma: 0.3}
  - logistic: {C: 1}
`,
	"converged": `
data: {train: rows.csv, target: class, drop: [quantity, colour]}
pipeline:
  - impute
  - standardize
  - rff: {features: 30, gamma: 0.3}
  - logistic: {C: 1, tol: 1e-12}
`,
	"positive": `
data: {train: rows.csv, target: colour, positive: [blue], drop: [class]}
pipeline:
  - impute
  - standardize
  - rff: {features: 40, gamma: 0.3}
  - ridge_classifier: {alpha: 1}
`,
	"kmeans": `
data: {train: rows.csv, drop: [class, colour]}
pipeline:
  - impute
  - standardize
  - kmeans: {clusters: 3}
`,
}

// load writes an experiment next to its data and parses it.
func load(t testing.TB, dir, text string, set ...config.Override) config.Spec {
	t.Helper()
	path := filepath.Join(dir, "shards.yaml")
	if err := os.WriteFile(path, []byte(strings.TrimSpace(text)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec, err := parse(path, set...)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// through is a state that has been a file.
func through(t testing.TB, s *shardfit.State) *shardfit.State {
	t.Helper()
	var one, two bytes.Buffer
	if err := s.Write(&one); err != nil {
		t.Fatal(err)
	}
	read, err := shardfit.Read(bytes.NewReader(one.Bytes()), int64(one.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Write(&two); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("a state that has been a file is another one")
	}
	return read
}

// fitted runs a job in n shards, whose state files are merged in random order, and returns the
// model file and the number of passes. options sets the options of each shard.
func fitted(t testing.TB, spec config.Spec, n int, options func(o *shardfit.Options)) (*modelfile.Model, []byte, int) {
	t.Helper()
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, uint64(n)))
	var from *shardfit.State
	for range 100 {
		var states []*shardfit.State
		for i := range n {
			o := shardfit.Options{Shard: i, Shards: n}
			if from != nil {
				o.From = through(t, from)
			}
			if options != nil {
				options(&o)
			}
			part, err := shardfit.Fit(ctx, spec, o)
			if err != nil {
				t.Fatalf("shard %d of %d: %v", i, n, err)
			}
			states = append(states, through(t, part))
		}
		for len(states) > 1 {
			rng.Shuffle(len(states), func(a, b int) { states[a], states[b] = states[b], states[a] })
			k := min(2+rng.IntN(3), len(states))
			merged, err := shardfit.Merge(ctx, states[:k]...)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states[k:], through(t, merged))
		}
		out, err := states[0].Finish(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		if out.Model != nil {
			var file bytes.Buffer
			if err := out.Model.Write(&file); err != nil {
				t.Fatal(err)
			}
			return out.Model, file.Bytes(), out.Pass
		}
		from = out.Next
	}
	t.Fatal("no end after 100 passes")
	return nil, nil, 0
}

// One spec gives one model, to the bit, in any number of shards; and it is that of a run on one machine, up to the
// order of additions.
func TestOneModel(t *testing.T) {
	for name, text := range specs {
		if !exhaustive.Case(name, "pca", "logistic") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			table(t, dir, 20_000)
			spec := load(t, dir, text, config.Override{Path: "output.dir", Value: filepath.Join(dir, "run")})
			m, want, passes := fitted(t, spec, 1, nil)
			shards := 2
			if exhaustive.Tests() {
				shards = 7
			}
			if _, got, again := fitted(t, spec, shards, nil); !bytes.Equal(got, want) || again != passes {
				t.Errorf("in %d shards another model, or in %d passes instead of %d", shards, again, passes)
			}
			if _, err := experiment.Run(context.Background(), spec, experiment.Options{}); err != nil {
				t.Fatal(err)
			}
			own, err := modelfile.Load(filepath.Join(dir, "run", "model.bochner"))
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-10
			if name == "logistic" {
				tolerance = 1e-3 // the solver stops at its tolerance
			}
			same(t, m, own, tolerance)
			if own.Profile.Rows != m.Profile.Rows || own.Task != m.Task || fmt.Sprint(own.Schema) != fmt.Sprint(m.Schema) {
				t.Errorf("task %s, schema %v; of a run %s, %v", m.Task, m.Schema, own.Task, own.Schema)
			}
		})
	}
}

// same compares the predictions of two models for some rows.
func same(t *testing.T, a, b *modelfile.Model, tolerance float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	X := make([]float64, 50*len(a.Schema.Columns))
	for k := range X {
		if X[k] = rng.NormFloat64(); a.Schema.Columns[k%len(a.Schema.Columns)].Kind == datasets.Categorical {
			X[k] = float64(rng.IntN(3))
		}
	}
	rows := denseOf(50, X)
	one, two := values(t, a.Predictor, rows), values(t, b.Predictor, rows)
	differ := 0
	for i := range one {
		if math.Abs(one[i]-two[i]) > tolerance*max(1, math.Abs(two[i])) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d predictions differ from those of a run: %v, %v", differ, len(one), one[:5], two[:5])
	}
}

// values are the predictions of a model, of classes their probabilities or scores.
func values(t *testing.T, p estimator.Predictor, X mat.Matrix) []float64 {
	t.Helper()
	got, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case got.Probabilities != nil:
		return got.Probabilities.RawMatrix().Data
	case got.Scores != nil:
		return got.Scores.RawMatrix().Data
	}
	return got.Values
}

// TestOwnRows checks that shards may have their own rows, from standard input, also none.
func TestOwnRows(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(table(t, dir, 9000))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	lines := strings.SplitAfter(rest, "\n")
	spec := load(t, dir, specs["pca"], config.Override{Path: "data.train", Value: "nowhere.csv"})
	cuts := []int{0, 4000, 4000, 9000}
	options := func(o *shardfit.Options) {
		o.Data, o.Input = "-", strings.NewReader(head+"\n"+strings.Join(lines[cuts[o.Shard]:cuts[o.Shard+1]], ""))
	}
	m, want, _ := fitted(t, spec, 3, options)
	if _, again, _ := fitted(t, spec, 3, options); !bytes.Equal(again, want) {
		t.Error("another model the second time")
	}
	whole, _, _ := fitted(t, load(t, dir, specs["pca"]), 4, nil)
	same(t, m, whole, 1e-9)
}

// TestRefused checks that foreign states are rejected with the reason.
func TestRefused(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	table(t, dir, 20_000)
	spec := load(t, dir, specs["ridge"])
	part := func(spec config.Spec, i, n int, from *shardfit.State) *shardfit.State {
		t.Helper()
		if from != nil {
			from = through(t, from)
		}
		s, err := shardfit.Fit(ctx, spec, shardfit.Options{Shard: i, Shards: n, From: from})
		if err != nil {
			t.Fatal(err)
		}
		return through(t, s)
	}
	finish := func(s *shardfit.State) *shardfit.State {
		t.Helper()
		out, err := s.Finish(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		return out.Next
	}
	between := finish(part(spec, 0, 1, nil))
	other := load(t, dir, specs["ridge"], config.Override{Path: "ridge.alpha", Value: "3"})
	message := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\n\twanted something with: %s", err, want)
		}
	}
	merge := func(states ...*shardfit.State) error { _, err := shardfit.Merge(ctx, states...); return err }
	message(merge(part(spec, 1, 3, between), part(spec, 1, 3, between)), "shard 1 of 3 is already merged")
	message(merge(part(spec, 1, 3, between), part(spec, 1, 4, between)), "must be of a fit with 3 shards, got 4")
	message(merge(part(spec, 1, 3, between), part(spec, 2, 3, nil)), "must be of pass 1, got pass 0")
	message(merge(part(spec, 0, 2, nil), part(other, 1, 2, nil)), "pipeline.ridge.alpha: 0.1 → 3")
	message(merge(part(spec, 0, 2, nil), between), "must be the state of a shard, got the output of finish")
	_, err := shardfit.Fit(ctx, other, shardfit.Options{Shards: 1, From: between})
	message(err, "of a different experiment: pipeline.ridge.alpha")
	_, err = shardfit.Fit(ctx, spec, shardfit.Options{Shards: 1, From: part(spec, 0, 2, nil)})
	message(err, "must be the output of finish, got the state of shard 0 of 2")
	_, err = shardfit.Fit(ctx, spec, shardfit.Options{Shard: 2, Shards: 2})
	message(err, "must be 0 ≤ I < N ≤ 65536")
	_, err = shardfit.Fit(ctx, spec, shardfit.Options{Shards: 1_000_000_000})
	message(err, "must be 0 ≤ I < N ≤ 65536")
	three, err := shardfit.Merge(ctx, part(spec, 4, 5, between), part(spec, 1, 5, between))
	if err != nil {
		t.Fatal(err)
	}
	_, err = three.Finish(ctx, false)
	message(err, "shards 0, 2 and 3 of 5 are missing")
	_, err = through(t, between).Finish(ctx, false)
	message(err, "must be merged shards, got the output of finish")
	again := finish(part(spec, 0, 1, between))
	if again == nil {
		t.Fatal("one pass was enough for impute and ridge")
	}
	if err := merge(part(spec, 0, 2, nil), part(spec, 1, 2, nil)); err != nil {
		t.Error(err)
	}
	if !errors.Is(merge(part(spec, 0, 2, nil), part(spec, 0, 2, nil)), distributed.ErrTwice) {
		t.Error("counted twice, and no ErrTwice")
	}
	halved, err := os.ReadFile(filepath.Join(dir, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "rows.csv"), halved[:len(halved)/2], 0o644)
	_, err = shardfit.Fit(ctx, spec, shardfit.Options{Shards: 1, From: between})
	message(err, "when its columns were looked at it was rows.csv")
}

// A file that is cut off or changed anywhere is damaged, a model no state, and a state no model.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	table(t, dir, 300)
	spec := load(t, dir, specs["ridge"])
	s, err := shardfit.Fit(context.Background(), spec, shardfit.Options{Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := s.Write(&file); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		wrong := slices.Clone(file.Bytes())
		if wrong[rng.IntN(len(wrong))] ^= byte(1 + rng.IntN(255)); rng.IntN(4) == 0 {
			wrong = wrong[:rng.IntN(len(wrong))]
		}
		if _, err := shardfit.Read(bytes.NewReader(wrong), int64(len(wrong))); !errors.Is(err, model.ErrDamaged) &&
			!errors.Is(err, model.ErrNewer) {
			t.Fatalf("a changed file: %v", err)
		}
	}
	_, text, _ := fitted(t, spec, 1, nil)
	if _, err := shardfit.Read(bytes.NewReader(text), int64(len(text))); err == nil || !strings.Contains(err.Error(), "got a model") {
		t.Errorf("a model file is a state: %v", err)
	}
	if _, err := modelfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err == nil ||
		!strings.Contains(err.Error(), "a job's state, not a model") {
		t.Errorf("a state is a model file: %v", err)
	}
}

// A state of another version, or without one, is rejected.
func TestStateOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	table(t, dir, 30)
	s, err := shardfit.Fit(context.Background(), load(t, dir, specs["ridge"]), shardfit.Options{Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := s.Write(&file); err != nil {
		t.Fatal(err)
	}
	header, state, err := archive.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]string{"v0.0.1": ", got v0.0.1; restart the fit",
		"": ", got an earlier one; restart"} {
		header.Versions = map[string]string{"bochner": by}
		var other bytes.Buffer
		if err := archive.Write(&other, header, state); err != nil {
			t.Fatal(err)
		}
		if _, err := shardfit.Read(bytes.NewReader(other.Bytes()), int64(other.Len())); err == nil ||
			!strings.Contains(err.Error(), "another version of bochner: must be") || !strings.Contains(err.Error(), want) {
			t.Errorf("written by %q: %v", by, err)
		}
	}
}

// Unsupported settings of a job are all reported before any row is read.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string][]string{
		"data: {train: nowhere.csv, target: y, split: {test: 0.2}}\nintervals: {level: 0.9}\npipeline: [rff, " +
			"ridge]": {"data.split.test: a sharded fit trains on all rows", "intervals: "},
		"data: {train: nowhere.csv, target: y}\npipeline: [ard, rff, " +
			"ridge]": {"pipeline: ", "ard"},
		"data: {dataset: wine}\npipeline: [standardize, " +
			"logistic]": {"data.dataset: a sharded fit requires files"},
	} {
		path := filepath.Join(dir, "shards.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := parse(path)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s:\n%v\n\twanted something with: %s", text, err, part)
			}
		}
	}
}

// A part refuses a numeric target without data.task, which only all rows could infer.
func TestPartNeedsTheTaskOfANumericTarget(t *testing.T) {
	dir := t.TempDir()
	table(t, dir, 100)
	s := load(t, dir, strings.Replace(specs["ridge"], ", task: regression", "", 1))
	_, err := shardfit.Fit(context.Background(), s, shardfit.Options{Shards: 2})
	if err == nil || !strings.Contains(err.Error(),
		"data.task: required by a sharded fit: the target quantity is numeric (--set data.task=regression") {
		t.Errorf("%v", err)
	}
}

// A column that is text in one shard only is categorical in all, after another look.
func TestMixedColumn(t *testing.T) {
	dir := t.TempDir()
	var parts []string
	for k := range 2 {
		var b strings.Builder
		b.WriteString("code,x,y\n")
		for i := range 100 {
			code := fmt.Sprint(i % 5)
			if k == 1 && i%3 == 0 {
				code = "none"
			}
			fmt.Fprintf(&b, "%s,%d,%d\n", code, i%11, i%5+k)
		}
		parts = append(parts, b.String())
	}
	whole := parts[0] + strings.TrimPrefix(parts[1], "code,x,y\n")
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(whole), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := load(t, dir, "data: {train: rows.csv, target: y, task: regression}\npipeline: [onehot, {ridge: {alpha: "+
		"0.1}}]\n", config.Override{Path: "data.kinds", Value: "{x: categorical}"})
	want, _, _ := fitted(t, spec, 1, nil)
	got, _, _ := fitted(t, spec, 2, func(o *shardfit.Options) { o.Data, o.Input = "-", strings.NewReader(parts[o.Shard]) })
	if fmt.Sprint(got.Schema) != fmt.Sprint(want.Schema) || len(got.Schema.Columns[0].Categories) != 6 {
		t.Errorf("%v, of one file %v", got.Schema, want.Schema)
	}
	same(t, got, want, 1e-9)
}

func denseOf(n int, values []float64) *mat.Dense { return mat.NewDense(n, len(values)/n, values) }

// parse reads an experiment file.
func parse(path string, set ...experiment.Override) (experiment.Spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return experiment.Spec{}, err
	}
	return shardfit.Parse(path, text, set...)
}
