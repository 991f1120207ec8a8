package pipeline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

func checkNames(what string, names []string) error {
	for i, name := range names {
		if !suggest.ValidName(name) {
			return fmt.Errorf("%s %d: name must be letters, digits, _ and -, got %s", what, i+1, strconv.Quote(name))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two %ss are called %q: give one of them another name", what, name)
		}
	}
	return nil
}
