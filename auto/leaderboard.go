package auto

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
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
	// Estimate is the score less its optimism as the maximum over candidates; only of the selected entry, else 0.
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
func (r *run) settingsOf(p point) []param.Setting {
	kind := r.table[p.recipe]
	spec, err := r.pipelineOf(context.Background(), p) // it has succeeded for this point
	if err != nil {
		return nil
	}
	model := kind.modelPath(p.target)
	paths := []string{model + "." + kind.penalty}
	if p.target != "" {
		paths = append(paths, "target.transform", "target.limits")
	}
	switch {
	case kind.mapping.exact():
		paths = append([]string{model + ".gamma"}, paths...)
	case kind.rule != "":
		paths = append([]string{kind.step.name + "." + kind.mapping.size, kind.step.name + ".gamma"}, paths...)
	}
	var out []param.Setting
	for _, path := range paths {
		if value, err := param.Get(spec, path); err == nil {
			out = append(out, param.Setting{Path: path, Value: value})
		}
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
			return e.Rows < r.leader.on || !r.metric.Better(e.Score, chosen.mean)
		})
		out = slices.Insert(out, at, r.entryOfEnsemble(chosen, 1))
	}
	for i := range out {
		out[i].Rank = i + 1
	}
	return out
}

var leaderboardColumns = []string{"rank", "recipe", "parameters", "score", "std_error", "rows", "features", "seconds",
	"chosen", "failed", "estimate", "predict_seconds", "bytes"}

// WriteCSV writes a row for each entry: rank, recipe, parameters, score, std_error, rows,
// features, seconds, chosen, failed, estimate, predict_seconds and bytes.
// Parameters are separated by spaces, as on a command line.
func (l Leaderboard) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(leaderboardColumns)
	for _, e := range l {
		optional := func(v float64) string {
			if v == 0 {
				return ""
			}
			return number(v)
		}
		out.Write([]string{
			strconv.Itoa(e.Rank), e.Recipe, e.Parameters(), number(e.Score), number(e.StdError), strconv.Itoa(e.Rows),
			strconv.Itoa(e.Size), strconv.FormatFloat(e.Seconds, 'g', 3, 64), strconv.FormatBool(e.Chosen), e.Failed,
			optional(e.Estimate), optional(e.PredictSeconds), optional(e.Bytes),
		})
	}
	out.Flush()
	return out.Error()
}

// Parameters writes the settings on one line: "rff.gamma=0.1 ridge.alpha=1".
func (e Entry) Parameters() string {
	if len(e.Settings) == 0 {
		return ""
	}
	return gridsearch.Candidate{Settings: e.Settings}.String()
}

// number formats a score so that it round-trips, "" if it is not finite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
