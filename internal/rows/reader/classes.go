package reader

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/bochner-ml/bochner/datasets"
)

// numericLabel matches formatted numbers: with thousands separators or a unit.
var numericLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?[$€£]? ?[0-9][0-9.,' ]*[$€£%]?$`)
})

// IsNumber reports whether a string is a number in some notation, such as $1,038.76.
func IsNumber(text string) bool { return numericLabel().MatchString(text) }

// CheckClasses returns an error if the strings of a target are probably not classes: if all of them
// are dates, or nearly all are numbers in another notation than the file's.
func CheckClasses(target string, classes []string) error {
	const minDates = 3
	dates, figures, example := 0, 0, ""
	for _, class := range classes {
		for _, order := range []string{"", "dmy", "mdy"} {
			if _, ok := (datasets.Date{Order: order}).Parse([]byte(class)); ok {
				dates++
				break
			}
		}
		if IsNumber(class) {
			if figures++; example == "" {
				example = class
			}
		}
	}
	const remedy = "or give classification as the task"
	switch {
	case len(classes) >= minDates && dates == len(classes):
		return fmt.Errorf("the target %s must be classes or numbers, got dates such as %s; take another target, %s", target,
			classes[0], remedy)
	case len(classes) > MaxInferredClasses && 10*figures >= 9*len(classes):
		return fmt.Errorf("the target %s must be classes or numbers, got %q and the like; write numbers without units and "+
			"thousands separators, %s", target, example, remedy)
	}
	return nil
}
