package parquet_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/parquet"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// A file with damaged bytes has rows or an error that names the file, and never a panic.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		whole, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		for range exhaustive.Of(20, 200) {
			b := slices.Clone(whole)
			for range 1 + r.IntN(3) {
				b[4+r.IntN(len(b)-4)] = byte(r.Uint32())
			}
			src, err := parquet.Options{FS: fstest.MapFS{"x.parquet": {Data: b}}, Roles: roles(files[name])}.Open(ctx, "x.parquet")
			if err == nil {
				err = src.Blocks(ctx, func(datasets.Set) error { return nil })
			}
			if err != nil {
				if failed++; !strings.Contains(err.Error(), "x.parquet: ") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}
