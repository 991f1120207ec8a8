package scaffold

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/reader"
	"github.com/bochner-ml/bochner/internal/suggest"
)

// inferFormat reports whether all values of a column of strings are numbers with the same unit or lists of labels, and
// stores the format with what was found.
func (p *profile) inferFormat(v *columnPlan, notation int) bool {
	all, complete := p.tally.all()
	if !complete { // other values may differ
		return false
	}
	if unit := commonUnit(all, notation); unit != "" {
		v.use, v.format, v.caveat = numeric, datasets.Format{Unit: unit}, ""
		v.reason = fmt.Sprintf("numbers with the unit %s, such as %s", printable(unit), printable(all[0].name))
		return true
	}
	mark := listDelimiter(all)
	if mark == "" {
		return false
	}
	v.format, v.caveat = datasets.Format{Delimiter: mark}, ""
	v.reason = fmt.Sprintf("lists of labels: %d labels in %d distinct lists", len(labelsOf(all, mark)), len(all))
	return true
}

// commonUnit returns the unit of all values, whose numbers have the notation of the file; "" if there is none.
func commonUnit(all []valueCount, notation int) string {
	values := make([]string, len(all))
	for i, v := range all {
		values[i] = v.name
	}
	format := datasets.Format{Unit: suggest.Unit(values)}
	if format.Unit == "" {
		return ""
	}
	for _, value := range values {
		number, ok := format.Number(value)
		if n := reader.Notations[notation]; notation > 0 {
			number = strings.Replace(strings.ReplaceAll(number, string(n.Mark()), ""), n.Decimal, ".", 1)
		}
		if _, err := strconv.ParseFloat(number, 64); !ok || err != nil {
			return ""
		}
	}
	return format.Unit
}

// listDelimiter returns the delimiter of a column of lists, "" if it has none. Commas also occur in names such as
// "Manager, IT": they delimit lists only if half of the values with one have three labels.
func listDelimiter(all []valueCount) string {
	for _, mark := range []string{"|", ";", ","} {
		lists, long := 0, 0
		for _, v := range all {
			if n := strings.Count(v.name, mark); n > 0 {
				lists++
				long += min(n-1, 1)
			}
		}
		if lists > 0 && (mark != "," || 2*long >= lists) && looksLikeLists(all, mark) {
			return mark
		}
	}
	return ""
}

// Bounds of names: distinct values above which one category each loses what they share, and the percentage of the
// values that share words, or sequences of letters, with others.
const (
	maxPlainCategories = 30
	minSharedWords     = 30
	minSharedSequences = 50
)

// inferName makes a name of a column of many categories that share words or sequences of letters, and text if too few
// rows have the same value.
func (p *profile) inferName(v *columnPlan) {
	if len(p.tally.counts) <= maxPlainCategories {
		return
	}
	words, sequences := p.shared(letterWords), p.shared(letterSequences)
	byWords := words >= minSharedWords
	if !byWords && (sequences < minSharedSequences || v.use == dropped) || v.use == dropped && !p.sharesWords() {
		return
	}
	found := fmt.Sprintf("%d %% share words", words)
	if !byWords {
		found = fmt.Sprintf("%d %% share sequences of letters", sequences)
	}
	v.reason = fmt.Sprintf("%s distinct values, %s with others: ", about(p.tally), found)
	if v.use == dropped {
		v.use, v.reason = texts, v.reason+"as text"
		return
	}
	v.format, v.reason = datasets.Format{Name: true}, v.reason+"as categories and as text"
}

// shared returns the percentage of the distinct values with a part that others have too, but at most half of them.
func (p *profile) shared(parts func(text string) map[string]bool) int {
	counts := map[string]int{}
	for _, value := range p.tally.counts {
		for part := range parts(value.name) {
			counts[part]++
		}
	}
	n := 0
	for _, value := range p.tally.counts {
		for part := range parts(value.name) {
			if k := counts[part]; k > 1 && 2*k <= len(p.tally.counts) {
				n++
				break
			}
		}
	}
	return 100 * n / max(len(p.tally.counts), 1)
}

// letterWords returns the words of at least three letters, in lower case.
func letterWords(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if utf8.RuneCountInString(word) >= 3 && !strings.ContainsFunc(word, unicode.IsDigit) {
			out[word] = true
		}
	}
	return out
}

// letterSequences returns the sequences of four letters within words.
func letterSequences(text string) map[string]bool {
	const length = 4
	out := map[string]bool{}
	for word := range letterWords(text) {
		letters := []rune(word)
		for i := 0; i+length <= len(letters); i++ {
			out[string(letters[i:i+length])] = true
		}
	}
	return out
}
