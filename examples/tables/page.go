package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/svg"
)

// Delimiters of the tables on the page. The text around them is written by hand.
const (
	begin = "<!-- made by go run ./examples/tables: begin -->\n"
	end   = "<!-- end -->\n"
)

// writePage replaces the tables of the page.
func writePage(path, tables string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the tables, which is between %q and %q", path, strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+tables+end+after), 0o644)
}

// page returns the tables of results for the page, and a page of details.
func page(under conditions, results []result) (tables, details string) {
	s := summarize(results)
	host := fmt.Sprintf("%s, %s; %d threads for every method, %v min for a search.\n\n", under.Machine, runtime.Version(),
		under.Threads, under.Minutes)
	var w, d strings.Builder
	w.WriteString("\n" + host)
	s.writeStandings(&w)
	s.writeBehind(&w)
	d.WriteString("# Every set of the benchmark of `bochner auto`\n\n<!-- made by go run ./examples/tables -->\n\n" + host)
	s.writeLosses(&d)
	s.writeRMSE(&d)
	s.writeCosts(&d)
	s.writeFailures(&d)
	return w.String(), strings.TrimSuffix(d.String(), "\n")
}

// chart returns the picture of the mean ranks.
func chart(results []result) string {
	s := summarize(results)
	bars := svg.Bars{Title: "Mean rank by test error", XLabel: "1 is the best of all methods on every set"}
	for _, one := range slices.SortedFunc(slices.Values(s.standings), func(a, b standing) int { return cmp.Compare(a.rank, b.rank) }) {
		bars.Names, bars.Values = append(bars.Names, one.method), append(bars.Values, one.rank)
		bars.Labels = append(bars.Labels, fmt.Sprintf("%.2f", one.rank))
	}
	return bars.SVG()
}

func (s summary) names() []string {
	var out []string
	for _, one := range s.standings {
		out = append(out, one.method)
	}
	return out
}

// head writes the head of a table; the first columns contain strings, the others numbers.
func head(w *strings.Builder, strs, numbers []string) {
	fmt.Fprintf(w, "| %s |\n%s%s|\n", strings.Join(append(slices.Clone(strs), numbers...), " | "),
		strings.Repeat("|---", len(strs)), strings.Repeat("|---:", len(numbers)))
}

