package attention

import (
	"fmt"
	"testing"
)

func single(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// BenchmarkAttend measures one head of width 64, exact and with 256 features.
func BenchmarkAttend(b *testing.B) {
	f := features(b, 64, 256, "orthogonal")
	for _, length := range []int{256, 1024, 4096} {
		for _, causal := range []bool{false, true} {
			shape := NewShape(1, 1, length, 64)
			shape.Causal = causal
			q, k, v := drawn(shape, 0.7, 1)
			q32, k32, v32 := single(q), single(k), single(v)
			b.Run(fmt.Sprintf("exact/causal=%t/length=%d", causal, length), func(b *testing.B) {
				for b.Loop() {
					if _, err := ExactFloat32(background, shape, q32, k32, v32); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("linear/causal=%t/length=%d", causal, length), func(b *testing.B) {
				for b.Loop() {
					if _, err := f.LinearFloat32(background, shape, q32, k32, v32); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCausal measures causal linear attention of width 64 with 256 features, for one long head
// and several shorter ones.
func BenchmarkCausal(b *testing.B) {
	f := features(b, 64, 256, "orthogonal")
	for _, heads := range []int{1, 8} {
		shape := NewShape(1, heads, 16384, 64)
		shape.Causal = true
		if heads > 1 {
			shape.Queries, shape.Keys = 4096, 4096
		}
		q, k, v := drawn(shape, 0.7, 1)
		q32, k32, v32 := single(q), single(k), single(v)
		name := fmt.Sprintf("heads=%d/length=%d", heads, shape.Keys)
		b.Run("float64/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Linear(background, shape, q, k, v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("float32/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.LinearFloat32(background, shape, q32, k32, v32); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNextToken measures Append and Query of one token, 8 heads of width 64.
func BenchmarkNextToken(b *testing.B) {
	f := features(b, 64, 256, "orthogonal")
	s, err := f.NewStateFloat32(1, 8, 64)
	if err != nil {
		b.Fatal(err)
	}
	q, k, v := drawn(NewShape(1, 8, 1, 64), 0.7, 1)
	q32, k32, v32 := single(q), single(k), single(v)
	for b.Loop() {
		if err := s.Append(background, k32, v32); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Query(background, q32); err != nil {
			b.Fatal(err)
		}
	}
}
