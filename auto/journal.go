package auto

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/bochner-ml/bochner/internal/journal"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// notes are the trials of a search that have ended, kept in its journal.
type notes struct {
	journal *journal.Journal // nil for none
	known   map[string]note
}

const (
	journalKind    = "bochner auto"
	journalVersion = 3
)

// head of a journal. The sums are of what makes a difference to scores.
type journalHead struct {
	Journal string `json:"journal"`
	Version int    `json:"version"`
	Data    string `json:"data"`
	Options string `json:"options"`
}

// note is a trial that has ended.
type note struct {
	Trial  string      `json:"trial"`
	Scored []noteScore `json:"scored"`
}

// noteScore is a candidate of it. Missing scores are null, and predictions the bytes of 32-bit floats.
type noteScore struct {
	Folds   []*float64 `json:"folds,omitempty"`
	Mean    *float64   `json:"mean,omitempty"`
	Std     *float64   `json:"std,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
	Failed  string     `json:"failed,omitempty"`
	Outputs int        `json:"outputs,omitempty"`
	Said    []byte     `json:"said,omitempty"`
}

// ErrOtherSearch is in the chain of the error where a journal is of another search.
var ErrOtherSearch = errors.New("the journal is of another search")

// openNotes reads what is in the journal at a path, "" for none.
func openNotes(path string, head journalHead) (*notes, error) {
	n := &notes{known: map[string]note{}}
	if path == "" {
		return n, nil
	}
	var err error
	n.journal, err = journal.Open(path, head, head.matches, func(line []byte) error {
		var one note
		err := journal.Decode(line, &one)
		n.known[one.Trial] = one
		return err
	})
	return n, err
}

// matches reports whether a journal with this head is of the same search.
func (h journalHead) matches(line []byte) error {
	if ours, err := json.Marshal(h); err != nil || !bytes.Equal(ours, line) {
		return fmt.Errorf("%w: of other rows, or with other options; remove the file or give another", ErrOtherSearch)
	}
	return nil
}

// find returns what a trial found, if it is in the journal.
func (n *notes) find(key string, points, folds int) (out []scored, ok bool) {
	one, ok := n.known[key]
	if !ok || len(one.Scored) != points {
		return nil, false
	}
	out = make([]scored, points)
	for i, c := range one.Scored {
		if len(c.Folds) != folds || len(c.Said)%4 != 0 || c.Outputs > 0 && len(c.Said)/4%c.Outputs != 0 {
			return nil, false
		}
		out[i] = scored{mean: orNaN(c.Mean), std: orNaN(c.Std), seconds: c.Seconds, failed: c.Failed, outputs: c.Outputs}
		for _, v := range c.Folds {
			out[i].folds = append(out[i].folds, orNaN(v))
		}
		for at := 0; at < len(c.Said); at += 4 {
			out[i].said = append(out[i].said, math.Float32frombits(binary.LittleEndian.Uint32(c.Said[at:])))
		}
	}
	return out, true
}

// write adds what a trial found.
func (n *notes) write(key string, out []scored) error {
	if n.journal == nil {
		return nil
	}
	one := note{Trial: key}
	for _, s := range out {
		c := noteScore{Mean: finite(s.mean), Std: finite(s.std), Seconds: s.seconds, Failed: s.failed, Outputs: s.outputs}
		for _, v := range s.folds {
			c.Folds = append(c.Folds, finite(v))
		}
		for _, v := range s.said {
			c.Said = binary.LittleEndian.AppendUint32(c.Said, math.Float32bits(v))
		}
		one.Scored = append(one.Scored, c)
	}
	return n.journal.Write(one)
}

// finite returns a pointer to a number, nil where it is none.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// trialKey tells a trial from others of the same search.
func trialKey(rows int, list []pipeline.Pipeline) string {
	return journal.Sum(func(h hash.Hash) {
		fmt.Fprintln(h, rows)
		for _, p := range list {
			describe(h, p.Steps, p)
		}
	})
}

// describe writes all that makes a difference to what a pipeline learns.
func describe(w io.Writer, steps []pipeline.Step, spec any) {
	for _, s := range steps {
		fmt.Fprintf(w, "%T %s\n", s.Fitter, s.Path())
		if c, ok := s.Fitter.(pipeline.Composite); ok {
			describe(w, c.Children(), nil)
		}
		if g, ok := s.Fitter.(pipeline.Group); ok {
			fmt.Fprintf(w, "%q\n", g.Select)
		}
	}
	if spec == nil {
		return
	}
	for _, p := range param.All(spec) {
		fmt.Fprintf(w, "%s=%#v\n", p.Path, p.Value)
	}
}

// headOf describes a search.
func (r *run) headOf() journalHead {
	head := journalHead{Journal: journalKind, Version: journalVersion}
	head.Data = journal.Sum(func(h hash.Hash) { journal.Rows(h, r.data) })
	head.Options = journal.Sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%s %d %v\n", r.metric.Name, r.options.Seed, r.options.Timed)
		describe(h, r.options.Clean, pipeline.Chain{Steps: r.options.Clean})
		for _, k := range r.table {
			fmt.Fprintln(h, k)
		}
	})
	return head
}
