package transformer_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// FuzzRestore reads damaged archives of every fitted type and maps rows with what comes out: errors
// are fine, panics are not.
func FuzzRestore(f *testing.F) {
	cases := conformanceCases()
	names := slices.Sorted(maps.Keys(cases))
	for k := range names {
		f.Add(uint8(k), uint64(k))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		c := cases[names[int(which)%len(names)]]
		data := c.Data
		if data.X == nil {
			data = numbers()
		}
		fitted, err := c.spec.Fit(context.Background(), data)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := model.Record(fitted.(model.Stateful))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 20 {
			damaged := transformertest.Damaged(archive, rng)
			transformertest.Try(t, damaged, c.Zero(), data)
		}
	})
}
