package network

import (
	"context"
	"fmt"
	"testing"
)

// An epoch of 4096 rows.
func BenchmarkEpoch(b *testing.B) {
	for _, c := range []struct {
		loss         Loss
		d, D, layers int
		q            int
	}{{Squares, 8, 300, 1, 1}, {Squares, 8, 1000, 1, 1}, {Softmax, 64, 300, 1, 10}, {Squares, 8, 300, 2, 1}} {
		b.Run(fmt.Sprintf("d=%d/D=%d/layers=%d/q=%d", c.d, c.D, c.layers, c.q), func(b *testing.B) {
			s := small(c.d)
			s.Features, s.Layers, s.Batch = c.D, c.layers, 64
			t, err := newTraining[float32](context.Background(), s, drawn(c.loss, 4096, c.d, c.q))
			if err != nil {
				b.Fatal(err)
			}
			a := newAdam[float32](len(t.net.weights))
			for b.Loop() {
				if err := t.epoch(context.Background(), a, 1e-4); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
