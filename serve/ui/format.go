package ui

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/profile"
)

// number returns a number with four digits.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e4 && a < 1e9:
		return count(v)
	case a != 0 && a < 1e-4 || a >= 1e9:
		return minus(strconv.FormatFloat(v, 'g', 4, 64))
	}
	text := strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(max(a, 1e-4))))), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return minus(text)
}

// signed returns a number with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// minus replaces hyphens by minus signs.
func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }

// count returns an integer with thin spaces between thousands.
func count(v float64) string {
	text := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	if v < 0 {
		text = "−" + text
	}
	return text
}

// percent returns a share.
func percent(v float64) string {
	digits := 1
	if v > 0 && v < 0.01 || v < 1 && v > 0.99 {
		digits = 2
	}
	return strconv.FormatFloat(100*v, 'f', digits, 64) + "\u00a0%"
}

// sure returns a probability level.
func sure(p float64) string { return strconv.FormatFloat(100*p, 'g', 6, 64) + "\u00a0%" }

// points returns a difference of probabilities in percentage points.
func points(v float64) string {
	text := strconv.FormatFloat(100*v, 'f', 1, 64)
	switch {
	case text == "-0.0" || text == "0.0":
		return "0.0"
	case v > 0:
		text = "+" + text
	}
	return minus(text)
}

// writer returns the format of the numbers of a column, with as many digits as they differ in.
func writer(c profile.Column) func(v float64) string {
	whole := 0
	for _, q := range c.Quantiles {
		if q == math.Round(q) {
			whole++ // those between two rows are none, even of integers
		}
	}
	digits, spread := 0, c.Max-c.Min
	if spread > 0 && (2*whole < len(c.Quantiles) || c.Min != math.Round(c.Min) || c.Max != math.Round(c.Max)) {
		digits = min(12, max(0, 3-int(math.Floor(math.Log10(spread)))))
	}
	return func(v float64) string {
		if a := math.Abs(v); a >= 1e15 || a != 0 && a < 1e-6 {
			return strconv.FormatFloat(v, 'g', 6, 64)
		}
		if spread == 0 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		text := strconv.FormatFloat(v, 'f', digits, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if text == "-0" {
			text = "0"
		}
		return text
	}
}

// quoted returns a string, in quotes if its ends would be invisible.
func quoted(text string) string {
	if text == "" || strings.TrimSpace(text) != text {
		return strconv.Quote(text)
	}
	return text
}

// short returns at most the given number of characters of a string.
func short(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// upper returns a string with an upper-case first letter.
func upper(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// width returns a width in percent.
func width(v float64) string { return strconv.FormatFloat(min(max(v, 0), 100), 'f', 2, 64) }
