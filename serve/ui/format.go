package ui

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/rows/profile"
)

// number formats a number with four significant digits.
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

// signed formats a number with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// minus replaces hyphens by minus signs.
func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }

// count formats an integer with thin spaces as thousands separators.
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

// percent formats a fraction as a percentage.
func percent(v float64) string {
	digits := 1
	if v > 0 && v < 0.01 || v < 1 && v > 0.99 {
		digits = 2
	}
	return strconv.FormatFloat(100*v, 'f', digits, 64) + "\u00a0%"
}

// levelPercent formats a confidence level.
func levelPercent(p float64) string { return strconv.FormatFloat(100*p, 'g', 6, 64) + "\u00a0%" }

// columnFormat returns a format with the digits in which the values of a column differ.
func columnFormat(c profile.Column) func(v float64) string {
	integers := 0
	for _, q := range c.Quantiles {
		if q == math.Round(q) {
			integers++ // interpolated quantiles of integers may be fractional
		}
	}
	digits, valueRange := 0, c.Max-c.Min
	if valueRange > 0 && (2*integers < len(c.Quantiles) || c.Min != math.Round(c.Min) || c.Max != math.Round(c.Max)) {
		digits = min(12, max(0, 3-int(math.Floor(math.Log10(valueRange)))))
	}
	return func(v float64) string {
		if a := math.Abs(v); a >= 1e15 || a != 0 && a < 1e-6 {
			return strconv.FormatFloat(v, 'g', 6, 64)
		}
		if valueRange == 0 {
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

// quoted quotes a string that is empty or begins or ends with white space.
func quoted(text string) string {
	if text == "" || strings.TrimSpace(text) != text {
		return strconv.Quote(text)
	}
	return text
}

// truncate shortens a string to the given number of characters.
func truncate(text string, maxRunes int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= maxRunes {
		return text
	}
	return string([]rune(text)[:maxRunes]) + "…"
}

// capitalize returns a string with an upper-case first letter.
func capitalize(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// width formats a width in percent.
func width(v float64) string { return strconv.FormatFloat(min(max(v, 0), 100), 'f', 2, 64) }
