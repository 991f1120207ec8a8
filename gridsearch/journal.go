package gridsearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/bochner-ml/bochner/internal/journal"
	"github.com/bochner-ml/bochner/param"
)

const (
	journalKind    = "bochner grid search"
	journalVersion = 2
)

// header tells a search from others. The sums are of everything that makes a difference to scores.
type header struct {
	Journal   string `json:"journal"`
	Version   int    `json:"version"`
	Estimator string `json:"estimator"`
	Grid      string `json:"grid"`
	Scores    string `json:"scores"`
	Folds     string `json:"folds"`
	Data      string `json:"data"`
}

// entry is a fit that has ended, or the names of what a batch has shared. A missing score is null;
// the others are written so that they read back bit for bit.
type entry struct {
	Round       int        `json:"round,omitempty"`
	Candidate   *int       `json:"candidate,omitempty"` // among those with the same resource
	Fold        *int       `json:"fold,omitempty"`
	Scores      []*float64 `json:"scores,omitempty"`
	Seconds     float64    `json:"seconds,omitempty"`
	Failed      string     `json:"failed,omitempty"`
	Unconverged bool       `json:"unconverged,omitempty"`
	Known       bool       `json:"known,omitempty"`
	Shared      []string   `json:"shared,omitempty"`
}

func entryOf(at place, o outcome) entry {
	e := entry{Round: at.round, Candidate: &at.candidate, Fold: &at.fold, Seconds: o.seconds, Failed: o.failed, Unconverged: o.unconverged, Known: o.known}
	e.Scores = make([]*float64, len(o.scores))
	for i := range o.scores {
		if finite(o.scores[i]) {
			e.Scores[i] = &o.scores[i]
		}
	}
	return e
}

// openJournal opens the search's journal for writing, a new one where there is none, and notes the
// outcomes in it.
func openJournal(r *run) (*journal.Journal, error) {
	ours := r.header()
	r.noted, r.told = map[place]outcome{}, map[int]bool{}
	return journal.Open(r.search.Journal, ours, ours.matches, r.replay)
}

// matches reports in what the journal's search differs from this one.
func (h header) matches(line []byte) error {
	var theirs header
	if err := json.Unmarshal(line, &theirs); err != nil || theirs.Journal != journalKind {
		return journal.ErrForeign
	}
	if theirs.Version != journalVersion {
		return fmt.Errorf("it has version %d of the format, wanted %d; remove it to start anew", theirs.Version, journalVersion)
	}
	var differ []string
	for _, part := range []struct{ name, ours, theirs string }{
		{"estimator", h.Estimator, theirs.Estimator},
		{"grid", h.Grid, theirs.Grid},
		{"scores", h.Scores, theirs.Scores},
		{"folds", h.Folds, theirs.Folds},
		{"data", h.Data, theirs.Data},
	} {
		if part.ours != part.theirs {
			differ = append(differ, part.name)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("it is of another search, which differs in %s; remove it to start anew", strings.Join(differ, ", "))
	}
	return nil
}

// replay notes an entry.
func (r *run) replay(line []byte) error {
	var e entry
	if err := journal.Decode(line, &e); err != nil {
		return err
	}
	if e.Candidate == nil && e.Fold == nil {
		r.share(e.Shared)
		r.told[e.Round] = true
		return nil
	}
	switch {
	case e.Candidate == nil || e.Fold == nil,
		*e.Candidate < 0 || *e.Candidate >= len(r.candidates)+r.proposed.left,
		*e.Fold < 0 || *e.Fold >= len(r.folds),
		len(e.Scores) != len(r.scorer.metrics):
		return errors.New("it is of no fit of this search")
	}
	out := outcome{done: true, seconds: e.Seconds, failed: e.Failed, unconverged: e.Unconverged, known: e.Known}
	for _, v := range e.Scores {
		if v == nil {
			nan := math.NaN()
			v = &nan
		}
		out.scores = append(out.scores, *v)
	}
	if math.IsNaN(out.scores[0]) != (out.failed != "") {
		return errors.New("a fit has either a score or a failure")
	}
	r.noted[place{e.Round, *e.Candidate, *e.Fold}] = out
	return nil
}

// header describes r. A spec is known by its type, those of its parts, and the parameters it declares;
// the values of an axis are left out of it, for the grid has them.
func (r *run) header() header {
	h := header{Journal: journalKind, Version: journalVersion}
	h.Estimator = journal.Sum(func(w hash.Hash) {
		identify(w, reflect.ValueOf(r.candidates[0].spec))
		for _, p := range param.All(r.candidates[0].spec) {
			fmt.Fprintf(w, "%s\n", p.Path)
			if !r.search.searched(p.Path) {
				fmt.Fprintf(w, "%#v\n", p.Value)
			}
		}
	})
	h.Grid = journal.Sum(func(w hash.Hash) {
		fmt.Fprintf(w, "%#v\n", r.search.Strategy)
		for _, a := range r.search.Grid {
			settings, _ := r.search.settings(a)
			fmt.Fprintf(w, "%#v\n", settings)
		}
		for _, c := range r.candidates {
			journal.Numbers(w, c.at)
		}
	})
	h.Scores = journal.Sum(func(w hash.Hash) {
		for _, m := range r.scorer.metrics {
			fmt.Fprintf(w, "%s\n", m.Name)
		}
	})
	if r.stream != nil {
		r.stream.mark(&h, r.scorer.truth)
		return h
	}
	h.Folds = journal.Sum(func(w hash.Hash) {
		for _, f := range r.folds {
			journal.Numbers(w, f.Train)
			journal.Numbers(w, f.Test)
		}
	})
	h.Data = journal.Sum(func(w hash.Hash) { journal.Rows(w, r.data) })
	return h
}

// identify writes the types of a spec and of all its parts, with their packages' whole paths, and
// their texts, such as which columns a group selects. The numbers are parameters.
func identify(w io.Writer, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	fmt.Fprintf(w, "%s %s\n", v.Type().PkgPath(), v.Type())
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(w, "%q\n", v.String())
	case reflect.Slice, reflect.Array:
		fmt.Fprintln(w, v.Len())
		for i := range v.Len() {
			identify(w, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			identify(w, v.Field(i))
		}
	case reflect.Interface:
		identify(w, v.Elem())
	case reflect.Pointer:
		if _, spec := reflect.Zero(v.Type()).Interface().(param.Declarer); spec {
			identify(w, v.Elem())
		}
	}
}

func (s Search) searched(path string) bool {
	for _, a := range s.Grid {
		if a.Path == path {
			return true
		}
	}
	return false
}
