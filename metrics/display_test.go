package metrics

import (
	"strings"
	"testing"
)

// Every count stands in the picture, and a perfect row is darkest.
func TestConfusionMatrixPicture(t *testing.T) {
	m, err := NewConfusionMatrix(Input{Truth: []float64{0, 0, 0, 1, 1}, Predicted: []float64{0, 0, 1, 1, 1}}, []string{"<=50K", ">50K"})
	if err != nil {
		t.Fatal(err)
	}
	picture := m.SVG()
	for word, times := range map[string]int{"&lt;=50K": 2, ">1<": 1, ">2<": 2, ">0<": 1, "#1d4e89": 1, "#d1495b": 0} {
		if n := strings.Count(picture, word); n != times {
			t.Errorf("%q occurs %d times, want %d: %s", word, n, times, picture)
		}
	}
}
