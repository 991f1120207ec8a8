package textfeatures

import (
	"fmt"
	"math"
	"testing"
)

// A sketch of many terms estimates, in bounded memory, what a Counter counts.
func TestSketch(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"all terms":      func(*Options) {},
		"bigrams":        func(o *Options) { o.MaxN = 2 },
		"frequent terms": func(o *Options) { o.MinCount = 2 },
		"at most":        func(o *Options) { o.MaxFeatures = 1000 },
		"hashed":         func(o *Options) { o.Hashing = 5000 },
	} {
		o := Defaults()
		change(&o)
		s, err := NewSketch(o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCounter(o)
		if err != nil {
			t.Fatal(err)
		}
		const n = 20000
		for i := range n { // 60,000 words in a single document, 10,000 in two, 2 in all
			text := fmt.Sprintf("in all a%d b%d c%d d%d", i, i, i, i/2)
			c.Add(text)
			if !s.Add(text) {
				t.Fatal("the sketch stops early")
			}
		}
		if len(s.terms) > maxSketched {
			t.Errorf("%s: %d terms in memory", name, len(s.terms))
		}
		v, err := c.Vectorizer()
		if err != nil {
			t.Fatal(err)
		}
		got := s.Estimate(n)
		if want := float64(v.Width()); math.Abs(got.Columns-want) > 0.05*want {
			t.Errorf("%s: %v columns, want %v", name, got.Columns, want)
		}
		if want := float64(c.Bytes()); math.Abs(got.Bytes-want) > 0.05*want {
			t.Errorf("%s: %v bytes, want %v", name, got.Bytes, want)
		}
		if twice := s.Estimate(2 * n); o.Hashing+o.MaxFeatures == 0 && math.Abs(twice.Terms-2*got.Terms) > 1 {
			t.Errorf("%s: %v terms of twice the documents, want %v", name, twice.Terms, 2*got.Terms)
		}
		if fewer := s.Estimate(n / 2); fewer.Terms != got.Terms {
			t.Errorf("%s: %v terms of half the documents, want at most %v", name, fewer.Terms, got.Terms)
		}
		if want := 6.0; name == "all terms" && math.Abs(got.Entries-want) > 0.05*want {
			t.Errorf("%v entries of a row, want %v", got.Entries, want)
		}
	}
}
