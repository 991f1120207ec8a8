package sample

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// A sample has every row with the same chance, and of every class its share.
func TestSampleWithTargets(t *testing.T) {
	const n = 1000
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Y: make([]float64, n)}
	data.Schema.Targets = []datasets.Column{{Name: "c", Kind: datasets.Categorical,
		Categories: []string{"once", "often", "rare", "never"}}}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(i))
		if data.Y[i] = 1; i%10 == 3 {
			data.Y[i] = 2
		}
	}
	data.Y[999] = 0
	var parts [5]int
	const seeds, most = 60, 100
	for seed := range uint64(seeds) {
		s, err := Take(context.Background(), From{Name: "test", Source: data.Source(),
			Check: func(int, datasets.Set) error { return nil }}, most, seed)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := s.X.Dims()
		rare, seen := 0, map[float64]bool{}
		for i := range rows {
			v := s.X.At(i, 0)
			seen[v] = true
			if int(v)%10 == 3 {
				rare++
			} else {
				parts[int(v)/200]++
			}
		}
		if len(seen) != rows || rows < most || rows > most+1 || rare != 10 || !seen[999] {
			t.Fatalf("%d different rows of %d, %d of the rare class", len(seen), rows, rare)
		}
	}
	want := float64(seeds*(most-10)) / float64(len(parts))
	for k, got := range parts {
		if math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("rows of part %d were taken %v times, want about %v", k, got, want)
		}
	}
}
