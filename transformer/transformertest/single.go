package transformertest

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/transformer"
)

// writesFloat32 checks that float32 features equal the rounded float64 features.
func writesFloat32(s *suite) {
	f, ok := s.fit(s.Data).(transformer.SingleTransformer)
	if !ok {
		s.Skip("not a SingleTransformer")
	}
	ctx := context.Background()
	want := s.transform(f.(transformer.Transformer), s.Data.X)
	n, width := want.Dims()
	tile := matrices.NewDense32(n, width, nil)
	for i := range n {
		for j := range tile.Row(i) {
			tile.Row(i)[j] = float32(math.NaN())
		}
	}
	if err := f.TransformSingle(ctx, tile, s.Data.X); err != nil {
		s.Fatalf("TransformSingle: %v", err)
	}
	s.equal(tile, want, s.Float32Tolerance, "TransformSingle writes what Transform returns, rounded")
	for _, wrong := range []*matrices.Dense32{nil, matrices.NewDense32(n+1, width, nil), matrices.NewDense32(n, width+1, nil)} {
		if err := f.TransformSingle(ctx, wrong, s.Data.X); err == nil {
			s.Error("TransformSingle takes a tile of the wrong size")
		}
	}
}
