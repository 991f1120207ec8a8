// Package exhaustive says whether tests are to take all cases. By default they take a representative
// part, so that `go test ./...` ends in minutes:
//
//	BOCHNER_TESTS=all go test ./...
package exhaustive

import (
	"os"
	"slices"
	"testing"
)

// Tests reports whether all cases are wanted.
func Tests() bool { return os.Getenv("BOCHNER_TESTS") == "all" && !testing.Short() }

// Case reports whether a test takes a case: where all cases are wanted any, else those that represent
// them.
func Case(name string, representative ...string) bool {
	return Tests() || slices.Contains(representative, name)
}

// Of returns all where all cases are wanted, else some.
func Of(some, all int) int {
	if Tests() {
		return all
	}
	return some
}
