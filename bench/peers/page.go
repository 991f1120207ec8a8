package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

const (
	begin = "<!-- made by go run ./bench/peers: begin -->\n"
	end   = "<!-- end -->"
)

// write puts text into its place on the page.
func write(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table, which is between %q and %q", page, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+text+end+after), 0o644)
}

// table has a line for each fit: how long it took, how well it predicts, and how long the other side takes to predict as well.
func (s set) table(list []fitted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n| model | s | score | the other side, as good, s |\n|---|---|---|---|\n", s.what)
	for _, f := range list {
		name := f.What
		if f.ours {
			name = "Bochner, " + name
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.4f | %s |\n", name, f.Seconds, f.Score, asGood(list, f))
	}
	return b.String() + "\n"
}

// asGood is the least time of a model of the other side whose score, to four digits, is at least that of f.
func asGood(list []fitted, f fitted) string {
	digits := func(score float64) float64 { return math.Round(1e4 * score) }
	best := -1
	for k, other := range list {
		if other.ours != f.ours && digits(other.Score) >= digits(f.Score) && (best < 0 || other.Seconds < list[best].Seconds) {
			best = k
		}
	}
	if best < 0 {
		return "not reached"
	}
	return fmt.Sprintf("%.2f, %s", list[best].Seconds, list[best].What)
}
