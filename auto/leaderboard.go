package auto

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
)

// Entry is an evaluated candidate or the selected ensemble.
type Entry struct {
	Rank     int    // 1 for the best
	Recipe   string // representation, map and model
	Settings []param.Setting
	Score    float64 // mean over the folds
	StdError float64 // standard error of Score as an estimate of the score on new rows
	// Estimate of the score of the model of all rows on new rows, only of the selected entry, else 0: the score less its
	// optimism as the maximum over candidates, plus the gain by the training rows that the folds do not have. The gain is
	// measured by a further trial of the entry. It is left out if the time left does not suffice, of rows in the order of
	// time, and of a single held-out part, as of 10,000 rows or more.
	Estimate float64
	Rows     int     // number of rows for cross-validation
	Size     int     // features or grids of the map; 0 without a map
	Seconds  float64 // time of all its fits, with its part of shared work
	Chosen   bool    // whether it is the selected candidate or a member of the ensemble
	Member   string  // name of the member of the selected ensemble that it is, else ""
	Failed   string  // why it has no score, else ""
	// PredictSeconds per row and the bytes of the model file, by a fit to few rows, of the selected one by its fit; 0
	// if they were not measured, as without limits of them.
	PredictSeconds, Bytes float64
}

// Leaderboard contains all candidates and the selected ensemble, best first. Scores on different
// numbers of rows are not comparable, because more rows improve a candidate; candidates on more rows
// come first.
type Leaderboard []Entry

// entryOf returns the entry of a candidate.
func (r *run) entryOf(s scored) Entry {
	kind := r.table[s.recipe]
	c := r.costs[s.point]
	return Entry{PredictSeconds: c.perRow, Bytes: c.bytes, Recipe: kind.String(),
		Settings: r.settingsOf(s.point), Score: s.mean, StdError: r.stdError(s),
		Rows: s.on, Size: kind.sizeOf(s.size), Seconds: s.Seconds, Failed: s.Failed}
}

// entryOfEnsemble returns the entry of an ensemble, or of its only member with the size of the map that it was fitted
// with.
func (r *run) entryOfEnsemble(e ensemble, scale float64) Entry {
	if len(e.members) == 1 {
		s := e.members[0]
		s.point = r.scaled(s.point, scale)
		return r.entryOf(s)
	}
	out := Entry{Score: e.mean, StdError: r.stdError(e.scored), Rows: e.on, Chosen: true}
	var names []string
	times := map[string]int{}
	for _, m := range e.members {
		out.Seconds += m.Seconds
		name := r.table[m.recipe].String()
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if times[name] > 1 {
			names[i] = fmt.Sprintf("%d × %s", times[name], name)
		}
	}
	out.Recipe = ensembleOf + strings.Join(names, ", ")
	return out
}

// settingsOf returns the searched parameters of a point.
func (r *run) settingsOf(p point) (out []param.Setting) {
	kind := r.table[p.recipe]
	ofMap, ofModel, err := r.searched(context.Background(), p)
	if err != nil { // it has succeeded for this point
		return nil
	}
	add := func(path string, list ...param.Setting) {
		for _, s := range list {
			out = append(out, param.Setting{Path: path + "." + s.Path, Value: s.Value})
		}
	}
	add(kind.step.name, ofMap...)
	add(kind.modelPath(p.target), ofModel...)
	if p.target != "" {
		whole := targetOf(p.target)
		add("target", param.Setting{Path: "transform", Value: whole.Transform},
			param.Setting{Path: "limits", Value: whole.Limits})
	}
	return out
}

// leaderboard ranks all candidates and the selected ensemble.
func (r *run) leaderboard() Leaderboard {
	list := slices.Clone(r.log)
	slices.SortStableFunc(list, r.rank)
	var out Leaderboard
	chosen := r.incumbent.ensemble
	names := r.memberNames(chosen)
	for _, s := range list {
		e := r.entryOf(s)
		at := slices.IndexFunc(chosen.members, func(m scored) bool { return s.point == m.point && s.round == m.round })
		if e.Chosen = at >= 0; e.Chosen && len(names) > 1 {
			e.Member = names[at]
		}
		out = append(out, e)
	}
	if len(chosen.members) > 1 {
		at := slices.IndexFunc(out, func(e Entry) bool {
			return e.Rows < chosen.on || !r.metric.Better(e.Score, chosen.mean)
		})
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, r.entryOfEnsemble(chosen, 1))
	}
	for i := range out {
		out[i].Rank = i + 1
	}
	return out
}

