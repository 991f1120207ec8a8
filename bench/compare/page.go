package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

// row is a line of the table.
type row struct{ cells []string }

var header = row{[]string{"what a user does", "peer: s, MiB", "Bochner f64: s, MiB", "f32: s, MiB", "ratio f64 / f32",
	"target", "met?", "measured"}}

// row formats the results of a benchmark as table cells.
func (w work) row(r result) row {
	peer := cell(r.peer64)
	if r.peer32.known() {
		peer = fmt.Sprintf("%s / %s f32", peer, seconds(r.peer32.seconds))
	}
	ours := cells(r.f64)
	if len(r.above) > 0 {
		ours += fmt.Sprintf("; %.1g above the optimum", r.above[0]/1e6)
	}
	if r.f64[0].metrics["MB/s"] > 0 {
		ours += fmt.Sprintf("; %.0f MB/s, on one core %.0f", r.f64[0].metrics["MB/s"], r.f64[1].metrics["MB/s"])
	}
	if e := r.f64[0].metrics["%error"]; e > 0 {
		ours += fmt.Sprintf("; %.2f %% / %.2f %% error", e, r.f64[1].metrics["%error"])
	}
	single := cells(r.f32)
	if len(r.above) > 1 {
		single += fmt.Sprintf("; %.1g above", r.above[1]/1e6)
	}
	return row{[]string{w.what, peer, ours, single, ratios(r), w.limit, w.verdict(r),
		time.Now().Format("2006-01-02 15:04")}}
}

func ratios(r result) string {
	word := func(v float64, known bool) string {
		if !known {
			return "–"
		}
		return fmt.Sprintf("%.3g×", v)
	}
	if r.f64 == nil || !r.peer64.known() {
		return "–"
	}
	return word(r.ratio64()) + " / " + word(r.ratio32())
}

func cells(samples []sample) string {
	var words []string
	for _, s := range samples {
		words = append(words, cell(s))
	}
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, " / ")
}

// cell formats a time and, unless the run was too short, the memory.
func cell(s sample) string {
	switch {
	case !s.known():
		return "–"
	case s.peak == 0 || s.seconds < 1e-3:
		return seconds(s.seconds)
	}
	return fmt.Sprintf("%s, %.0f", seconds(s.seconds), s.peak)
}

func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.1f µs", 1e6*s)
	case s < 10:
		return fmt.Sprintf("%.2g", s)
	}
	return fmt.Sprintf("%.1f", s)
}

func (r row) line() string { return "| " + strings.Join(r.cells, " | ") + " |\n" }

// table writes the rows as Markdown.
func table(rows []row) string {
	out := header.line() + strings.Repeat("|---", len(header.cells)) + "|\n"
	for _, r := range rows {
		out += r.line()
	}
	return out
}

// places returns the places of the summary in file, of the main table and of the kernel table.
func places(file string) (summary, table, kernels page.Place) {
	const command = "go run ./bench/compare"
	return page.Place{File: file, Command: command}, page.Place{File: "bench/results/compare.md", Command: command},
		page.Place{File: "bench/results/kernels.md", Command: command + " -only kernels"}
}

// writeTable writes the rows to the table, and those with a peer to the summary. It keeps the table's
// other rows if they were measured on the same host with the same program versions.
func writeTable(summary, full page.Place, machine string, rows []row) error {
	err := full.Replace(func(old string) string {
		if strings.Contains(old, machine) {
			rows = merge(parseTable(old), rows)
		}
		return fmt.Sprintf("\n%s\n\n%s\n", machine, table(rows))
	})
	if err != nil {
		return err
	}
	return summary.Write(fmt.Sprintf("%s\n\n%s\n", machine, short(rows)))
}

// short returns the task, the peer, ours in float64, and their ratio.
func short(rows []row) string {
	out := "| task | scikit-learn: s, MiB | Bochner: s, MiB | ratio |\n|---|---|---|---|\n"
	for _, r := range rows {
		ratio, _, _ := strings.Cut(r.cells[4], " / ")
		if ours, _, _ := strings.Cut(r.cells[2], "; "); ratio != "–" {
			peer, _, _ := strings.Cut(r.cells[1], " / ")
			out += row{[]string{r.cells[0], peer, ours, ratio}}.line()
		}
	}
	return out
}

// dated returns the host and the date of the kernel table.
func dated(machine, table string) string {
	return fmt.Sprintf("%s Measured %s.\n\n%s\n", machine, time.Now().Format("2006-01-02 15:04"), table)
}

// parseTable reads the rows that [table] wrote.
func parseTable(text string) []row {
	var out []row
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		if r := (row{strings.Split(strings.Trim(line, "| "), " | ")}); len(r.cells) == len(header.cells) &&
			r.cells[0] != header.cells[0] {
			out = append(out, r)
		}
	}
	return out
}

// merge returns the rows in the order of the works, new ones before old.
func merge(old, fresh []row) []row {
	by := map[string]row{}
	for _, r := range append(old, fresh...) {
		by[r.cells[0]] = r
	}
	var out []row
	for _, w := range works(false) {
		if r, ok := by[w.what]; ok {
			out = append(out, r)
		}
	}
	return out
}
