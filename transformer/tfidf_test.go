package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

func textSet(t testing.TB, columns map[string][]string) datasets.Set {
	t.Helper()
	var set datasets.Set
	for _, name := range []string{"title", "body"} {
		if columns[name] == nil {
			continue
		}
		var err error
		if set, err = set.WithText(name, columns[name]); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

func fitTexts(t testing.TB, s transformer.TFIDF, set datasets.Set) *transformer.FittedTFIDF {
	t.Helper()
	f, err := s.Fit(context.Background(), set)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*transformer.FittedTFIDF)
}

func mapTexts(t testing.TB, f transformer.Transformer, X mat.Matrix) *matrices.CSR {
	t.Helper()
	Z, err := f.Transform(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	return Z.(*matrices.CSR)
}

func TestTFIDFAgainstReference(t *testing.T) {
	for _, name := range []string{"word", "word_plain", "char_wb"} {
		var in struct {
			Docs, Query []string
			Analyzer    string
			Ngrams      []int `json:"ngram_range"`
			MinDF       int   `json:"min_df"`
			Sublinear   bool  `json:"sublinear_tf"`
		}
		var want struct {
			Vocabulary  []string
			IDF, Values []float64
			Rows, Cols  []int
		}
		golden.Load(t, "tfidf_"+name, &in, &want)
		s := transformer.NewTFIDF()
		if in.Analyzer != "" {
			s.Analyzer = in.Analyzer
		}
		if in.Ngrams != nil {
			s.MinN, s.MaxN = in.Ngrams[0], in.Ngrams[1]
		}
		s.MinCount, s.Sublinear = max(in.MinDF, 1), in.Sublinear
		f := fitTexts(t, s, textSet(t, map[string][]string{"body": in.Docs}))
		if !slices.Equal(f.Vocabulary(0), want.Vocabulary) {
			t.Fatalf("%s: the vocabulary is %q, want %q", name, f.Vocabulary(0), want.Vocabulary)
		}
		for k, v := range f.IDF(0) {
			if math.Abs(v-want.IDF[k]) > 1e-12 {
				t.Errorf("%s: idf %d is %v, want %v", name, k, v, want.IDF[k])
			}
		}
		Z := mapTexts(t, f, textSet(t, map[string][]string{"body": in.Query}).X)
		for k, v := range want.Values {
			if got := Z.At(want.Rows[k], want.Cols[k]); math.Abs(got-v) > 1e-12 {
				t.Errorf("%s: entry %d, %d is %v, want %v", name, want.Rows[k], want.Cols[k], got, v)
			}
		}
	}
}

func letters() map[string][]string {
	out := map[string][]string{}
	for i := range 5000 {
		out["title"] = append(out["title"], fmt.Sprintf("title number %d of %d", i%7, i%11))
		out["body"] = append(out["body"], strings.Repeat(fmt.Sprintf("word%d ", i%13), i%4))
	}
	return out
}

// Blocks of a stream, merged passes, selected and concatenated rows, and a restored file give the same bits.
func TestTFIDFOfBlocksAndFiles(t *testing.T) {
	set, ctx := textSet(t, letters()), context.Background()
	s := transformer.NewTFIDF()
	s.MaxN = 2
	f := fitTexts(t, s, set)
	want := mapTexts(t, f, set.X)
	equal := func(what string, got *matrices.CSR) {
		t.Helper()
		if !mat.Equal(got, want) {
			t.Errorf("%s: other rows", what)
		}
	}
	streamed, err := s.FitSource(ctx, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	equal("stream", mapTexts(t, streamed, set.X))
	both, err := datasets.Set{}.Append(set.Slice(0, 100), set.Slice(100, 5000))
	if err != nil {
		t.Fatal(err)
	}
	equal("concatenated", mapTexts(t, f, both.X))
	var passes [2]datasets.Pass
	for k := range passes {
		if passes[k], err = s.Start(ctx, set.Schema, set.Cols()); err != nil {
			t.Fatal(err)
		}
		if err := passes[k].Add(ctx, set.Slice(k*1000, 1000+4000*k)); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := model.Record(passes[1])
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.Start(ctx, set.Schema, set.Cols())
	if err := model.Restore(saved, again); err != nil {
		t.Fatal(err)
	}
	if err := passes[0].Merge(ctx, again); err != nil {
		t.Fatal(err)
	}
	merged, err := s.Finish(ctx, passes[0])
	if err != nil {
		t.Fatal(err)
	}
	equal("merged", mapTexts(t, merged, set.X))
	archive, err := model.Record(f)
	if err != nil {
		t.Fatal(err)
	}
	restored := new(transformer.FittedTFIDF)
	if err := model.Restore(archive, restored); err != nil {
		t.Fatal(err)
	}
	equal("restored", mapTexts(t, restored, set.X))
}

func TestTFIDFRefuses(t *testing.T) {
	ctx := context.Background()
	numbers := datasets.New(mat.NewDense(2, 1, nil), "x")
	if _, err := transformer.NewTFIDF().Fit(ctx, numbers); err == nil ||
		!strings.Contains(err.Error(), "column x must be text, got numeric") {
		t.Error(err)
	}
	set := textSet(t, map[string][]string{"body": {"a b", "word", ""}})
	f := fitTexts(t, transformer.NewTFIDF(), set)
	if _, err := f.Transform(ctx, mat.NewDense(2, 1, nil)); err == nil || !strings.Contains(err.Error(), "must be text") {
		t.Error(err)
	}
	for _, s := range []transformer.Fitter{transformer.NewStandardize(), transformer.NewImpute(), transformer.NewOneHot(),
		transformer.NewPCA(), transformer.Dense{}, transformer.NewRFF()} {
		if _, err := s.Fit(ctx, set); err == nil || !strings.Contains(err.Error(), "text") {
			t.Errorf("%T: %v", s, err)
		}
	}
	if _, err := transformer.NewTFIDF().Fit(ctx, textSet(t, map[string][]string{"body": {"", ""}})); err == nil {
		t.Error("documents without terms: no error")
	}
}

// The name english stands for the list of stop words, and a list for itself.
func TestStopWords(t *testing.T) {
	set := textSet(t, map[string][]string{"body": {"the storm and the flood", "the english storm"}})
	for want, value := range map[string]any{"[english flood]": []any{"storm", "the", "and"}, "[english flood storm]": "english"} {
		s, err := param.With(transformer.NewTFIDF(), param.Setting{Path: "stop_words", Value: value})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(fitTexts(t, s.(transformer.TFIDF), set).Vocabulary(0)); got != want {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
	if _, err := param.With(transformer.NewTFIDF(), param.Setting{Path: "stop_words", Value: "german"}); err == nil {
		t.Error("an unknown list of stop words")
	}
}

func TestTFIDFKeepsTheLaws(t *testing.T) {
	set := textSet(t, map[string][]string{"body": letters()["body"][:60], "title": letters()["title"][:60]})
	hashed := transformer.NewTFIDF()
	hashed.Hashing, hashed.Analyzer, hashed.MaxN = 50, "char_wb", 3
	hashed.Indicator = true
	for name, s := range map[string]transformer.TFIDF{"terms": transformer.NewTFIDF(), "hashed": hashed} {
		t.Run(name, func(t *testing.T) {
			transformertest.Run(t, s, transformertest.Options{Data: set, Unexported: true, Missing: true})
		})
	}
}

// Terms that exceed the memory, and hashed columns that do, are an error before the process is
// killed.
func TestTFIDFRefusesBeyondMemory(t *testing.T) {
	column := make([]string, 120000)
	for i := range column {
		column[i] = fmt.Sprintf("word%d", i)
	}
	set := textSet(t, map[string][]string{"body": column})
	hashed := transformer.NewTFIDF()
	hashed.Hashing = 1 << 26
	many := transformer.NewTFIDF()
	many.Hashing, many.Analyzer, many.MaxN = 1, "char", 100
	long := textSet(t, map[string][]string{"body": {strings.Repeat("a", 40000)}})
	ctx := context.Background()
	before := debug.SetMemoryLimit(32 << 20)
	_, err := transformer.NewTFIDF().Fit(ctx, set)
	_, hashErr := hashed.Fit(ctx, set)
	f, _ := many.Fit(ctx, long)
	_, err2 := f.Transform(ctx, long.X)
	debug.SetMemoryLimit(before)
	if !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(), "hashing") {
		t.Errorf("terms: %v", err)
	}
	if !errors.Is(hashErr, memory.ErrTooLarge) {
		t.Errorf("hashed columns: %v", hashErr)
	}
	if err2 != nil {
		t.Errorf("one hashed column of many terms: %v", err2)
	}
}

// The cost knows the number of terms if the shape has the strings, also in a group of columns.
func TestTFIDFCost(t *testing.T) {
	column := make([]string, 500)
	for i := range column {
		column[i] = fmt.Sprintf("a%d b%d both", i, i)
	}
	set := textSet(t, map[string][]string{"title": column, "body": column})
	shape := set.Shape()
	if cost := transformer.NewTFIDF().Cost(shape); cost.OutputWidth != -1 {
		t.Errorf("without strings: width %d", cost.OutputWidth)
	}
	shape = shape.WithDocuments(context.Background(), set.Source())
	f := fitTexts(t, transformer.NewTFIDF(), set)
	cost := transformer.NewTFIDF().Cost(shape)
	if cost.OutputWidth != f.OutputWidth() || cost.OutputWidth != 2002 || cost.NonZeros != 6 || cost.Bytes < 2002*150 {
		t.Errorf("%+v, want width %d", cost, f.OutputWidth())
	}
}

// TestTFIDFIndicator checks ‖u − v‖²/2 of all pairs of rows, also of those without a known term, against
// 1 − cosine: the distance is 1 to rows with terms and 0 to each other. It checks names, cost and file, too.
func TestTFIDFIndicator(t *testing.T) {
	s := transformer.NewTFIDF()
	train := textSet(t, map[string][]string{"title": {"red fox", "red dog", ""}, "body": {"one", "two", "one two"}})
	query := textSet(t, map[string][]string{"title": {"red fox", "red red dog", "", "zebra", "red zebra"},
		"body": {"one", "two", "none", "", "one two"}})
	for _, hashing := range []int{0, 64} {
		s.Indicator, s.Hashing = false, hashing
		plain := mapTexts(t, fitTexts(t, s, train), query.X)
		s.Indicator = true
		f := fitTexts(t, s, train)
		var saved transformer.FittedTFIDF
		if archive, err := model.Record(f); err != nil || model.Restore(archive, &saved) != nil {
			t.Fatal("not restored")
		}
		Z := mapTexts(t, &saved, query.X)
		_, terms := plain.Dims()
		n, width := Z.Dims()
		if cost := s.Cost(train.Shape()); width != terms+2 || f.OutputWidth() != width ||
			hashing > 0 && cost.OutputWidth != width {
			t.Errorf("hashing %d: %d columns, width %d, cost %d, want %d", hashing, width, f.OutputWidth(),
				cost.OutputWidth, terms+2)
		}
		split := terms / 2 // both titles and bodies
		if hashing == 0 {
			split = len(f.Vocabulary(0))
			names := f.OutputSchema(train.Schema)
			if names.Name(split) != "title_unknown" || names.Name(width-1) != "body_unknown" ||
				names.Columns[split].EncodedFrom != "title" || len(names.Columns) != width {
				t.Errorf("names of columns: %v", names.Columns)
			}
		}
		for _, c := range []struct{ plain, own [2]int }{
			{[2]int{0, split}, [2]int{0, split + 1}}, {[2]int{split, terms}, [2]int{split + 1, width}}} {
			for i := range n {
				for k := range n {
					cosine, square, left, right := 0.0, 0.0, 0.0, 0.0
					for j := c.plain[0]; j < c.plain[1]; j++ {
						cosine += plain.At(i, j) * plain.At(k, j)
						left, right = left+plain.At(i, j), right+plain.At(k, j)
					}
					for j := c.own[0]; j < c.own[1]; j++ {
						square += (Z.At(i, j) - Z.At(k, j)) * (Z.At(i, j) - Z.At(k, j))
					}
					want := 1 - cosine
					if left == 0 && right == 0 {
						want = 0
					}
					if math.Abs(square/2-want) > 1e-15 {
						t.Errorf("hashing %d, columns from %d: the distance of rows %d and %d is %v, want %v", hashing,
							c.own[0], i, k, square/2, want)
					}
				}
			}
		}
	}
}
