package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/model"
)

// scored returns informative scores of rows with the given number of classes.
func scored(n, classes int) (scores []float64, class []int) {
	rng := rand.New(rand.NewPCG(6, 1))
	outputs := Outputs(classes)
	for range n {
		c := rng.IntN(classes)
		for k := range outputs {
			v := rng.NormFloat64()
			if outputs > 1 && c == k || outputs == 1 && c == 1 {
				v++
			}
			scores = append(scores, v)
		}
		class = append(class, c)
	}
	return scores, class
}

// Probabilities sum to 1, those of absent classes are 0, and for two classes the calibrated score
// ranks them.
func TestMapGivesProbabilities(t *testing.T) {
	for _, method := range Methods {
		for _, classes := range []int{2, 3, 5} {
			scores, class := scored(300, classes)
			absent := make([]bool, classes)
			if classes == 5 {
				absent[4] = true
				for i, c := range class {
					class[i] = c % 4
				}
			}
			m := Learn(method, scores, class, nil, absent)
			outputs, p := Outputs(classes), make([]float64, classes)
			for i := range class {
				row := append([]float64(nil), scores[i*outputs:(i+1)*outputs]...)
				m.Calibrate(p, row)
				sum := 0.0
				for c, v := range p {
					if sum += v; !(v >= 0 && v <= 1) || absent[c] && v != 0 {
						t.Fatalf("%s of %d classes: %v", method, classes, p)
					}
					if classes > 2 && row[c] != v {
						t.Fatalf("%s: score %v of probability %v", method, row[c], v)
					}
				}
				if math.Abs(sum-1) > 1e-12 || classes == 2 && (row[0] > 0) != (p[1] > 0.5) {
					t.Fatalf("%s of %d classes: %v, score %v", method, classes, p, row)
				}
			}
			if classes == 2 && !more(m) {
				t.Errorf("%s: the second class is not more probable where its score is larger", method)
			}
			keeps(t, m, classes)
		}
	}
}

// more reports whether a larger score makes the second of two classes more probable.
func more(m Map) bool {
	low, high := make([]float64, 2), make([]float64, 2)
	m.Calibrate(low, []float64{-1})
	m.Calibrate(high, []float64{2})
	return low[1] < high[1]
}

// kept has a map in a file, which knows the number of classes from elsewhere.
type kept struct {
	Map
	classes int
}

func (k *kept) State(s *model.State) { k.Map.State(s, k.classes) }

func keeps(t *testing.T, m Map, classes int) {
	t.Helper()
	archive, err := model.Record(&kept{m, classes})
	if err != nil {
		t.Fatal(err)
	}
	again := &kept{classes: classes}
	if err := model.Restore(archive, again); err != nil {
		t.Fatal(err)
	}
	a, b := make([]float64, classes), make([]float64, classes)
	m.Calibrate(a, make([]float64, Outputs(classes)))
	again.Calibrate(b, make([]float64, Outputs(classes)))
	for c := range a {
		if a[c] != b[c] {
			t.Fatalf("%v comes back as %v", a, b)
		}
	}
	if err := model.Restore(archive, &kept{classes: classes + 1}); err == nil {
		t.Error("a map of other classes is taken")
	}
}
