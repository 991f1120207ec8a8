package textfeatures

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/runtime/cputime"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/testing/golden"
	"github.com/bochner-ml/bochner/matrices"
)

func mustFit(t testing.TB, o Options, documents []string) *Vectorizer {
	t.Helper()
	v, err := Fit(context.Background(), o, documents)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustTransform(t testing.TB, v *Vectorizer, documents []string) *matrices.CSR {
	t.Helper()
	m, err := v.Transform(context.Background(), documents)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAgainstReference(t *testing.T) {
	for _, name := range []string{"word", "word_plain", "char_wb"} {
		t.Run(name, func(t *testing.T) {
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
			o := Defaults()
			if in.Analyzer != "" {
				o.Analyzer = in.Analyzer
			}
			if in.Ngrams != nil {
				o.MinN, o.MaxN = in.Ngrams[0], in.Ngrams[1]
			}
			o.MinCount, o.Sublinear = max(in.MinDF, 1), in.Sublinear
			v := mustFit(t, o, in.Docs)
			if !slices.Equal(v.Vocabulary(), want.Vocabulary) {
				t.Fatalf("the vocabulary is %q, want %q", v.Vocabulary(), want.Vocabulary)
			}
			closeTo(t, "idf", v.IDF(), want.IDF)
			got := mustTransform(t, v, in.Query)
			values := map[[2]int]float64{}
			for k, x := range want.Values {
				values[[2]int{want.Rows[k], want.Cols[k]}] = x
			}
			if got.NNZ() != len(values) {
				t.Errorf("%d entries, want %d", got.NNZ(), len(values))
			}
			for at, x := range values {
				closeTo(t, fmt.Sprint(at), []float64{got.At(at[0], at[1])}, []float64{x})
			}
		})
	}
}

func closeTo(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12*max(1, math.Abs(want[i])) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// tweets returns the first 5,000 documents of a real data set.
func tweets(t testing.TB) []string {
	f, err := os.Open(golden.Path(t, "data", "mixed", "disaster_tweets.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, r := range records[1:5001] {
		documents = append(documents, r[3])
	}
	return documents
}

// Real documents give the rows of scikit-learn 1.9.1, here by their width, number of entries, sum, and the sum of the
// entries times sin(1 + row)·cos(1 + column). The first 4,000 are learned from.
func TestTweetsAgainstScikitLearn(t *testing.T) {
	documents := tweets(t)
	for name, c := range map[string]struct {
		change     func(o *Options)
		width, nnz int
		sum, probe float64
	}{
		"word": {func(*Options) {}, 13701, 70241, 17187.502868661584, -2.842356245227492},
		"ngram_range=(1, 2), min_df=2, sublinear_tf=True": {func(o *Options) { o.MaxN, o.MinCount, o.Sublinear = 2, 2, true },
			9907, 86198, 18924.94704862516, 26.547926031664346},
		"stop_words, max_df=.05, norm=l1": {func(o *Options) {
			o.StopWords, o.MaxShare, o.Norm = []string{"the", "and", "of", "http", "co"}, 0.05, "l1"
		}, 13680, 54065, 4995.0, 20.317261219622225},
		"stop_words=english": {func(o *Options) { o.StopWords = []string{"english"} }, 13439, 45630, 14249.89427870398,
			73.63382427340885},
		"char, ngram_range=(1, 3), lowercase=False, smooth_idf=False": {func(o *Options) {
			o.Analyzer, o.MaxN, o.Lowercase, o.SmoothIDF = "char", 3, false, false
		}, 49230, 1015486, 62004.437659496514, -22.367797254583138},
		"char_wb, ngram_range=(2, 5), min_df=5": {func(o *Options) {
			o.Analyzer, o.MinN, o.MaxN, o.MinCount = "char_wb", 2, 5, 5
		}, 20883, 1180878, 69050.36553091696, -30.190078833079376},
		"use_idf=False, norm=None": {func(o *Options) { o.IDF, o.Norm = false, "none" }, 13701, 70241, 74498.0,
			-82.83735394474675},
		"HashingVectorizer(4096, alternate_sign=False, norm=None)": {func(o *Options) { o.Hashing = 4096 }, 4096, 73626,
			17816.316032100098, -13.857609098012393},
	} {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			c.change(&o)
			m := mustTransform(t, mustFit(t, o, documents[:4000]), documents)
			_, width := m.Dims()
			if width != c.width || m.NNZ() != c.nnz {
				t.Fatalf("%d columns and %d entries, want %d and %d", width, m.NNZ(), c.width, c.nnz)
			}
			sum, probe := 0.0, 0.0
			for i := range documents {
				columns, values := m.Row(i)
				for k, j := range columns {
					sum += values[k]
					probe += values[k] * math.Sin(float64(i+1)) * math.Cos(float64(j)+1)
				}
			}
			if math.Abs(sum-c.sum) > 1e-9*c.sum || math.Abs(probe-c.probe) > 1e-8 {
				t.Errorf("sum %v and probe %v, want %v and %v", sum, probe, c.sum, c.probe)
			}
		})
	}
}

// The terms are those of scikit-learn's build_analyzer, with its treatment of blanks, short words and Unicode.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		analyzer   string
		minN, maxN int
		text       string
		want       []string
	}{
		{"word", 1, 1, "A don't e-mail x2, 3d_ ÜBER naïve a\u0301b 東京 ² x²", []string{"don", "mail", "x2", "3d_", "über",
			"naïve", "東京", "x²"}},
		{"word", 1, 2, "one a two", []string{"one", "two", "one two"}},
		{"word", 2, 3, "one", nil},
		{"word", 1, 1, "İstanbul ΟΔΟΣ ΣΑΣ Σ", []string{"stanbul", "οδος", "σας"}},
		{"char", 1, 1, "aB\t\n c\td", []string{"a", "b", " ", "c", "\t", "d"}},
		{"char", 2, 3, "ü a", []string{"ü ", " a", "ü a"}},
		{"char", 3, 3, "ab", nil},
		{"char", 1, 1, "İ", []string{"i", "\u0307"}},
		{"char_wb", 2, 4, "Ab c", []string{" a", "ab", "b ", " ab", "ab ", " ab ", " c", "c ", " c "}},
		{"char_wb", 5, 9, "ab \x1c\u00a0 c", []string{" ab ", " c "}},
		{"word", 1, 1, "caf\xff\xfe ok", []string{"caf", "ok"}},
		{"char_wb", 3, 3, "", nil},
	} {
		a := Options{Analyzer: c.analyzer, MinN: c.minN, MaxN: c.maxN, Lowercase: true}.analyzer()
		var got []string
		a.terms(new(scan), c.text, func(term []byte) { got = append(got, string(term)) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s (%d, %d) of %q: %q, want %q", c.analyzer, c.minN, c.maxN, c.text, got, c.want)
		}
	}
}

// Counts of parts of the documents, merged in any order, give the same map as those of all.
func TestMerge(t *testing.T) {
	documents := []string{"a kernel machine", "random fourier features of a kernel", "kernel kernel ridge", "ridge", "",
		"fourier"}
	for _, hashing := range []int{0, 50} {
		o := Defaults()
		o.Hashing = hashing
		if hashing == 0 {
			o.MaxFeatures, o.MaxShare = 5, 0.9
		}
		want := mustFit(t, o, documents)
		whole, err := NewCounter(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]string{documents[4:], documents[:2], documents[2:4]} {
			c, err := NewCounter(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range part {
				c.Add(text)
			}
			whole.Merge(c)
		}
		got, err := whole.Vectorizer()
		if err != nil {
			t.Fatal(err)
		}
		if whole.Documents() != len(documents) || !slices.Equal(got.Vocabulary(), want.Vocabulary()) ||
			!slices.Equal(got.IDF(), want.IDF()) {
			t.Errorf("merged counts give %q with %v, want %q with %v", got.Vocabulary(), got.IDF(), want.Vocabulary(),
				want.IDF())
		}
	}
}

// A row depends on no other, and its workspace makes no garbage.
func TestRowsAreIndependent(t *testing.T) {
	documents := []string{"the kernel of a machine", "", "nothing known", "fourier Fourier feature über"}
	for _, analyzer := range []string{"word", "char", "char_wb"} {
		o := Defaults()
		o.Analyzer, o.MaxN = analyzer, 3
		v := mustFit(t, o, documents[:1])
		m, w := mustTransform(t, v, documents), v.NewWorkspace()
		for i, text := range documents {
			columns, values := w.AppendRow(nil, nil, text)
			c, x := m.Row(i)
			if !slices.Equal(columns, c) || !slices.Equal(values, x) {
				t.Errorf("%s: row %d differs from that of the batch", analyzer, i)
			}
		}
		columns, values := make([]uint32, 0, 1000), make([]float64, 0, 1000)
		if n := testing.AllocsPerRun(20, func() { w.AppendRow(columns, values, documents[0]) }); n != 0 {
			t.Errorf("%s: a row makes %v allocations", analyzer, n)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, change := range []func(o *Options){
		func(o *Options) { o.Analyzer = "words" },
		func(o *Options) { o.MinN = 0 },
		func(o *Options) { o.MaxN = 0 },
		func(o *Options) { o.MinCount = 0 },
		func(o *Options) { o.MaxShare = math.NaN() },
		func(o *Options) { o.MaxFeatures = -1 },
		func(o *Options) { o.Hashing = -1 },
		func(o *Options) { o.Hashing, o.MinCount = 8, 2 },
		func(o *Options) { o.Norm = "max" },
	} {
		o := Defaults()
		change(&o)
		if _, err := NewCounter(o); err == nil {
			t.Errorf("%+v is valid", o)
		}
	}
	o := Defaults()
	o.MinCount = 2
	if _, err := Fit(context.Background(), o, []string{"one two", "three"}); err == nil {
		t.Error("a map without terms")
	}
	if _, err := Fit(context.Background(), Defaults(), nil); err == nil {
		t.Error("a map of no documents")
	}
}

// Documents of any bytes have terms of valid positions, and a row of norm 1 or 0.
func FuzzAppendRow(f *testing.F) {
	for _, text := range []string{"", "a b", "İ Σ\xff", "\t\t\n \u00a0x", "日本語 ²³"} {
		f.Add(text, uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, minN, more uint8) {
		for _, analyzer := range []string{"word", "char", "char_wb"} {
			o := Defaults()
			o.Analyzer, o.Hashing = analyzer, 97
			o.MinN = 1 + int(minN)%5
			o.MaxN = o.MinN + int(more)%5
			v := mustFit(t, o, []string{text})
			columns, values := v.NewWorkspace().AppendRow(nil, nil, text)
			norm := 0.0
			for k, x := range values {
				norm += x * x
				if k > 0 && columns[k] <= columns[k-1] || columns[k] >= 97 {
					t.Fatalf("columns %v", columns)
				}
			}
			if len(values) > 0 && math.Abs(norm-1) > 1e-12 {
				t.Fatalf("the norm is %v", norm)
			}
		}
	})
}

// scikit-learn 1.9.1 takes 79 and 73 ms of CPU time for word (fit_transform and transform), 176 and 133 for
// word_bigrams, 1206 and 745 for char_wb, on the same core.
func BenchmarkTweets(b *testing.B) {
	documents := tweets(b)
	for name, change := range map[string]func(o *Options){
		"word":         func(*Options) {},
		"word_bigrams": func(o *Options) { o.MaxN, o.MinCount, o.Sublinear = 2, 2, true },
		"char_wb":      func(o *Options) { o.Analyzer, o.MinN, o.MaxN, o.MinCount = "char_wb", 2, 5, 5 },
	} {
		o := Defaults()
		change(&o)
		v := mustFit(b, o, documents)
		for what, run := range map[string]func(){
			"fit+transform": func() { mustTransform(b, mustFit(b, o, documents), documents) },
			"transform":     func() { mustTransform(b, v, documents) },
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				start := cputime.Time()
				for range b.N {
					run()
				}
				b.ReportMetric(float64(cputime.Time()-start)/1e6/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// Fit counts the terms of documents and returns their map.
func Fit(ctx context.Context, o Options, documents []string) (*Vectorizer, error) {
	c, err := NewCounter(o)
	if err != nil {
		return nil, err
	}
	for i, text := range documents {
		if i%blockTexts == 0 && ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		c.Add(text)
	}
	return c.Vectorizer()
}
