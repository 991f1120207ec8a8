package svmlight_test

import (
	"context"
	"os"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/svmlight"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// BenchmarkRead parses a9a (2.3 MB of text) into blocks.
func BenchmarkRead(b *testing.B) {
	path := golden.Path(b, "data/a9a/a9a.gz")
	set, err := svmlight.Options{}.ReadFile(context.Background(), path)
	if err != nil {
		b.Fatal(err)
	}
	plain := b.TempDir() + "/a9a"
	f, err := os.Create(plain)
	if err != nil {
		b.Fatal(err)
	}
	if err := (svmlight.Options{}).Write(f, set); err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f.Close()
	src, err := svmlight.Options{}.Open(context.Background(), plain)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if err := src.Blocks(context.Background(), func(datasets.Set) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
