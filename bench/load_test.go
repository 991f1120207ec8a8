package bench_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// BenchmarkLoadModel loads a model file and leaves it in a state in which it predicts. The large one has 205 MB, the
// frequencies of 784 inputs.
func BenchmarkLoadModel(b *testing.B) {
	for _, s := range []struct {
		name             string
		inputs, features int
	}{{"small", 54, 256}, {"large", 784, 1 << 15}} {
		b.Run(s.name, func(b *testing.B) {
			if testing.Short() && s.name == "large" {
				b.Skip("it writes 205 MB")
			}
			path := fileOf(b, s.inputs, s.features)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := modelfile.Load(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fileOf fits a model of few rows and returns the file that it is saved in.
func fileOf(b *testing.B, inputs, features int) string {
	b.Helper()
	sgd := estimator.NewSGDRegressor()
	sgd.Epochs = 1
	data := regression(64, inputs)
	fitted, err := machine(b, "float64", features, sgd).Fit(ctx, datasets.Set{X: data.X, Y: data.Y})
	if err != nil {
		b.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "model.bochner")
	if err := m.Save(path); err != nil {
		b.Fatal(err)
	}
	return path
}
