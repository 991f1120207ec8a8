// Package settest compares rows in tests.
package settest

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// GroupsByAppearance returns the set with its groups numbered in order of their first appearance, as
// readers number them that are given a schema.
func GroupsByAppearance(data datasets.Set) datasets.Set {
	numbers := map[int]int{}
	groups := make([]int, len(data.Groups))
	for i, g := range data.Groups {
		if _, ok := numbers[g]; !ok {
			numbers[g] = len(numbers)
		}
		groups[i] = numbers[g]
	}
	if data.Groups != nil {
		data.Groups = groups
	}
	return data
}

// Equal fails the test where got and want differ in a bit; a missing value equals another.
func Equal(t testing.TB, got, want datasets.Set) {
	t.Helper()
	if got.Rows() != want.Rows() || got.Cols() != want.Cols() {
		t.Fatalf("%d×%d, want %d×%d", got.Rows(), got.Cols(), want.Rows(), want.Cols())
	}
	for i := range want.Rows() {
		for j := range want.Cols() {
			if a, b := got.X.At(i, j), want.X.At(i, j); a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Fatalf("row %d, column %s: %v, want %v", i, want.Schema.Name(j), a, b)
			}
		}
	}
	if !slices.Equal(got.Y, want.Y) || !slices.Equal(got.Weights, want.Weights) || !slices.Equal(got.Groups, want.Groups) {
		t.Fatal("targets, weights or groups differ")
	}
	if !slices.EqualFunc(got.Passthrough, want.Passthrough, slices.Equal) {
		t.Fatal("kept columns differ")
	}
	if (got.Targets == nil) != (want.Targets == nil) {
		t.Fatal("one has several targets")
	}
	if want.Targets != nil && !slices.Equal(got.Targets.RawMatrix().Data, want.Targets.RawMatrix().Data) {
		t.Fatal("targets differ")
	}
}
