package auto

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"hash"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/pipeline"
)

// notes contains the finished trials of a search, by key, and its journal.
type notes struct {
	journal *journal.Journal // nil for none
	known   map[string][]outcome
}

const (
	journalKind    = "bochner auto"
	journalVersion = 6
)

// entry records a finished trial, with its outcomes in the format of encoding/gob.
type entry struct {
	Trial    string `json:"trial"`
	Outcomes []byte `json:"outcomes"`
}

// ErrOtherSearch is in the chain of the error if a journal belongs to another search.
var ErrOtherSearch = journal.ErrOther

// openNotes opens the journal at a path and reads its trials; "" means no journal.
func openNotes(path string, head journal.Head) (*notes, error) {
	n := &notes{known: map[string][]outcome{}}
	if path == "" {
		return n, nil
	}
	var err error
	n.journal, err = journal.Open(path, head, func(line []byte) error {
		var one entry
		if err := journal.Decode(line, &one); err != nil {
			return err
		}
		var out []outcome
		err := gob.NewDecoder(bytes.NewReader(one.Outcomes)).Decode(&out)
		n.known[one.Trial] = out
		return err
	})
	return n, err
}

// find returns the results of a trial from the journal.
func (n *notes) find(key string, points int, d *division) (out []outcome, ok bool) {
	out = n.known[key]
	for _, o := range out {
		if len(o.Folds) != len(d.scores) || o.Output.Values != nil && len(o.Output.Values) != d.tested {
			return nil, false
		}
	}
	return out, len(out) == points
}

// write appends the results of a trial to the journal.
func (n *notes) write(key string, out []outcome) error {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(out); err != nil || n.journal == nil {
		return err
	}
	return n.journal.Write(entry{key, buf.Bytes()})
}

// rowsOf returns the predictions of some rows.
func rowsOf(p estimator.Prediction, at []int) (out estimator.Prediction) {
	vectors, matrices := p.Parts()
	to, toMatrices := out.Parts()
	for k, v := range vectors {
		for _, i := range at {
			if *v != nil {
				*to[k] = append(*to[k], (*v)[i])
			}
		}
	}
	for k, m := range matrices {
		if *m != nil {
			*toMatrices[k] = rowblock.Select(*m, at).(*mat.Dense)
		}
	}
	return out
}

// trialKey identifies a trial within a search.
func trialKey(rows int, list []pipeline.Pipeline) string {
	return journal.Sum(func(h hash.Hash) {
		fmt.Fprintln(h, rows)
		for _, p := range list {
			journal.Spec(h, p)
		}
	})
}

// headOf describes a search.
func (r *run) headOf() journal.Head {
	return journal.Head{Journal: journalKind, Version: journalVersion, Sums: map[string]string{
		"data": journal.Sum(func(h hash.Hash) { journal.Rows(h, r.data) }),
		"options": journal.Sum(func(h hash.Hash) {
			fmt.Fprintf(h, "%s %d %v\n", r.metric.Name, r.options.Seed, r.options.TimeOrdered)
			journal.Spec(h, pipeline.Chain{Steps: r.options.Preprocessing})
			for _, k := range r.table {
				fmt.Fprintln(h, k)
			}
		}),
	}}
}
