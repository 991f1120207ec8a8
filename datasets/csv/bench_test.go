package csv_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// BenchmarkRead parses files of 20 numeric columns with a known schema: one pass, into blocks.
func BenchmarkRead(b *testing.B) {
	for _, digits := range []int{4, 17} {
		b.Run(fmt.Sprintf("digits=%d", digits), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			text := []byte("a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,b0,b1,b2,b3,b4,b5,b6,b7,b8,b9\n")
			for range 20_000 {
				for range 20 {
					text = strconv.AppendFloat(text, rng.NormFloat64()*10, 'g', digits, 64)
					text = append(text, ',')
				}
				text[len(text)-1] = '\n'
			}
			path := filepath.Join(b.TempDir(), "data.csv")
			if err := os.WriteFile(path, text, 0o644); err != nil {
				b.Fatal(err)
			}
			src, err := csv.Options{}.Open(context.Background(), path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := src.Blocks(context.Background(), func(datasets.Set) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
