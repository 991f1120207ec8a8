package auto

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// categories returns rows with a categorical column of the given number of categories, one of three, a
// number, and a random target.
func categories(n, levels int) datasets.Set {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	many := datasets.Column{Name: "many", Kind: datasets.Categorical}
	for k := range levels {
		many.Categories = append(many.Categories, fmt.Sprintf("c%04d", k))
	}
	few := datasets.Column{Name: "few", Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}
	set := datasets.Set{X: mat.NewDense(n, 3, nil), Y: make([]float64, n),
		Schema: datasets.Schema{Columns: []datasets.Column{many, few, {Name: "number"}}}}
	for i := range n {
		set.X.(*mat.Dense).SetRow(i, []float64{float64(rng.IntN(levels)), float64(rng.IntN(3)), rng.NormFloat64()})
		set.Y[i] = rng.NormFloat64()
	}
	return set
}

// runOf returns the run of a search, and the representation of a name.
func runOf(t *testing.T, data datasets.Set, o Options, name string) (*run, representation) {
	t.Helper()
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(r.table, func(k recipe) bool { return k.representation.name == name })
	if at < 0 {
		t.Fatalf("no recipe encodes categories by %s", name)
	}
	return r, r.table[at].representation
}

// A random target is predicted at chance by any encoding of 2,000 categories, also by one of the caller's
// preprocessing.
func TestEncodingsDoNotLeak(t *testing.T) {
	data := categories(1500, 2000)
	for _, own := range []bool{false, true} {
		o := NewOptions()
		o.Candidates = 1000
		name := "targets"
		if own {
			name = "zscores"
			o.Preprocessing = pipeline.Steps(pipeline.NewColumns(
				pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewTargetEncode())},
				pipeline.Group{Select: []string{"numeric"}, Steps: pipeline.Steps(transformer.NewStandardize())}))
		}
		r, _ := runOf(t, data, o, name)
		at := slices.IndexFunc(r.table, func(k recipe) bool { return k.String() == name+" gaussian ridge" })
		points := r.neighborhood(point{recipe: at, size: 128}, 1, 4, 2, 8)
		out, err := r.try(context.Background(), data.Rows(), 0, points)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out {
			if s.Failed != "" || s.mean > 0.02 {
				t.Errorf("%s: r2 is %v %s", name, s.mean, s.Failed)
			}
		}
	}
}

