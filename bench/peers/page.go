package main

import (
	"fmt"
	"math"
	"strings"
)

// table has a line for each fit: how long it took, how well it predicts, and how long the other
// side takes to predict as well.
func (s set) table(list []fitted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n| model | s | score | the other side, as good, s |\n|---|---|---|---|\n", s.what)
	for _, f := range list {
		name := f.What
		if f.ours {
			name = "Bochner, " + name
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.4f | %s |\n", name, f.Seconds, f.Score, fastestEqual(list, f))
	}
	return b.String() + "\n"
}

// fastestEqual describes the fastest model of the other library whose score, to four digits, is at
// least that of f.
func fastestEqual(list []fitted, f fitted) string {
	digits := func(score float64) float64 { return math.Round(1e4 * score) }
	best := -1
	for k, other := range list {
		if other.ours != f.ours && digits(other.Score) >= digits(f.Score) &&
			(best < 0 || other.Seconds < list[best].Seconds) {
			best = k
		}
	}
	if best < 0 {
		return "not reached"
	}
	return fmt.Sprintf("%.2f, %s", list[best].Seconds, list[best].What)
}
