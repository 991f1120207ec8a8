package suggest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxExamined is the number of categories whose notation is examined.
const maxExamined = 50

var (
	unitPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([$€£¥]?) ?[-+]?\d[\d.,]* ?([^\d\s.,:;/+-][^\d]*)?$`)
	})
	namedMonth = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\d{1,2}[- .]+(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- .,]+\d{2,4}$`)
	})
)

// Notation returns a remedy where categories are numbers with the same unit or dates with names of months, "" for
// others.
func Notation(categories []string) string {
	if categories = categories[:min(len(categories), maxExamined)]; len(categories) < 2 {
		return ""
	}
	if !slices.ContainsFunc(categories, func(c string) bool { return !namedMonth().MatchString(c) }) {
		return fmt.Sprintf("its values are dates such as %q: write them as 2024-03-31 and split them with data.dates",
			categories[0])
	}
	unit := Unit(categories)
	if unit == "" {
		return ""
	}
	return fmt.Sprintf("its values are numbers with the unit %q, such as %q: declare {number: %s} for it in data.kinds",
		unit, categories[0], unit)
}

// Unit returns the unit that all values have after or before a number, "" if there is none.
func Unit(values []string) string {
	unit := ""
	for k, value := range values {
		parts := unitPattern().FindStringSubmatch(value)
		if parts == nil || parts[1]+parts[2] == "" || k > 0 && parts[1]+parts[2] != unit {
			return ""
		}
		unit = parts[1] + parts[2]
	}
	return strings.TrimSpace(unit)
}
