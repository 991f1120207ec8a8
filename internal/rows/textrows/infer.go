package textrows

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// Thresholds that distinguish text from category names: the mean number of words and of characters
// per value, the number of values, and the share of distinct values. Identifiers and file names are
// long but consist of one word.
const (
	minWords    = 3
	minLength   = 15
	minValues   = 10
	minDistinct = 0.5
)

// Content sums up different values of a column of strings.
type Content struct{ Distinct, Words, Length int }

// Add adds a value that differs from those before.
func (c *Content) Add(text string) {
	c.Distinct++
	c.Length += utf8.RuneCountInString(text)
	inWord := false
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if letter && !inWord {
			c.Words++
		}
		inWord = letter || inWord && !unicode.IsSpace(r)
	}
}

// LooksLikeText reports whether a column of the given number of values that are not missing is inferred to be text: the
// values have several words and are mostly different.
func (c Content) LooksLikeText(values int) bool {
	n := float64(c.Distinct)
	return values >= minValues && n >= minDistinct*float64(values) && float64(c.Words) >= minWords*n &&
		float64(c.Length) >= minLength*n
}

// LooksLikeText reports whether a column of strings is inferred to be text; "" is a missing value.
func LooksLikeText(column []string) bool {
	var c Content
	values, seen := 0, map[string]bool{}
	for _, text := range column {
		if text == "" {
			continue
		}
		if values++; !seen[text] {
			seen[text] = true
			c.Add(text)
		}
	}
	return c.LooksLikeText(values)
}

// Numbers adds strings to a table and returns their numbers; "" is a missing value, NaN.
func Numbers(column []string, table *Strings) []float64 {
	out := make([]float64, len(column))
	for i, text := range column {
		if out[i] = math.NaN(); text != "" {
			out[i] = table.Add(text)
		}
	}
	return out
}
