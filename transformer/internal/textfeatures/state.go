package textfeatures

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/model"
)

// state saves or restores the options that a map of documents depends on.
func (o *Options) state(s *model.State) {
	s.String("analyzer", &o.Analyzer)
	s.Int("min_n", &o.MinN)
	s.Int("max_n", &o.MaxN)
	s.Bool("lowercase", &o.Lowercase)
	s.Strings("stop_words", &o.StopWords)
	s.Int("hashing", &o.Hashing)
	if s.Has("indicator") {
		s.Bool("indicator", &o.Indicator)
	}
	s.Bool("sublinear", &o.Sublinear)
	s.Bool("use_idf", &o.IDF)
	s.String("norm", &o.Norm)
	if s.Restoring() && s.Err() == nil {
		o.MinCount, o.MaxShare = 1, 1
		if err := o.Check(); err != nil {
			s.Fail("%v", err)
		}
	}
}

// State saves or restores the map.
func (v *Vectorizer) State(s *model.State) {
	v.options.state(s)
	s.Strings("vocabulary", &v.vocabulary)
	s.Floats("idf", &v.idf)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	v.terms = v.options.Hashing
	if v.terms == 0 {
		v.terms = len(v.vocabulary)
	}
	if !v.options.IDF {
		s.Require(len(v.idf) == 0, "weights of terms without use_idf")
		v.idf = nil
	} else {
		s.Require(len(v.idf) == v.terms, "the number of weights is not that of terms")
	}
	s.Require(v.terms > 0, "there are no terms")
	s.Require(v.options.Hashing == 0 || len(v.vocabulary) == 0, "hashed columns have a vocabulary")
	s.Require(slices.IsSorted(v.vocabulary), "the vocabulary is not sorted")
	for k := 1; k < len(v.vocabulary); k++ {
		s.Require(v.vocabulary[k] != v.vocabulary[k-1], "a term is listed twice")
	}
	for _, w := range v.idf {
		s.Require(w-w == 0, "a weight is not finite")
	}
	if s.Err() == nil {
		v.analyzer = v.options.analyzer()
		v.index()
	}
}

// State saves or restores the counts; it restores into a counter of the same options.
func (c *Counter) State(s *model.State) {
	var terms []string
	var documents, occurrences []int
	if !s.Restoring() {
		if c.terms != nil {
			terms = slices.Sorted(maps.Keys(c.terms))
		}
		for k := range c.counts {
			at := k
			if c.terms != nil {
				at = int(c.terms[terms[k]])
			}
			documents, occurrences = append(documents, c.counts[at].documents), append(occurrences, c.counts[at].occurrences)
		}
	}
	s.Int("documents", &c.documents)
	s.Strings("terms", &terms)
	s.Ints("term_texts", &documents)
	s.Ints("term_occurrences", &occurrences)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	want := len(terms)
	if c.terms == nil {
		want = len(c.counts)
	}
	s.Require(c.documents >= 0, "the number of documents is negative")
	s.Require(len(documents) == want && len(occurrences) == want && (c.terms != nil || len(terms) == 0),
		"counts and terms do not fit")
	if s.Err() != nil {
		return
	}
	if c.terms != nil {
		clear(c.terms)
		c.counts = c.counts[:0]
	}
	for k := range want {
		n := termCount{documents: documents[k], occurrences: occurrences[k]}
		s.Require(n.documents >= 0 && n.documents <= c.documents && n.occurrences >= n.documents, "a count is out of bounds")
		at := k
		if c.terms != nil {
			at = c.number([]byte(terms[k]))
			s.Require(at == k, "a term is listed twice")
		}
		if s.Err() != nil {
			return
		}
		c.counts[at] = n
	}
}
