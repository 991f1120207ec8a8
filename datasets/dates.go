package datasets

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Date says how the dates of a column are written and which of their parts become columns.
type Date struct {
	// Order is dmy or mdy for dates that begin with the day or the month. Dates that begin with the
	// year (2024-03-01) and those with full stops (1.3.2024) are known without.
	Order string
	Parts []string // of DateParts; nil is all of them
}

// DateParts are the parts that a date has, as numbers. Weekdays count from Monday, 1, to Sunday, 7.
var DateParts = []string{"year", "month", "day", "weekday", "hour"}

// Names returns the columns that take the place of the one called column: its name with each part.
func (d Date) Names(column string) []string {
	var names []string
	for _, part := range d.parts() {
		names = append(names, column+"_"+part)
	}
	return names
}

func (d Date) parts() []string {
	if d.Parts == nil {
		return DateParts
	}
	return d.Parts
}

// Check reports an order or a part that does not exist.
func (d Date) Check() error {
	if d.Order != "" && d.Order != "dmy" && d.Order != "mdy" {
		return fmt.Errorf("order %q, wanted dmy or mdy", d.Order)
	}
	if len(d.parts()) == 0 {
		return fmt.Errorf("no parts, wanted some of %s", strings.Join(DateParts, ", "))
	}
	for i, part := range d.Parts {
		if !slices.Contains(DateParts, part) {
			return fmt.Errorf("part %q, wanted one of %s", part, strings.Join(DateParts, ", "))
		}
		if slices.Contains(d.Parts[:i], part) {
			return fmt.Errorf("part %q is there twice", part)
		}
	}
	return nil
}

// Values returns the parts of a time, in the order of Names.
func (d Date) Values(t time.Time) []int {
	var out []int
	for _, part := range d.parts() {
		switch part {
		case "year":
			out = append(out, t.Year())
		case "month":
			out = append(out, int(t.Month()))
		case "day":
			out = append(out, t.Day())
		case "weekday":
			out = append(out, (int(t.Weekday())+6)%7+1)
		case "hour":
			out = append(out, t.Hour())
		}
	}
	return out
}

// Parse reads a date, with a time of day behind it or without: 2024-03-01T14:30:00Z, 2024/3/1,
// 1.3.2024 14:30, and, by the order, 1/3/2024 or 3/1/24. Two digits of a year are 1969 to 2068. The
// time is the one that is written, whatever its zone.
func (d Date) Parse(text []byte) (time.Time, bool) {
	r := dateReader{rest: text}
	first, width := r.number()
	mark := r.mark("-/.")
	second, _ := r.number()
	if mark == 0 || r.mark(string(mark)) == 0 {
		return time.Time{}, false
	}
	third, last := r.number()
	year, month, day, yearWidth := first, second, third, width
	if width != 4 {
		year, month, day, yearWidth = third, second, first, last
		switch {
		case d.Order == "mdy" && mark != '.':
			month, day = first, second
		case d.Order == "" && mark != '.':
			return time.Time{}, false
		}
	}
	switch {
	case yearWidth == 2 && year >= 69:
		year += 1900
	case yearWidth == 2:
		year += 2000
	case yearWidth != 4:
		return time.Time{}, false
	}
	hour, minute, ok := r.clock()
	t := time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC)
	ok = ok && !r.failed && month >= 1 && month <= 12 && day >= 1 && t.Day() == day && hour < 24 && minute < 60
	return t, ok
}

// dateReader reads numbers and marks from the beginning of a string.
type dateReader struct {
	rest   []byte
	failed bool
}

// number reads up to four digits.
func (r *dateReader) number() (value, width int) {
	for width < len(r.rest) && r.rest[width]-'0' <= 9 {
		value = 10*value + int(r.rest[width]-'0')
		if width++; width > 4 {
			break
		}
	}
	if width == 0 || width == 3 || width > 4 {
		r.failed = true
		return 0, 0
	}
	r.rest = r.rest[width:]
	return value, width
}

// mark reads one of the marks; 0 is none.
func (r *dateReader) mark(marks string) byte {
	if len(r.rest) == 0 || strings.IndexByte(marks, r.rest[0]) < 0 {
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

// clock reads a time of day, if there is one, up to the end of the text.
func (r *dateReader) clock() (hour, minute int, ok bool) {
	if len(r.rest) == 0 {
		return 0, 0, true
	}
	if r.mark("T ") == 0 {
		return 0, 0, false
	}
	hour, _ = r.number()
	if r.mark(":") == 0 {
		return 0, 0, false
	}
	minute, _ = r.number()
	tail := strings.ToUpper(string(r.rest))
	if strings.HasPrefix(tail, ":") {
		tail = strings.TrimLeft(tail[1:], "0123456789.")
	}
	switch tail = strings.TrimSpace(tail); {
	case tail == "AM" || tail == "PM":
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		if hour %= 12; tail == "PM" {
			hour += 12
		}
		return hour, minute, true
	case tail == "" || tail == "Z" || tail == "UTC":
		return hour, minute, true
	}
	// A zone such as +02:00, which the time written is already in.
	zone := strings.Trim(tail[1:], "0123456789:")
	return hour, minute, zone == "" && strings.ContainsAny(tail[:1], "+-") && len(tail) > 2
}
