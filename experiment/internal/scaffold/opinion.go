package scaffold

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/transformer"
)

// use is the treatment of a column.
type use int

const (
	numeric use = iota
	categorical
	textual
	dates
	grouping // role, not an input
	dropped
)

// sameValue is the reason for dropping a constant column.
const sameValue = "the same value in every row"

// differentText is the reason for dropping a column of strings that identify the rows.
const differentText = "a different text in almost every row"

// columnPlan is the treatment of a column with the reason.
type columnPlan struct {
	*profile
	use    use
	reason string   // reason why it is dropped, or its kind ambiguous
	caveat string   // caveat
	words  []string // its missing-value markers
	date   datasets.Date
	format datasets.Format
}

// values returns the number of rows with a value.
func (p *profile) values() int { return p.rows - p.missing }

// judge decides the role of a column. notation is the number format, minCount the rows that a
// category needs.
func (p *profile) judge(notation, minCount int) columnPlan {
	v := columnPlan{profile: p}
	if p.unfit != "" {
		v.use, v.reason = dropped, p.unfit
		return v
	}
	switch p.kindOf(&v, notation); {
	case p.values() == 0:
		v.use, v.reason = dropped, "no value in any row"
		return v
	case len(p.tally.counts) == 1 && p.rows > 1 && (p.missing == 0 || v.use == numeric):
		v.use, v.reason = dropped, sameValue
		return v
	case v.use == dates || v.use == dropped:
		return v
	}
	if v.use == categorical && v.reason == "" && !p.declared && p.inferFormat(&v, notation) {
		return v
	}
	if v.use == categorical && v.reason == "" && p.textual() {
		v.use, v.caveat = textual, ""
		v.reason = fmt.Sprintf("%s distinct values of several words in %d rows", about(p.tally), p.rows)
		if !p.sharesWords() {
			v.use, v.reason = dropped, "text whose rows share no words, of which tf-idf makes no features"
		}
		return v
	}
	p.identifier(&v)
	rare := v.use == categorical && p.tally.top() < minCount && p.rows >= 20
	if rare {
		v.use, v.reason = dropped, fmt.Sprintf("%s distinct strings, none of them in %d rows", about(p.tally), minCount)
	}
	if (v.use == categorical && v.reason == "" || rare || v.reason == differentText) && !p.declared {
		p.inferName(&v)
	}
	return v
}

// textual reports whether a column of strings is text.
func (p *profile) textual() bool {
	var content textrows.Content
	for _, value := range p.tally.counts {
		content.Add(value.name)
	}
	distinct := min(p.tally.distinct(), p.values())
	return content.LooksLikeText(content.Distinct * p.values() / max(distinct, 1))
}

// sharesWords reports whether a word of a text occurs in enough rows for tf-idf, also in those of a fold.
func (p *profile) sharesWords() bool {
	const some, most, part = 3, 8, 20 // rows with the word, and as a part of all
	var table textrows.Strings
	var rows []float64
	for _, value := range p.tally.counts {
		for range min(value.count, most) {
			rows = append(rows, table.Add(value.name))
		}
	}
	if len(rows) == 0 {
		return false
	}
	tfidf := transformer.NewTFIDF()
	tfidf.MinCount = min(max(p.values()/part, some), most)
	_, err := tfidf.Fit(context.Background(), datasets.Set{
		X:      textrows.New(mat.NewDense(len(rows), 1, rows), []int{0}, &table),
		Schema: datasets.Schema{Columns: []datasets.Column{{Name: p.name, Kind: datasets.Text}}}})
	return err == nil
}

// about writes the number of different values.
func about(t distinctCounter) string {
	if t.shift > 0 {
		return fmt.Sprintf("about %d", t.distinct())
	}
	return fmt.Sprint(t.distinct())
}

// kindOf decides between numbers, categories and dates.
func (p *profile) kindOf(v *columnPlan, notation int) {
	values, numbers := p.values(), p.numbers[notation]
	switch {
	case p.declared:
		if p.kind != datasets.Numeric {
			v.use = categorical
		}
	case values == 0:
	case p.coded():
		v.use, v.reason = categorical, fmt.Sprintf("codes of %d digits, some with zeros in front", p.codes.width)
	case numbers == values:
	case p.dated(v):
	case 10*numbers >= 9*values || 2*numbers >= values && p.distinctTexts() <= 3 && p.tally.distinct() > 20:
		p.strange(v, values-numbers)
	default:
		v.use = categorical
		p.written(v)
	}
}

// coded reports whether a column of digits is one of codes: 01234 is no number.
func (p *profile) coded() bool {
	return p.codes.digits == p.values() && p.codes.width >= 3 && 100*p.codes.zeros >= p.values()
}

func (p *profile) distinctTexts() int { return len(p.strs) }

// maxWords is the number of distinct strings that may denote missing values.
const maxWords = 8

// strange decides about a few strings among numbers.
func (p *profile) strange(v *columnPlan, strs int) {
	first, seen := "", 0
	for word, at := range p.strs {
		v.words = append(v.words, word)
		if seen += at.count; first == "" || at.line < p.strs[first].line {
			first = word
		}
	}
	slices.Sort(v.words)
	where := fmt.Sprintf("%d of %d values are no numbers, such as %q", strs, p.values(), printable(first))
	if line := p.strs[first].line; line > 0 {
		where += fmt.Sprintf(" on line %d", line)
	}
	if len(v.words) <= maxWords && seen == strs {
		v.caveat = where + "; they are taken for missing values"
		return
	}
	v.words = nil
	v.use, v.reason = dropped, where
}

