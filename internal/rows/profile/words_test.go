package profile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// messages returns rows of text with words of the given prefix, of which a few are frequent.
func messages(t *testing.T, rows int, prefix string, seed uint64) datasets.Source {
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]string, rows)
	for i := range list {
		for range 10 {
			list[i] += fmt.Sprintf("%s%d, ", prefix, int(rng.ExpFloat64()*200))
		}
	}
	data, err := datasets.Set{}.WithText("message", list)
	if err != nil {
		t.Fatal(err)
	}
	return data.Source()
}

// Rows of the same distribution have the expected fraction of unknown words; other words are reported.
func TestUnknownWords(t *testing.T) {
	ctx := context.Background()
	reference, err := Of(ctx, messages(t, 300, "word", 1))
	if err != nil {
		t.Fatal(err)
	}
	for prefix, drifted := range map[string]bool{"word": false, "WORD": false, "other": true} {
		d, err := Compare(ctx, reference, messages(t, 200, prefix, 2))
		if err != nil {
			t.Fatal(err)
		}
		in := d.Inputs[0]
		if want := in.ExpectedUnknown; in.Drifted != drifted || !drifted && (in.Unknown < want/2 || in.Unknown > 2*want) {
			t.Errorf("%s: %+v", prefix, in)
		}
		if got := strings.Join(d.Warnings(), ""); drifted != strings.Contains(got, "of the words are not in the training rows") {
			t.Errorf("%s: warnings %q", prefix, got)
		}
	}
	p := Start(messages(t, 1, "word", 1).Schema(), 1)
	q := Start(messages(t, 1, "word", 1).Schema(), 1)
	for i, part := range []datasets.Pass{p, q} {
		if err := messages(t, 150, "word", uint64(i)).Blocks(ctx, func(b datasets.Set) error { return part.Add(ctx, b) }); err != nil {
			t.Fatal(err)
		}
	}
	first, err := Finish(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Merge(ctx, q); err != nil {
		t.Fatal(err)
	}
	both, err := Finish(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	for b, bits := range first.Columns[0].Words {
		if bits&^both.Columns[0].Words[b] != 0 {
			t.Fatal("a word is lost when passes are merged")
		}
	}
}

// Labels and names that the training rows do not have are counted as unknown categories, and labels are the words of
// lists.
func TestUnknownLabels(t *testing.T) {
	ctx := context.Background()
	lists := func(values ...string) datasets.Set {
		set, err := datasets.Set{}.WithText("genres", values)
		if err != nil {
			t.Fatal(err)
		}
		if set, err = set.WithText("title", values); err != nil {
			t.Fatal(err)
		}
		set.Schema.Columns[0].Format = datasets.Format{Delimiter: "|"}
		set.Schema.Columns[0].Categories = []string{"film noir", "war"}
		set.Schema.Columns[1].Format = datasets.Format{Name: true}
		set.Schema.Columns[1].Categories = []string{"war", "war | film noir"}
		return set
	}
	training := lists("war", "war | film noir")
	u := NewUnknown(training.Schema, 2)
	for _, set := range []datasets.Set{training, lists("film noir|war", "film|noir|war", "", "war|x")} {
		if err := u.Add(ctx, set.X); err != nil {
			t.Fatal(err)
		}
	}
	if got := u.Counts(); got["genres"] != 2 || got["title"] != 3 {
		t.Errorf("%v", got)
	}
	if got := u.Warning(); !strings.Contains(got, `"genres" in 2, "title" in 3 of 6 rows`) {
		t.Error(got)
	}
	labels := map[uint32]bool{}
	eachWord(datasets.Format{Delimiter: "|"}, "film noir | war|war", func(b uint32) { labels[b] = true })
	if len(labels) != 2 {
		t.Errorf("%d labels", len(labels))
	}
}
