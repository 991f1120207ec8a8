package scaffold

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// profile contains the statistics of a column, collected in one pass with bounded memory.
type profile struct {
	name     string
	nameless bool // whether the header has no name for it
	declared bool // whether the file declares its kind
	kind     datasets.Kind
	unfit    string // reason why its type is not supported; "" otherwise

	rows, missing int
	tally         distinctCounter
	numbers       [len(reader.Notations)]int // numbers by notation
	decisive      [len(reader.Notations)]int // numbers that are none in the default notation
	against       [len(reader.Notations)]int // numbers with a point that are none in this notation
	grouped       [len(reader.Notations)]int // numbers with a thousands separator
	strs          map[string]textCount       // values that are numbers in no notation; bounded
	dates         [len(dateOrders)]dateProfile
	whole         integerStats
	trend         trend // of numbers with a decimal point
	codes         codeStats
}

// trend describes how numbers depend on the order of the rows.
type trend struct {
	count, rising, falling int // rising: numbers larger than the one before
	last, low              float64

	// Means and centered sums of the number of the row and of the values, updated by Welford's method.
	row, mean, rows, squares, products float64
}

func (t *trend) add(v float64) {
	if t.count > 0 && v > t.last {
		t.rising++
	} else if t.count > 0 && v < t.last {
		t.falling++
	}
	if t.count == 0 || v < t.low {
		t.low = v
	}
	row := float64(t.count)
	t.count++
	n := float64(t.count)
	dr, dv := row-t.row, v-t.mean
	t.row += dr / n
	t.mean += dv / n
	t.rows += dr * (row - t.row)
	t.squares += dv * (v - t.mean)
	t.products += dr * (v - t.mean)
	t.last = v
}

// correlation returns the correlation of the values with the number of the row, 0 for a constant.
func (t *trend) correlation() float64 {
	if t.squares <= 0 || t.rows <= 0 {
		return 0
	}
	return t.products / math.Sqrt(t.rows*t.squares)
}

// strict reports whether every number is larger, or every number smaller, than the one before.
func (t *trend) strict() bool {
	return t.count > 1 && (t.rising == t.count-1 || t.falling == t.count-1)
}

// sorted reports whether the numbers are nondecreasing and not constant.
func (t *trend) sorted() bool { return t.rising > 0 && t.falling == 0 }

// textCount is the first line and the frequency of a string.
type textCount struct{ line, count int }

// maxTexts is the number of distinct strings among numbers that are stored.
const maxTexts = 32

// see takes note of one value; nil is a missing one.
func (p *profile) see(line int, field []byte) {
	p.rows++
	if field == nil {
		p.missing++
		return
	}
	p.tally.add(field)
	p.codes.add(field)
	if v, ok := parseShortInt(field); ok { // most values of many files, and a number in every notation
		p.whole.note(v)
		p.numbers[0]++
		p.trend.add(float64(v))
		for k := 1; k < len(p.numbers); k++ {
			p.numbers[k]++
		}
		return
	}
	v, plain := plainNumber(field)
	if plain {
		p.whole.add(field)
		p.numbers[0]++
		p.trend.add(v)
	}
	p.notations(line, field, plain)
	if !plain {
		for k, order := range dateOrders {
			p.dates[k].add(order, field)
		}
	}
}

// parseShortInt parses an unsigned integer of few digits.
func parseShortInt(field []byte) (v int64, ok bool) {
	const few = 9
	if len(field) == 0 || len(field) > few {
		return 0, false
	}
	for _, c := range field {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = 10*v + int64(d)
	}
	return v, true
}

// notations counts a value as number in each notation, or as none.
func (p *profile) notations(line int, field []byte, plain bool) {
	marked := bytes.ContainsAny(field, ".,' ")
	any := plain
	for k := 1; k < len(reader.Notations); k++ {
		suits := plain && !marked || field[0] <= '9' && reader.Notations[k].Pattern().Match(field)
		switch {
		case suits:
			p.numbers[k]++
			if bytes.IndexByte(field, reader.Notations[k].Mark()) >= 0 {
				p.grouped[k]++
			}
			if !plain {
				p.decisive[k]++
			}
			any = true
		case plain:
			p.against[k]++
		}
	}
	if any {
		return
	}
	if p.strs == nil {
		p.strs = map[string]textCount{}
	}
	if seen, ok := p.strs[string(field)]; ok {
		seen.count++
		p.strs[string(field)] = seen
	} else if len(p.strs) < maxTexts {
		p.strs[string(field)] = textCount{line, 1}
	}
}

// plainNumber reads a number with a decimal point or none.
func plainNumber(field []byte) (float64, bool) {
	switch c := field[0]; {
	case c-'0' <= 9, c == '-', c == '+', c == '.':
	default:
		return 0, false
	}
	v, err := strconv.ParseFloat(string(field), 64)
	return v, err == nil && v-v == 0 && !bytes.ContainsAny(field, "xXpP_iInN")
}

