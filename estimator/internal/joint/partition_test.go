package joint

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
)

// The parts of folds have no row twice, and each fold's parts are the rows that it trains on.
func TestPartsMakeUpTheFolds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, count := range []int{1, 2, 5} {
		const n = 40
		fold := make([]int, n) // that tests on a row, none for some
		for i := range fold {
			fold[i] = random.IntN(count + 1)
		}
		b := Batch{Job: batch.Job{Folds: make([]datasets.Fold, count)}}
		for i := range n {
			for k := range b.Folds {
				if fold[i] != k && i%7 != 0 { // no fold trains on every seventh row
					b.Folds[k].Train = append(b.Folds[k].Train, i)
				}
			}
		}
		parts, trains, ok := b.partition()
		if !ok || len(parts) > count+1 {
			t.Fatalf("%d folds: ok %v, %d parts", count, ok, len(parts))
		}
		seen := map[int]bool{}
		for _, i := range slices.Concat(parts...) {
			if seen[i] {
				t.Errorf("%d folds: row %d is in two parts", count, i)
			}
			seen[i] = true
		}
		for k, list := range trains {
			var got []int
			for _, p := range list {
				got = append(got, parts[p]...)
			}
			slices.Sort(got)
			if !slices.Equal(got, b.Folds[k].Train) {
				t.Errorf("fold %d of %d trains on %v, its parts have %v", k, count, b.Folds[k].Train, got)
			}
		}
	}
}

// TestNoPartsOfOddFolds checks that there is no partition if a fold trains on a row twice, or if
// nearly all rows would be separate parts.
func TestNoPartsOfOddFolds(t *testing.T) {
	if _, _, ok := (Batch{Job: batch.Job{Folds: []datasets.Fold{{Train: []int{0, 1, 1}}}}}).partition(); ok {
		t.Error("a row is trained on twice, and there are parts")
	}
	random := rand.New(rand.NewPCG(8, 8))
	b := Batch{Job: batch.Job{Folds: make([]datasets.Fold, 8)}}
	for k := range b.Folds {
		for i := range 200 {
			if random.IntN(2) == 0 {
				b.Folds[k].Train = append(b.Folds[k].Train, i)
			}
		}
	}
	if parts, _, ok := b.partition(); ok {
		t.Errorf("%d parts of folds at random", len(parts))
	}
}
