package memory

import "testing"

// As much garbage as data may lie in a small heap, a quarter in a large one, and as much as GOGC says where that is set.
func TestMostCountsGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	for _, c := range []struct{ bytes, most int64 }{{0, program}, {100 << 20, 200<<20 + program}, {300 << 20, 512<<20 + program}, {1000 << 20, 1250<<20 + program}} {
		if got := Most(c.bytes); got != c.most {
			t.Errorf("%d bytes: %d, want %d", c.bytes, got, c.most)
		}
	}
	t.Setenv("GOGC", "50")
	if got := Most(1000 << 20); got != 1500<<20+program {
		t.Errorf("GOGC=50: %d", got)
	}
}
