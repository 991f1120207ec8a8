package coverage

import (
	"math"
	"testing"
)

func TestDeviations(t *testing.T) {
	for level, want := range map[float64]float64{0.5: 0.6744897501960817, 0.9: 1.6448536269514722,
		0.95: 1.959963984540054} {
		if got := Deviations(level); math.Abs(got-want) > 1e-12 {
			t.Errorf("level %v is %v deviations, want %v", level, got, want)
		}
	}
}
