package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Delimiters of the table on the page. The text around it is written by hand.
const (
	begin = "<!-- made by go run ./examples/family: begin -->\n"
	end   = "<!-- end -->\n"
	head  = "| for | rows | ours | a peer | by the processor |\n|---|---|---|---|---|\n"
)

// line is a row of the table.
type line struct {
	comparison
	ours, theirs []outcome
}

// text is a row of the table as Markdown. Its first cell ends with the row's name, by which it is found again.
func (l line) text() string {
	var ours, theirs, seconds []string
	for k, o := range l.ours {
		ours = append(ours, l.comparison.ours[k].about+l.scores.of(o))
	}
	for k, o := range l.theirs {
		if o.Version != "" {
			theirs = append(theirs, l.peers[k].about+" "+o.Version+l.scores.of(o))
		}
	}
	for _, o := range l.theirs {
		if o.Version != "" {
			seconds = append(seconds, number(o.Seconds, 3)+" s")
		}
	}
	spent := make([]string, len(l.ours))
	for k, o := range l.ours {
		spent[k] = number(o.Seconds, 3) + " s"
	}
	return fmt.Sprintf("| %s (`%s`) | %s | %s | %s | %s against %s |", l.about, l.name, l.rows,
		strings.Join(ours, "<br>"), cmp.Or(strings.Join(append(theirs, l.published...), "<br>"), "–"),
		strings.Join(spent, ", "), cmp.Or(strings.Join(seconds, ", "), "–"))
}

// of formats the scores of a table row after a colon, "" if there are none.
func (s scores) of(o outcome) string {
	var parts []string
	for _, name := range s {
		if v, has := o.Scores[name]; has {
			parts = append(parts, fmt.Sprintf("%s %s", words(name), number(v, 4)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// words returns the display name of a metric.
func words(metric string) string {
	if metric == "root_mean_squared_error" {
		return "RMSE"
	}
	return strings.ReplaceAll(metric, "_", " ")
}

func number(v float64, digits int) string { return strconv.FormatFloat(v, 'g', digits, 64) }

// writePage replaces one line of the table on the page.
func writePage(path string, l line) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table, which is between %q and %q", path, strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	var w strings.Builder
	w.WriteString(before + begin + head)
	for _, c := range comparisons {
		row := c.rowOf(table)
		if c.name == l.name {
			row = l.text()
		}
		if row != "" {
			w.WriteString(row + "\n")
		}
	}
	w.WriteString(end + after)
	return os.WriteFile(path, []byte(w.String()), 0o644)
}

// rowOf returns the row in the table, "" if it is missing.
func (c comparison) rowOf(table string) string {
	for row := range strings.Lines(table) {
		if strings.Contains(row, "(`"+c.name+"`) |") {
			return strings.TrimSpace(row)
		}
	}
	return ""
}