// Categories are encoded, and numeric data are not.
func TestEncodingsByCategories(t *testing.T) {
	names := func(data datasets.Set) (out []string) {
		r, err := newRun(data, NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.table {
			if k.encode != "" && !slices.Contains(out, k.representation.name) {
				out = append(out, k.representation.name)
			}
		}
		return out
	}
	for _, c := range []struct {
		data datasets.Set
		want []string
	}{
		{noise(100, 2), nil},
		{categories(400, 5), []string{"columns", "targets", "target scales"}},
		{categories(400, 2), []string{"columns", "targets", "target scales"}},
	} {
		got := names(c.data)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

// Text is searched with linear models in the first round, of words and of words and characters, which find
// endings that words with them do not share.
func TestText(t *testing.T) {
	const n = 120
	rng := rand.New(rand.NewPCG(4, 4))
	texts, X := textrows.NewStrings(nil), mat.NewDense(n, 1, nil)
	data := datasets.Set{Y: make([]float64, n), Schema: datasets.Schema{
		Columns: []datasets.Column{{Name: "text", Kind: datasets.Text}},
		Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}}
	for i := range n {
		data.Y[i] = float64(i % 2)
		X.Set(i, 0, texts.Add(fmt.Sprintf("the %c%c%s it", 'a'+rng.IntN(26), 'a'+rng.IntN(26), []string{"ing", "ous"}[i%2])))
	}
	data.X = textrows.Wrap(X, []int{0}, texts)
	o := NewOptions()
	o.Candidates = 60
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for _, k := range r.table {
		if !k.late {
			first++
		}
		if !k.plain() {
			t.Errorf("%s is tried with text", k)
		}
	}
	if first != 6 { // three models of two representations
		t.Errorf("%d recipes of the first round in %v", first, r.table)
	}
	if err := r.search(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := r.table[r.leader.recipe].encode; got != encodeCharacters || r.leader.mean < 0.95 {
		t.Errorf("the leader is of %q with %v", got, r.leader.mean)
	}
	if _, err := r.incumbent.model.Predict(context.Background(), data.X); err != nil ||
		!estimator.OutputsOf(r.incumbent.model).Has.Has(estimator.OutputProbabilities) {
		t.Errorf("%s has no probabilities: %v", r.table[r.incumbent.members[0].recipe], err)
	}
}

// Text whose rows share no words, or have none, does not end a search: its terms are hashed, with a warning.
func TestTextWithoutSharedWords(t *testing.T) {
	const n = 60
	for name, word := range map[string]func(i int) string{
		"words":       func(i int) string { return fmt.Sprintf("word%d other%d", 2*i, 2*i+1) },
		"punctuation": func(i int) string { return strings.Repeat("!? ", 1+i%7) },
	} {
		texts, X := textrows.NewStrings(nil), mat.NewDense(n, 2, nil)
		data := datasets.Set{Y: make([]float64, n), Schema: datasets.Schema{
			Columns: []datasets.Column{{Name: "x"}, {Name: "text", Kind: datasets.Text}},
			Targets: []datasets.Column{{Name: "class", Kind: datasets.Categorical, Categories: []string{"a", "b"}}}}}
		for i := range n {
			data.Y[i] = float64(i % 2)
			X.SetRow(i, []float64{float64(i%2) + float64(i%3), texts.Add(word(i))})
		}
		data.X = textrows.Wrap(X, []int{1}, texts)
		o := NewOptions()
		o.Candidates = 10
		found, err := Fit(context.Background(), data, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := strings.Join(found.Warnings, "\n"); !strings.Contains(text, "hashed to 1024 columns") {
			t.Errorf("%s: warnings %q", name, text)
		}
		if _, err := found.Pipeline.Fit(context.Background(), data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Balanced class weights are tried if one class is rare, and a search without a signal says so.
func TestRareClass(t *testing.T) {
	data := noise(300, 2)
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range data.Y {
		if data.Y[i] = 0; rng.Float64() < 0.1 {
			data.Y[i] = 1
		}
	}
	for score, want := range map[string]bool{"": true, "accuracy": false, "average_precision": true} {
		o := NewOptions()
		o.Score = score
		r, err := newRun(data, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(r.table, func(k recipe) bool { return k.balanced }); got != want {
			t.Errorf("score %q: balanced class weights %v", score, got)
		}
	}
	o := NewOptions()
	o.Score, o.Candidates = "accuracy", 6
	found, err := Fit(context.Background(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(found.Warnings, " "); !strings.Contains(text, "always predicting the same") &&
		found.Chosen.Score <= 0.9 {
		t.Errorf("chosen %v, warnings %q", found.Chosen.Score, text)
	}
}

// On a table of numbers, categories and names, a product of kernels of columns is the best: names share words,
// counts have a long tail, and the scales of useless columns are 0.
func TestColumns(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(9, 1))
	words := []string{"senior", "junior", "chief", "deputy", "nurse", "driver", "clerk", "analyst"}
	names, X := textrows.NewStrings(nil), mat.NewDense(n, 5, nil)
	data := datasets.Set{Y: make([]float64, n), Schema: datasets.Schema{Columns: []datasets.Column{
		{Name: "title", Kind: datasets.Text}, {Name: "year"}, {Name: "count"},
		{Name: "part", Kind: datasets.Categorical, Categories: []string{"u", "v", "w"}}, {Name: "noise"}},
		Targets: []datasets.Column{{Name: "pay"}}}}
	for i := range n {
		rank, job, year, count := rng.IntN(4), rng.IntN(4), rng.NormFloat64(), math.Exp(3*rng.NormFloat64())
		X.SetRow(i, []float64{names.Add(fmt.Sprintf("%s %s %d", words[rank], words[4+job], rng.IntN(20))), year, count,
			float64(rng.IntN(3)), rng.NormFloat64()})
		data.Y[i] = 2*float64(rank-job)*year + math.Log(count)*[]float64{1, 0, -1}[int(X.At(i, 3))]
	}
	data.X = textrows.Wrap(X, []int{0}, names)
	o := NewOptions()
	o.Candidates = 40
	r, err := newRun(data, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.search(context.Background()); err != nil {
		t.Fatal(err)
	}
	best, others := math.Inf(-1), math.Inf(-1)
	for i, s := range r.best {
		if r.table[i].rule == ruleColumns {
			best = max(best, s.mean)
		} else {
			others = max(others, s.mean)
		}
	}
	if best < others+0.1 || best < 0.6 {
		t.Errorf("R² %v by columns, %v by others", best, others)
	}
	relevance := map[string]float64{}
	for _, in := range r.result().InputRelevance {
		relevance[in.Name] = in.Scale
	}
	t.Logf("R² %.3f by columns, %.3f by others; scales %v", best, others, relevance)
	if len(relevance) != 5 || relevance["noise"] > 0.02 || relevance["title"] == 0 || relevance["year"] == 0 {
		t.Errorf("scales %v", relevance)
	}
}

// TestEncodedGroups checks that an encoder in a group replaces that of the columns of the group alone.
func TestEncodedGroups(t *testing.T) {
	data := categories(60, 5)
	r := &run{sample: sample{data: data}}
	steps := pipeline.Steps(pipeline.NewColumns(
		pipeline.Group{Name: "one", Select: []string{"many"}, Steps: pipeline.Steps(transformer.NewOneHot())},
		pipeline.Group{Name: "other", Select: []string{"few"}, Steps: pipeline.Steps(transformer.NewOneHot())}))
	fitted, err := pipeline.Chain{Steps: r.encoded(steps, encodeColumns)}.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := fitted.Transform(context.Background(), data.X)
	if err != nil {
		t.Fatal(err)
	}
	if _, cols := out.Dims(); cols != 8 {
		t.Errorf("%d columns, want those of 5 and 3 categories", cols)
	}
}
