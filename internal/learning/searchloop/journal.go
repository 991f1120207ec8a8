package searchloop

import (
	"bytes"
	"encoding/gob"
	"errors"

	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/model"
)

// Fit identifies a fit of a search.
type Fit struct {
	// Key identifies a candidate of a search whose candidates depend on time, by its spec and rows.
	Key string
	// Round and Candidate identify any other candidate, among those with the same resource.
	Round, Candidate int
	Fold             int
}

// Outcome is the result of a fit. The zero value is that of no fit.
type Outcome struct {
	Done        bool
	Scores      []float64 // NaN if missing
	Seconds     float64   // of the fit
	Failed      string    // why the deciding score is missing
	Err         error     // of Failed; nil if it was read from the journal
	TimedOut    bool      // whether the budget ended before the fit; never in the journal
	Unconverged bool
	Output      model.Prediction // of the test rows, if it is stored
}

// Entry is a line of the journal: a finished fit, or the names of the work that a batch shared.
type Entry struct {
	Key         string           `json:"key,omitempty"`
	Round       int              `json:"round,omitempty"`
	Candidate   *int             `json:"candidate,omitempty"`
	Fold        *int             `json:"fold,omitempty"`
	Scores      []journal.Number `json:"scores,omitempty"`
	Seconds     float64          `json:"seconds,omitempty"`
	Failed      string           `json:"failed,omitempty"`
	Unconverged bool             `json:"unconverged,omitempty"`
	Output      []byte           `json:"output,omitempty"` // by encoding/gob
	Shared      []string         `json:"shared,omitempty"`
}

// Fit returns the fit of the entry; ok is false if it has none.
func (e Entry) Fit() (at Fit, ok bool) {
	if e.Candidate == nil || e.Fold == nil {
		return at, false
	}
	return Fit{e.Key, e.Round, *e.Candidate, *e.Fold}, true
}

// Open opens or creates the journal at a path and reads its fits; "" means no journal. check, unless nil, returns an
// error for a fit of another search. shared receives the entries without a fit.
func (l *Loop) Open(path string, head journal.Head, check func(Fit, Outcome) error, shared func(Entry)) (err error) {
	if l.recorded = map[Fit]Outcome{}; path == "" {
		return nil
	}
	l.journal, err = journal.Open(path, head, func(line []byte) error {
		var e Entry
		if err := journal.Decode(line, &e); err != nil {
			return err
		}
		at, ok := e.Fit()
		switch {
		case !ok && e.Candidate == nil && e.Fold == nil && shared != nil:
			shared(e)
			return nil
		case !ok:
			return errors.New("it is of no fit of this search")
		}
		out := Outcome{Done: true, Seconds: e.Seconds, Failed: e.Failed, Unconverged: e.Unconverged}
		for _, v := range e.Scores {
			out.Scores = append(out.Scores, float64(v))
		}
		if e.Output != nil {
			if err := gob.NewDecoder(bytes.NewReader(e.Output)).Decode(&out.Output); err != nil {
				return err
			}
		}
		if l.recorded[at] = out; check != nil {
			return check(at, out)
		}
		return nil
	})
	return err
}

// Recorded returns the outcome of a fit from the journal.
func (l *Loop) Recorded(at Fit) (out Outcome, ok bool) {
	out, ok = l.recorded[at]
	return out, ok
}

// Write appends a fit to the journal.
func (l *Loop) Write(at Fit, o Outcome) error {
	if l.journal == nil {
		return nil
	}
	e := Entry{Key: at.Key, Round: at.Round, Candidate: &at.Candidate, Fold: &at.Fold, Seconds: o.Seconds,
		Failed: o.Failed, Unconverged: o.Unconverged}
	for _, v := range o.Scores {
		e.Scores = append(e.Scores, journal.Number(v))
	}
	if o.Output.Values != nil {
		var buf bytes.Buffer
		if err := gob.NewEncoder(&buf).Encode(o.Output); err != nil {
			return err
		}
		e.Output = buf.Bytes()
	}
	return l.journal.Write(e)
}

// WriteShared appends the names of shared work of a round to the journal.
func (l *Loop) WriteShared(round int, names []string) error {
	return l.journal.Write(Entry{Round: round, Shared: names})
}

// Journaled reports whether the search has a journal.
func (l *Loop) Journaled() bool { return l.journal != nil }

// Close closes the journal.
func (l *Loop) Close() error { return l.journal.Close() }
