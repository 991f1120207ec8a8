// Package exhaustive selects whether tests run all cases. By default they run a representative
// part, so that `go test ./...` ends in minutes:
//
//	BOCHNER_TESTS=all go test ./...
package exhaustive

import (
	"os"
	"slices"
	"testing"
)

// Tests reports whether all cases are selected.
func Tests() bool { return os.Getenv("BOCHNER_TESTS") == "all" && !testing.Short() }

// Case reports whether a test runs a case: any if all cases are selected, else the representative
// ones.
func Case(name string, representative ...string) bool {
	return Tests() || slices.Contains(representative, name)
}

// Of returns all if all cases are selected, else some.
func Of(some, all int) int {
	if Tests() {
		return all
	}
	return some
}
