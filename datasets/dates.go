package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Date describes the format of the dates in a column, and the parts that become columns.
//
// Parts are those in UTC, whatever the source: a [time.Time] of a struct, slice, map or database, a
// timestamp of Parquet or Arrow with a zone, and a string such as 2024-03-01T14:30+02:00 (12:30)
// are converted. A string, timestamp or date without a zone is used as it is. So the same instant
// has the same parts in training and prediction, on every host. For local hours remove the zone, as
// by
//
//	time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
type Date struct {
	// Order is dmy or mdy for dates that start with the day or the month. Dates that start with the
	// year (2024-03-01) or have periods (1.3.2024) need no order.
	Order string
	Parts []string // some of AllParts; nil means year, month, day, weekday and hour
}

// AllParts returns the parts that a date may have, as numeric columns. Weekdays are 1 (Monday) to 7. The sine and
// cosine of a part place December next to January; those of the hour include the minutes. elapsed is
// the number of days since 1970, with the time of day as a fraction.
func (Date) AllParts() []string {
	return []string{"year", "month", "day", "weekday", "hour", "month_sin", "month_cos", "weekday_sin", "weekday_cos",
		"hour_sin", "hour_cos", "elapsed"}
}

// Names returns the names of the columns that replace a column: its name with each part.
func (d Date) Names(column string) []string {
	var names []string
	for _, part := range d.PartNames() {
		names = append(names, column+"_"+part)
	}
	return names
}

// PartNames returns the parts of the date, by default the first five of [Date.AllParts].
func (d Date) PartNames() []string {
	if d.Parts == nil {
		return d.AllParts()[:5]
	}
	return d.Parts
}

// Check returns an error if the order or a part is invalid.
func (d Date) Check() error {
	if d.Order != "" && d.Order != "dmy" && d.Order != "mdy" {
		return fmt.Errorf("order must be dmy or mdy, got %q", d.Order)
	}
	if len(d.PartNames()) == 0 {
		return fmt.Errorf("parts must be some of %s, got none", strings.Join(d.AllParts(), ", "))
	}
	for i, part := range d.Parts {
		if !slices.Contains(d.AllParts(), part) {
			return fmt.Errorf("part must be one of %s, got %q", strings.Join(d.AllParts(), ", "), part)
		}
		if slices.Contains(d.Parts[:i], part) {
			return fmt.Errorf("part %q is repeated", part)
		}
	}
	return nil
}

// Values returns the parts of t in UTC, in the order of Names.
func (d Date) Values(t time.Time) []float64 {
	t = t.UTC()
	const monthsPerYear, daysPerWeek, hoursPerDay, secondsPerDay = 12, 7, 24, 24 * 60 * 60
	var out []float64
	weekday := float64((t.Weekday()+6)%daysPerWeek + 1)
	month, weekPhase := 2*math.Pi*float64(t.Month())/monthsPerYear, 2*math.Pi*weekday/daysPerWeek
	hour := 2 * math.Pi * (float64(t.Hour()) + float64(t.Minute())/60) / hoursPerDay
	for _, part := range d.PartNames() {
		switch part {
		case "year":
			out = append(out, float64(t.Year()))
		case "month":
			out = append(out, float64(t.Month()))
		case "day":
			out = append(out, float64(t.Day()))
		case "weekday":
			out = append(out, weekday)
		case "hour":
			out = append(out, float64(t.Hour()))
		case "month_sin":
			out = append(out, math.Sin(month))
		case "month_cos":
			out = append(out, math.Cos(month))
		case "weekday_sin":
			out = append(out, math.Sin(weekPhase))
		case "weekday_cos":
			out = append(out, math.Cos(weekPhase))
		case "hour_sin":
			out = append(out, math.Sin(hour))
		case "hour_cos":
			out = append(out, math.Cos(hour))
		case "elapsed":
			out = append(out, float64(t.Unix()-int64(t.Second()))/secondsPerDay)
		}
	}
	return out
}

// Parse parses a date with an optional time of day: 2024-03-01T14:30:00Z, 2024/3/1, 1.3.2024 14:30,
// and with an order 1/3/2024 or 3/1/24. Two-digit years are 1969 to 2068. A time with a zone such as
// +02:00 is converted to UTC; one without a zone is taken as UTC.
func (d Date) Parse(text []byte) (time.Time, bool) {
	r := dateReader{rest: text}
	first, width := r.number()
	separator := r.separator("-/.")
	second, _ := r.number()
	if separator == 0 || r.separator(string(separator)) == 0 {
		return time.Time{}, false
	}
	third, last := r.number()
	year, month, day, yearWidth := first, second, third, width
	if width != 4 {
		year, month, day, yearWidth = third, second, first, last
		switch {
		case d.Order == "mdy" && separator != '.':
			month, day = first, second
		case d.Order == "" && separator != '.':
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
	hour, minute, offset, ok := r.clock()
	t := time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC)
	ok = ok && !r.failed && month >= 1 && month <= 12 && day >= 1 && t.Day() == day && hour < 24 && minute < 60
	return t.Add(-offset), ok
}

// dateReader scans numbers and separators.
type dateReader struct {
	rest   []byte
	failed bool
}

// number scans a number of 1, 2 or 4 digits.
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

// separator scans one of the given separators; it returns 0 if there is none.
func (r *dateReader) separator(marks string) byte {
	if len(r.rest) == 0 || strings.IndexByte(marks, r.rest[0]) < 0 {
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

// clock scans an optional time of day up to the end. offset is that of its zone from UTC.
func (r *dateReader) clock() (hour, minute int, offset time.Duration, ok bool) {
	if len(r.rest) == 0 {
		return 0, 0, 0, true
	}
	if r.separator("T ") == 0 {
		return 0, 0, 0, false
	}
	hour, _ = r.number()
	if r.separator(":") == 0 {
		return 0, 0, 0, false
	}
	minute, _ = r.number()
	tail := strings.ToUpper(string(r.rest))
	if strings.HasPrefix(tail, ":") {
		tail = strings.TrimLeft(tail[1:], "0123456789.")
	}
	switch tail = strings.TrimSpace(tail); {
	case tail == "AM" || tail == "PM":
		if hour < 1 || hour > 12 {
			return 0, 0, 0, false
		}
		if hour %= 12; tail == "PM" {
			hour += 12
		}
		return hour, minute, 0, true
	case tail == "" || tail == "Z" || tail == "UTC":
		return hour, minute, 0, true
	}
	for _, layout := range zoneLayouts {
		if t, err := time.Parse(layout, tail); err == nil {
			_, seconds := t.Zone()
			return hour, minute, time.Duration(seconds) * time.Second, true
		}
	}
	return 0, 0, 0, false
}

// zoneLayouts are the forms of the offset of a zone.
var zoneLayouts = []string{"-07:00", "-07", "-0700", "-07:00:00"}
