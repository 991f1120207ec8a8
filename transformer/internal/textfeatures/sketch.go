package textfeatures

import (
	"math"
	"slices"
)

// Sketch estimates the number of distinct terms of documents in bounded memory. It counts only the
// terms whose hash is below a threshold, which it halves when there are too many. (Flajolet, "On
// adaptive sampling", Computing 43, 1990.)
type Sketch struct {
	options   Options
	analyzer  *Analyzer
	documents int
	level     int // a term is counted with probability 2^−level
	terms     map[uint64]sketchCount
	scan      scan
	read      int      // bytes of all terms
	found     []uint64 // terms of a document
	entries   int      // distinct terms of all documents, one after the other
	one       func(term []byte)
}

type sketchCount struct{ documents, last, size int }

// Limits of a sketch. The relative standard error of its counts is about 1.2/√8192.
const (
	maxSketched   = 1 << 14 // terms
	maxSketchRead = 1 << 30 // bytes of terms, about two seconds
)

// NewSketch returns a sketch without documents.
func NewSketch(o Options) (*Sketch, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &Sketch{options: o, analyzer: o.analyzer(), terms: map[uint64]sketchCount{}}
	s.one = s.add
	return s, nil
}

// Add counts the terms of a document. It reports whether further documents are to be added.
func (s *Sketch) Add(text string) (more bool) {
	s.documents++
	s.found = s.found[:0]
	s.analyzer.terms(&s.scan, text, s.one)
	slices.Sort(s.found)
	s.entries += len(slices.Compact(s.found))
	return s.read < maxSketchRead
}

func (s *Sketch) add(term []byte) {
	if s.read >= maxSketchRead {
		return
	}
	s.read += len(term)
	h := hash64(term)
	s.found = append(s.found, h)
	if h>>(64-s.level) != 0 {
		return
	}
	n := s.terms[h]
	if n.last != s.documents {
		n.documents++
	}
	n.last, n.size = s.documents, len(term)
	s.terms[h] = n
	for len(s.terms) > maxSketched {
		s.level++
		for h := range s.terms {
			if h>>(64-s.level) != 0 {
				delete(s.terms, h)
			}
		}
	}
}

// hash64 is FNV-1a with a final mix, which makes its high bits uniform.
func hash64(term []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range term {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// Estimate describes the terms of documents.
type Estimate struct {
	Terms   float64 // distinct terms
	Columns float64 // output columns
	Entries float64 // nonzero entries of a row
	Bytes   float64 // memory of the counts of the terms
}

// Plus returns the estimate of two text columns together.
func (e Estimate) Plus(other Estimate) Estimate {
	return Estimate{e.Terms + other.Terms, e.Columns + other.Columns, e.Entries + other.Entries, e.Bytes + other.Bytes}
}

// Estimate extrapolates the counts to n documents: linearly, and to fewer documents than were added
// by the same counts, which are upper bounds.
func (s *Sketch) Estimate(n int) Estimate {
	var e Estimate
	if s.documents == 0 {
		return e
	}
	scale := math.Ldexp(1, s.level)
	e.Entries = float64(s.entries) / float64(s.documents)
	all := scale * max(float64(n)/float64(s.documents), 1)
	for _, t := range s.terms {
		e.Terms += all
		e.Bytes += all * termBytes(t.size)
		if float64(t.documents)*float64(n) >= float64(s.options.MinCount)*float64(s.documents) {
			e.Columns += all
		} else {
			e.Entries -= scale * float64(t.documents) / float64(s.documents)
		}
	}
	if h := s.options.Hashing; h > 0 {
		e.Columns, e.Bytes = float64(h), float64(h)*hashedBytes
	} else if limit := s.options.MaxFeatures; limit > 0 {
		e.Columns = min(e.Columns, float64(limit))
	}
	e.Entries = min(max(e.Entries, 0), e.Columns)
	return e
}

// termBytes is the memory of a term with the given length: in the map and the counts of a
// [Counter], in the sorted list, and in the map of a [Vectorizer].
func termBytes(length int) float64 { return float64(150 + length) }

// hashedBytes is the memory of a hashed column: its counts and its weight.
const hashedBytes = 24 + 8
