package bench_test

import (
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// BenchmarkTransform maps rows to Fourier features in a new matrix: with independent phases, as the
// baselines do, and with the paired default, which needs half the frequencies. Tiles reuse the
// destination, as fits and predictions do.
func BenchmarkTransform(b *testing.B) {
	for _, form := range []string{"phase", "paired", "tiles"} {
		b.Run(form, func(b *testing.B) {
			eachSize(b, func(b *testing.B, s size, precision string) { transform(b, s, form, precision) })
		})
	}
}

// tileRows is the number of rows of a tile.
const tileRows = 2048

// inTiles calls mapTo for one tile of rows after the other.
func inTiles[M mat.Matrix](tile M, slice func(tile M, rows int) M, X *mat.Dense,
	mapTo func(dst M, X mat.Matrix) error) error {
	n, _ := X.Dims()
	for lo := 0; lo < n; lo += tileRows {
		rows := min(tileRows, n-lo)
		if err := mapTo(slice(tile, rows), rowblock.Slice(X, lo, lo+rows)); err != nil {
			return err
		}
	}
	return nil
}

// tiled maps all rows of X into one tile.
func tiled(fitted transformer.Transformer, X *mat.Dense, features int, precision string) func() error {
	if precision == "float32" {
		m, tile := fitted.(transformer.SingleTransformer), matrices.NewDense32(tileRows, features, nil)
		return func() error {
			return inTiles(tile, func(t *matrices.Dense32, rows int) *matrices.Dense32 { return t.Slice(0, rows) }, X,
				func(dst *matrices.Dense32, X mat.Matrix) error { return m.TransformSingle(ctx, dst, X) })
		}
	}
	m, tile := fitted.(transformer.DenseTransformer), mat.NewDense(tileRows, features, nil)
	return func() error {
		return inTiles(tile, func(t *mat.Dense, rows int) *mat.Dense { return t.Slice(0, rows, 0, features).(*mat.Dense) }, X,
			func(dst *mat.Dense, X mat.Matrix) error { return m.TransformTo(ctx, dst, X) })
	}
}

func transform(b *testing.B, s size, form, precision string) {
	data := regression(s.rows, inputs)
	spec := fourier(s.features)
	if spec.Map = form; form == "tiles" {
		spec.Map = "phase"
	}
	fitted, err := spec.Fit(ctx, data)
	if err != nil {
		b.Fatal(err)
	}
	once := func() error {
		_, err := fitted.Transform(ctx, data.X)
		return err
	}
	switch {
	case form == "tiles":
		once = tiled(fitted, data.X.(*mat.Dense), s.features, precision)
	case precision == "float32":
		x := matrices.CopyDense32(data.X)
		once = func() error {
			return fitted.(transformer.SingleTransformer).TransformSingle(ctx, matrices.NewDense32(s.rows, s.features, nil), x)
		}
	}
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	n, d, frequencies := float64(s.rows), float64(inputs), float64(s.features)
	if form == "paired" {
		frequencies /= 2
	}
	rate(b, 2*n*d*frequencies/1e9, "GFLOP/s")
	rate(b, n*float64(s.features), "features/s")
	rate(b, n, "rows/s")
}

// BenchmarkPredictOne sends one row through a pipeline that was saved and loaded, as a server does.
func BenchmarkPredictOne(b *testing.B) {
	for _, features := range []int{256, 2048} {
		s := size{5000, features}
		eachPrecision(b, s.String()+"/", func(b *testing.B, precision string) {
			data := regression(s.rows, inputs)
			loaded := saved(b, machine(b, precision, s.features, ridge()), data)
			row := mat.DenseCopyOf(rowblock.Slice(data.X, 0, 1))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := loaded.Predictor.Predict(ctx, row); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, 1, "rows/s")
		})
	}
}

// saved fits the pipeline and returns it after a round trip through a file.
func saved(b *testing.B, p pipeline.Pipeline, data datasets.Set) *modelfile.Model {
	b.Helper()
	fitted, err := p.Fit(ctx, data)
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
	if m, err = modelfile.Load(path); err != nil {
		b.Fatal(err)
	}
	return m
}