// dated reports whether a column is one of dates, and in which order they are written.
func (p *profile) dated(v *columnPlan) bool {
	best := 0
	for k := range dateOrders {
		if p.dates[k].count > p.dates[best].count {
			best = k
		}
	}
	d := p.dates[best]
	others := []string{}
	seen := 0
	for word, at := range p.strs {
		if _, ok := (datasets.Date{Order: dateOrders[best]}).Parse([]byte(word)); !ok {
			others = append(others, word)
			seen += at.count
		}
	}
	if d.count == 0 || 20*d.count < 19*p.values() || d.count+seen != p.values() || len(others) > maxWords {
		return false
	}
	if dateOrders[best] != "" && p.dates[1].count == p.dates[2].count {
		// The order is ambiguous: 1/3/2024 is read as in most files with slashes.
		if best = 1; strings.Contains(d.text, "/") {
			best = 2
		}
		v.caveat = fmt.Sprintf("%s is ambiguous: the day or the month may be first; order is dmy or mdy", d.text)
	}
	v.date = datasets.Date{Order: dateOrders[best], Parts: p.dates[best].parts()}
	if v.use, v.words = dates, others; len(v.date.Parts) == 0 {
		v.use, v.reason, v.words = dropped, "the same date in every row", nil
	}
	slices.Sort(v.words)
	return true
}

// written adds a doubt about strings that are numbers in another format.
func (p *profile) written(v *columnPlan) {
	alike, example := 0, ""
	all, _ := p.tally.all()
	for _, l := range all {
		if reader.IsNumber(l.name) {
			if alike++; example == "" {
				example = l.name
			}
		}
	}
	if len(all) >= 10 && 10*alike >= 9*len(all) {
		v.caveat = fmt.Sprintf("its strings look like numbers, such as %s; write them without units and thousands "+
			"separators to use them as numbers", printable(example))
	}
}

var (
	idName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(id|uuid|guid|index|idx|key|row|rowid|rownum|no|nr|unnamed: ?\d+|id[_ .-].*|` +
			`.*[_ .-](id|uuid|guid|key))$|[a-z](Id|ID)$`)
	})
	timeName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)year|month|week|day|date|hour|minute|time`)
	})
)

// identifier drops a column of unique identifiers: their order may correlate with the classes, and
// later rows have others.
func (p *profile) identifier(v *columnPlan) {
	values, distinct := p.values(), p.tally.distinct()
	whole := v.use == numeric && p.whole.count == values
	named := p.nameless || idName().MatchString(p.name)
	drop := func(format string, args ...any) { v.use, v.reason = dropped, fmt.Sprintf(format, args...) }
	switch {
	case !whole && v.use == numeric:
		if values >= 50 && p.trend.strict() {
			v.caveat = "it rises or falls from row to row; if it only counts rows or time, drop it"
		}
	case v.use == categorical && values >= 20 && 10*distinct >= 9*values:
		var names []string
		all, _ := p.tally.all()
		for _, l := range all {
			names = append(names, l.name)
		}
		if drop(differentText); suggest.Notation(names) != "" {
			v.reason += "; " + suggest.Notation(names)
		}
	case whole && values >= 10 && p.whole.steps == values-1 && !p.calendar():
		drop("counts the rows")
	case whole && p.unrepeated() && !p.calendar():
		drop("an identifier of the row: almost no value occurs twice")
	case whole && values >= 20 && p.trend.strict() && !p.calendar():
		drop("rises or falls from row to row, like a row number")
	case named && values >= 10 && 20*distinct > values:
		drop("called like an identifier, %s different values; `group: %s` instead keeps the rows of one together",
			about(p.tally), config.Flow(p.name))
	case named && whole:
		v.use, v.reason = categorical, "called like an identifier: its numbers are names"
	case whole && values >= 100 && p.tally.repeats() == 0:
		v.caveat = "no value occurs twice; if it is a row number, drop it"
	}
}

// calendar reports whether a column counts time, which may increase from row to row and still be
// informative.
func (p *profile) calendar() bool {
	return timeName().MatchString(p.name) || p.whole.low >= 1800 && p.whole.high <= 2100 && p.values() <= 300
}

// unrepeated reports whether far fewer integers occur again than must by chance in so narrow a
// range. A price in cents over a wide range has few repeats too, and is not meant.
func (p *profile) unrepeated() bool {
	n := p.values()
	must := chance(n, p.whole.low, p.whole.high)
	return n >= 10 && must >= 5 && 5*p.tally.repeats()*float64(n) < must
}

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
	minBySequences     = 100
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
	if !byWords && (sequences < minSharedSequences || len(p.tally.counts) <= minBySequences || v.use == dropped) ||
		v.use == dropped && !p.sharesWords() {
		return
	}
	found := fmt.Sprintf("%d %% share words", words)
	if !byWords {
		found = fmt.Sprintf("%d %% share sequences of letters", sequences)
	}
	v.reason = fmt.Sprintf("%s distinct values, %s with others: ", about(p.tally), found)
	if v.use == dropped {
		v.use, v.reason = textual, v.reason+"as text"
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

// labelsOf returns the labels of lists with the number of distinct lists of each.
func labelsOf(all []valueCount, mark string) map[string]int {
	out := map[string]int{}
	for _, v := range all {
		for _, label := range strings.Split(v.name, mark) {
			out[strings.TrimSpace(label)]++
		}
	}
	delete(out, "")
	return out
}

// looksLikeLists reports whether most labels are in several different lists, and are fewer than these.
func looksLikeLists(all []valueCount, mark string) bool {
	labels, repeated := labelsOf(all, mark), 0
	for _, lists := range labels {
		if lists > 1 {
			repeated++
		}
	}
	return len(labels) > 1 && len(labels) < len(all) && 2*repeated > len(labels)
}