func (s summary) writeStandings(w *strings.Builder) {
	fmt.Fprintf(w, "## All sets\n\n")
	head(w, []string{"method", "what it is", "version"}, []string{"mean rank", "win rate", "normalized error",
		"first", "over 5 % behind the best", "failed", "sets"})
	for _, one := range s.standings {
		what := "bochner auto"
		for _, p := range peers {
			if p.name == one.method {
				what = p.about
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.2f | %.2f | %.2f | %d | %d | %d | %d |\n", one.method, what,
			strings.Join(one.versions, "; "),
			one.rank, one.wins, one.error, one.first, one.behind, one.failed, s.whole)
	}
	fmt.Fprintf(w, "\n%s", `Ranks go by the mean over the splits; equals share the mean of their places. The win rate is the share of other
methods that a method beats, over all sets. The normalized error of a set is 0 for the best method and 1 from the
median on. A method is behind on a set where its mean is more than 1.05 times the best one. One that has failed on a
split is last there, and behind.
`)
	if absent := s.absent(); len(absent) > 0 {
		fmt.Fprintf(w, "Not measured: %s.\n", strings.Join(absent, ", "))
	}
	w.WriteString("\n")
}

// absent returns the baselines without any result.
func (s summary) absent() []string {
	var out []string
	for _, name := range peerNames() {
		if !slices.Contains(s.names(), name) {
			out = append(out, name)
		}
	}
	return out
}

func (s summary) writeLosses(w *strings.Builder) {
	fmt.Fprintf(w, "## Every set\n\n%s",
		`Wrong test rows, or 1 minus the score, in per cent: mean ± standard deviation over the splits, and the rank. The best
is bold. The last column is the difference of ours to the best baseline (▼, ▼▼ for more than 5 %), or ahead of it.

`)
	head(w, []string{"set", "measure"}, slices.Concat([]string{"rows", "tested", "inputs", "splits"}, s.names(),
		[]string{"ours"}))
	for _, r := range s.rows {
		measure := measureName(r.task, r.score)
		name := r.set
		if !r.whole {
			name += " *"
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d |", name, measure, r.train, r.test, r.inputs, r.splits())
		least, _ := best(r.cells)
		for _, c := range r.cells {
			fmt.Fprintf(w, " %s |", c.text(least))
		}
		fmt.Fprintf(w, " %s |\n", s.against(r))
	}
	if s.whole < len(s.rows) {
		fmt.Fprint(w, "\n\\* not all methods have results of the same splits: not counted above.\n")
	}
	w.WriteString("\n")
}

// measureName returns the name of the loss of a set.
func measureName(task, score string) string {
	switch {
	case score == "f1":
		return "1 − F1"
	case score == "roc_auc":
		return "1 − AUC"
	case task == string(datasets.Regression):
		return "1 − R²"
	}
	return "error"
}

func (r row) splits() int {
	most := 0
	for _, c := range r.cells {
		most = max(most, c.splits)
	}
	return most
}

func (c cell) text(least float64) string {
	switch {
	case c.splits == 0:
		return "–"
	case c.failed != "":
		return fmt.Sprintf("failed (%.3g)", c.rank)
	}
	words := fmt.Sprintf("%.2f", 100*c.mean)
	if c.mean == least {
		words = "**" + words + "**"
	}
	if c.splits > 1 {
		words += fmt.Sprintf(" ± %.2f", 100*c.spread)
	}
	return words + fmt.Sprintf(" (%.3g)", c.rank)
}

// against compares our cell of a row with the best peer's.
func (s summary) against(r row) string {
	if s.standings[0].method != oursName || r.cells[0].splits == 0 {
		return "–"
	}
	ours := r.cells[0].loss()
	peer, at := best(r.cells[1:])
	switch {
	case at < 0:
		return "no peer"
	case math.IsInf(ours, 1):
		return "▼▼ failed"
	case ours == peer:
		return "equal"
	}
	name := s.standings[at+1].method
	share := "" // of a loss that is 0 there is none
	if peer > 0 {
		share = fmt.Sprintf("%.1f %% ", 100*math.Abs(ours/peer-1))
	}
	switch {
	case behind(ours, peer):
		return "▼▼ " + share + "behind " + name
	case ours > peer:
		return "▼ " + share + "behind " + name
	}
	return share + "ahead of " + name
}

// writeBehind lists the sets on which our methods are behind.
func (s summary) writeBehind(w *strings.Builder) {
	var lost []string
	for _, r := range s.rows {
		if words := s.against(r); strings.HasPrefix(words, "▼") {
			lost = append(lost, fmt.Sprintf("- %s: %s\n", r.set, words))
		}
	}
	if lost != nil {
		fmt.Fprintf(w, "## Where ours loses\n\n%s\n", strings.Join(lost, ""))
	}
}

// write writes a table of one number for each set and method.
func (s summary) write(w *strings.Builder, title string, rows []row, number func(c cell) float64) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "## %s\n\n", title)
	head(w, []string{"set"}, s.names())
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |", r.set)
		for _, c := range r.cells {
			if v := number(c); c.splits == 0 || c.failed != "" || v == 0 { // a cost of 0 is unknown
				fmt.Fprint(w, " – |")
			} else {
				fmt.Fprintf(w, " %.4g |", v)
			}
		}
		w.WriteString("\n")
	}
	w.WriteString("\n")
}

func (s summary) writeRMSE(w *strings.Builder) {
	var rows []row
	for _, r := range s.rows {
		if r.task == string(datasets.Regression) {
			rows = append(rows, r)
		}
	}
	s.write(w, "Root of the mean squared error", rows, func(c cell) float64 { return c.rmse })
}

// writeCosts writes the times and the size of the models.
func (s summary) writeCosts(w *strings.Builder) {
	s.write(w, "Seconds of the fit with reading and search, median of the splits", s.rows,
		func(c cell) float64 { return c.fit })
	s.write(w, "Seconds of the predictions of the test rows", s.rows, func(c cell) float64 { return c.predict })
	s.write(w, "Megabytes of the model", s.rows, func(c cell) float64 { return c.bytes / 1e6 })
}

func (s summary) writeFailures(w *strings.Builder) {
	var failures []string
	for _, r := range s.rows {
		for k, c := range r.cells {
			if c.failed != "" {
				failures = append(failures, fmt.Sprintf("- %s, %s: %s\n", r.set, s.standings[k].method,
					strings.Join(strings.Fields(c.failed), " ")))
			}
		}
	}
	if failures != nil {
		fmt.Fprintf(w, "## What failed\n\n%s\n", strings.Join(failures, ""))
	}
}