// column is a column of the file of a leaderboard and the address of its value in an entry.
type column struct {
	name  string
	value any
}

// requiredColumns is the number of columns in files of all versions. The others are empty if their value is 0.
const requiredColumns = 10

func (e *Entry) columns() []column {
	return []column{{"rank", &e.Rank}, {"recipe", &e.Recipe}, {"parameters", &e.Settings}, {"score", &e.Score},
		{"std_error", &e.StdError}, {"rows", &e.Rows}, {"features", &e.Size}, {"seconds", &e.Seconds},
		{"chosen", &e.Chosen}, {"failed", &e.Failed}, {"estimate", &e.Estimate},
		{"predict_seconds", &e.PredictSeconds}, {"bytes", &e.Bytes}}
}

// WriteCSV writes a row for each entry: rank, recipe, parameters, score, std_error, rows,
// features, seconds, chosen, failed, estimate, predict_seconds and bytes.
// Parameters are separated by spaces, as on a command line.
func (l Leaderboard) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var row []string
	for _, c := range (&Entry{}).columns() {
		row = append(row, c.name)
	}
	out.Write(row)
	for _, e := range l {
		e.Seconds = rounded(e.Seconds)
		for j, c := range e.columns() {
			switch v := c.value.(type) {
			case *[]param.Setting:
				row[j] = e.Parameters()
			case *float64: // round-trips
				if row[j] = strconv.FormatFloat(*v, 'g', -1, 64); *v-*v != 0 || j >= requiredColumns && *v == 0 {
					row[j] = ""
				}
			default:
				row[j] = fmt.Sprint(reflect.ValueOf(v).Elem())
			}
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// ReadLeaderboard reads a leaderboard that [Leaderboard.WriteCSV] wrote, for Options.Start.
func ReadLeaderboard(r io.Reader) (out Leaderboard, err error) {
	table, err := csv.NewReader(r).ReadAll()
	if len(table) == 0 {
		table = [][]string{nil}
	}
	for i := 0; i < len(table) && err == nil; i++ {
		e := Entry{Score: math.NaN()}
		for j, c := range e.columns() {
			at := slices.Index(table[0], c.name)
			switch {
			case at < 0 && j < requiredColumns:
				return nil, fmt.Errorf("auto: cannot read the leaderboard: no column %s", c.name)
			case i > 0 && at >= 0 && table[i][at] != "":
				err = cmp.Or(err, c.read(table[i][at]))
			}
		}
		if out = append(out, e); err != nil {
			err = fmt.Errorf("row %d: %w", i-1, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("auto: cannot read the leaderboard: %w", err)
	}
	return out[1:], nil // without the header
}

// read reads a value.
func (c column) read(text string) error {
	switch to := c.value.(type) {
	case *string:
		*to = text
	case *[]param.Setting:
		for _, word := range strings.Fields(text) {
			path, value, ok := strings.Cut(word, "=")
			if !ok {
				return fmt.Errorf("parameters: must be path=value, got %q", word)
			}
			s := param.Setting{Path: path, Value: value}
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				s.Value = v
			}
			*to = append(*to, s)
		}
	default:
		if _, err := fmt.Sscan(text, to); err != nil {
			return fmt.Errorf("%s: must be a %s, got %q", c.name, reflect.TypeOf(to).Elem(), text)
		}
	}
	return nil
}

// Parameters writes the settings on one line: "rff.gamma=0.1 ridge.alpha=1".
func (e Entry) Parameters() string {
	if len(e.Settings) == 0 {
		return ""
	}
	return gridsearch.Candidate{Settings: e.Settings}.String()
}
