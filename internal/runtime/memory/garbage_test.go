package memory

import "testing"

// Garbage may equal the data in a small heap, a quarter of them in a large one, and the percentage
// of GOGC if it is set.
func TestMostCountsGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	for _, c := range []struct{ bytes, most int64 }{{0, program}, {100 << 20, 200<<20 + program},
		{300 << 20, 512<<20 + program}, {1000 << 20, 1250<<20 + program}} {
		if got := Most(c.bytes); got != c.most {
			t.Errorf("%d bytes: %d, want %d", c.bytes, got, c.most)
		}
	}
	t.Setenv("GOGC", "50")
	if got := Most(1000 << 20); got != 1500<<20+program {
		t.Errorf("GOGC=50: %d", got)
	}
}
