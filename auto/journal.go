package auto

import (
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/pipeline"
)

// notes contains the finished trials of a search, by key, and its journal.
type notes struct {
	journal *journal.Journal // nil for none
	known   map[string]note
}

const (
	journalKind    = "bochner auto"
	journalVersion = 5
)

// note records a finished trial.
type note struct {
	Trial  string      `json:"trial"`
	Scored []noteScore `json:"scored"`
}

// noteScore records a candidate of a trial. Said contains its predictions as little-endian float32
// values.
type noteScore struct {
	Folds   []journal.Number `json:"folds,omitempty"`
	Mean    journal.Number   `json:"mean"`
	Spread  journal.Number   `json:"spread"`
	Seconds float64          `json:"seconds,omitempty"`
	Failed  string           `json:"failed,omitempty"`
	Outputs int              `json:"outputs,omitempty"`
	Said    []byte           `json:"said,omitempty"`
}

// ErrOtherSearch is in the chain of the error if a journal belongs to another search.
var ErrOtherSearch = journal.ErrOther

// openNotes opens the journal at a path and reads its trials; "" means no journal.
func openNotes(path string, head journal.Head) (*notes, error) {
	n := &notes{known: map[string]note{}}
	if path == "" {
		return n, nil
	}
	var err error
	n.journal, err = journal.Open(path, head, func(line []byte) error {
		var one note
		err := journal.Decode(line, &one)
		n.known[one.Trial] = one
		return err
	})
	return n, err
}

// find returns the results of a trial from the journal.
func (n *notes) find(key string, points int, folds []datasets.Fold) (out []scored, ok bool) {
	one, ok := n.known[key]
	if !ok || len(one.Scored) != points {
		return nil, false
	}
	tested := 0
	for _, f := range folds {
		tested += len(f.Test)
	}
	out = make([]scored, points)
	for i, c := range one.Scored {
		if len(c.Folds) != len(folds) || len(c.Said) != 0 && len(c.Said) != 4*c.Outputs*tested {
			return nil, false
		}
		out[i] = scored{mean: float64(c.Mean), spread: float64(c.Spread), seconds: c.Seconds, failed: c.Failed,
			outputs: c.Outputs}
		for _, v := range c.Folds {
			out[i].folds = append(out[i].folds, float64(v))
		}
		for at := 0; at < len(c.Said); at += 4 {
			out[i].output = append(out[i].output, math.Float32frombits(binary.LittleEndian.Uint32(c.Said[at:])))
		}
	}
	return out, true
}

// write appends the results of a trial to the journal.
func (n *notes) write(key string, out []scored) error {
	one := note{Trial: key}
	for _, s := range out {
		c := noteScore{Mean: journal.Number(s.mean), Spread: journal.Number(s.spread), Seconds: s.seconds, Failed: s.failed,
			Outputs: s.outputs}
		for _, v := range s.folds {
			c.Folds = append(c.Folds, journal.Number(v))
		}
		for _, v := range s.output {
			c.Said = binary.LittleEndian.AppendUint32(c.Said, math.Float32bits(v))
		}
		one.Scored = append(one.Scored, c)
	}
	return n.journal.Write(one)
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
