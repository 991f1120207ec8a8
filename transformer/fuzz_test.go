package transformer_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// FuzzRestore restores damaged archives of every fitted type and maps rows with the result: errors
// are allowed, panics are not.
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
			transformertest.TryDamaged(t, archive, fitted, data, rng)
		}
	})
}

// TestDamagedInputsOfColumns checks that a damaged file of a map with inputs of several columns
// does not panic.
func TestDamagedInputsOfColumns(t *testing.T) {
	data := categorical()
	data = data.Select([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	ctx := context.Background()
	codes, err := transformer.NewOneHot().Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	Z, err := codes.Transform(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	data = datasets.Set{X: Z, Schema: codes.(transformer.Describer).OutputSchema(data.Schema)}
	for _, name := range []string{"laplacian", "smooth"} {
		spec := transformer.NewBinning()
		spec.Kernel, spec.Gamma, spec.Grids, spec.Inputs = kernel.Name(name), kernel.FixedGamma(1), 6, 1
		fit, err := spec.Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := model.Record(fit.(model.Stateful))
		if err != nil {
			t.Fatal(err)
		}
		if _, there := archive.Arrays["input_of_column"]; !there {
			t.Fatal("every column is an input")
		}
		rng := rand.New(rand.NewPCG(2, 2))
		for range 3000 {
			transformertest.TryDamaged(t, archive, fit, data, rng)
		}
	}
}