// distinctCounter counts distinct values: all of them while they are few, then those whose hash falls
// into a range that is halved repeatedly (P. Flajolet, On adaptive sampling, 1990).
type distinctCounter struct {
	most   int
	shift  uint // number of leading zeros in the hash of counted values
	counts map[uint64]*valueCount
	before *valueCount // previous value, often repeated; nil if not counted
	hash   uint64      // hash of the previous value
}

// valueCount is a value with the number of its rows.
type valueCount struct {
	name  string
	count int
}

func (t *distinctCounter) add(value []byte) {
	h := hash(value)
	if t.before != nil && h == t.hash {
		t.before.count++
		return
	}
	t.before = nil
	if uint(bits.LeadingZeros64(h)) < t.shift {
		return
	}
	if seen := t.counts[h]; seen != nil {
		seen.count++
		t.before, t.hash = seen, h
		return
	}
	if t.counts == nil {
		t.counts = map[uint64]*valueCount{}
	}
	t.counts[h] = &valueCount{string(value[:min(len(value), 200)]), 1}
	for len(t.counts) > t.most {
		t.shift++
		for h := range t.counts {
			if uint(bits.LeadingZeros64(h)) < t.shift {
				delete(t.counts, h)
			}
		}
	}
}

// hash is FNV-1a with its bits mixed.
func hash(value []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range value {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// distinct returns the number of distinct values; an estimate if they are many.
func (t *distinctCounter) distinct() int { return len(t.counts) << t.shift }

// all returns the values sorted by name, and whether they are complete.
func (t *distinctCounter) all() ([]valueCount, bool) {
	out := make([]valueCount, 0, len(t.counts))
	for _, seen := range t.counts {
		out = append(out, *seen)
	}
	slices.SortFunc(out, func(a, b valueCount) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return out, t.shift == 0
}

// top returns the number of rows with the most frequent value.
func (t *distinctCounter) top() int {
	top := 0
	for _, seen := range t.counts {
		top = max(top, seen.count)
	}
	return top
}

// repeats is the share of rows that have a value seen before.
func (t *distinctCounter) repeats() float64 {
	rows := 0
	for _, seen := range t.counts {
		rows += seen.count
	}
	if rows == 0 {
		return 0
	}
	return float64(rows-len(t.counts)) / float64(rows)
}

// integerStats contains statistics of integers.
type integerStats struct {
	count, steps int // steps counts values equal to the previous one plus 1
	last         int64
	low, high    int64
}

func (w *integerStats) add(field []byte) {
	if len(field) > 18 {
		return
	}
	v, err := strconv.ParseInt(string(field), 10, 64)
	if err == nil {
		w.note(v)
	}
}

func (w *integerStats) note(v int64) {
	if w.count == 0 {
		w.low, w.high = v, v
	} else if v == w.last+1 {
		w.steps++
	}
	w.count++
	w.last, w.low, w.high = v, min(w.low, v), max(w.high, v)
}

// codeStats contains statistics of fields of digits.
type codeStats struct {
	digits, zeros int // fields of digits; those with a leading zero
	width         int // common width, -1 if it varies
}

func (c *codeStats) add(field []byte) {
	for _, d := range field {
		if d-'0' > 9 {
			return
		}
	}
	if c.digits++; c.digits == 1 {
		c.width = len(field)
	} else if c.width != len(field) {
		c.width = -1
	}
	if len(field) > 1 && field[0] == '0' {
		c.zeros++
	}
}

// dateOrders are the candidate orders of dates.
var dateOrders = [...]string{"", "dmy", "mdy"}

// dateProfile contains statistics of dates in one order.
type dateProfile struct {
	count       int
	first, last int // years
	seen        [5]uint32
	text        string // one of them
	trend       trend
}

func (d *dateProfile) add(order string, field []byte) {
	if len(field) < 6 || field[0]-'0' > 9 {
		return
	}
	date := datasets.Date{Order: order}
	t, ok := date.Parse(field)
	if !ok {
		return
	}
	if d.count++; d.count == 1 {
		d.first, d.last, d.text = t.Year(), t.Year(), string(field)
	}
	d.first, d.last = min(d.first, t.Year()), max(d.last, t.Year())
	for k, v := range date.Values(t)[1:] {
		d.seen[k+1] |= 1 << uint(v)
	}
	d.trend.add(float64(t.Unix()))
}

// parts returns the parts that differ between the dates: the elapsed time instead of the year, and the
// sine and cosine of what is cyclic.
func (d *dateProfile) parts() (out []string) {
	varies := func(k int) bool { return bits.OnesCount32(d.seen[k]) > 1 }
	if d.first < d.last || varies(1) || varies(2) {
		out = append(out, "elapsed")
	}
	for k, part := range (datasets.Date{}).PartNames() {
		switch {
		case k == 0 || !varies(k):
		case part == "day":
			out = append(out, part)
		default:
			out = append(out, part+"_sin", part+"_cos")
		}
	}
	return out
}

// chance is how many of n values of a uniform draw from low..high have been drawn before: as few as
// any draw has.
func chance(n int, low, high int64) float64 {
	width := float64(high) - float64(low) + 1
	return float64(n) - width*-math.Expm1(float64(n)*math.Log1p(-1/width))
}
