package synthetic_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
)

// sets draws every set.
var sets = []struct {
	name string
	draw func(rows int, seed uint64) (datasets.Set, error)
}{
	{"blobs", func(rows int, seed uint64) (datasets.Set, error) { return synthetic.Blobs(rows, 2, 3, 1, seed) }},
	{"friedman1", func(rows int, seed uint64) (datasets.Set, error) { return synthetic.Friedman1(rows, 10, 1, seed) }},
	{"moons", func(rows int, seed uint64) (datasets.Set, error) { return synthetic.Moons(rows, 0.2, seed) }},
	{"s_curve", func(rows int, seed uint64) (datasets.Set, error) { return synthetic.SCurve(rows, 0.1, seed) }},
}

// TestConformance: every set passes Check, is the same for one seed and another for another.
func TestConformance(t *testing.T) {
	for _, s := range sets {
		name := s.name
		a, err := s.draw(400, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(); err != nil || a.Rows() != 400 {
			t.Errorf("%s: %d rows, %v", name, a.Rows(), err)
		}
		b, _ := s.draw(400, 1)
		c, _ := s.draw(400, 2)
		if !mat.Equal(a.X, b.X) || mat.Equal(a.X, c.X) {
			t.Errorf("%s: the seed does not decide", name)
		}
		if more, _ := s.draw(500, 1); !mat.Equal(more.Slice(0, 400).X, a.X) {
			t.Errorf("%s: more rows change the first ones", name)
		}
		if classes := a.Schema.Classes(); classes != nil {
			count := make([]float64, len(classes))
			for _, y := range a.Y {
				count[int(y)]++
			}
			for k, n := range count {
				if want := 400 / float64(len(classes)); math.Abs(n-want) > 4.5*math.Sqrt(want) {
					t.Errorf("%s: %v rows of class %d, want about %v", name, n, k, want)
				}
			}
		}
	}
}

// TestFormulas compares noiseless rows with the formulas.
func TestFormulas(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	each := func(set datasets.Set, err error, f func(x []float64, y float64)) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range set.Y {
			f(set.X.(*mat.Dense).RawRowView(i), y)
		}
	}
	set, err := synthetic.SCurve(50, 0, 1)
	each(set, err, func(x []float64, y float64) {
		near("s_curve sine", x[0], math.Sin(y))
		near("s_curve cosine", x[2]*math.Copysign(1, y)+1, math.Cos(y))
		if x[1] < 0 || x[1] > 2 || math.Abs(y) > 1.5*math.Pi {
			t.Errorf("s_curve: %v, %v", x, y)
		}
	})
	set, err = synthetic.Moons(50, 0, 1)
	each(set, err, func(x []float64, y float64) {
		near("moons", math.Hypot(x[0]-y, x[1]-y/2), 1)
		if (x[1]-y/2)*(1-2*y) < 0 {
			t.Errorf("moons: %v is on the wrong half of circle %v", x, y)
		}
	})
	set, err = synthetic.Circles(50, .3, 0, 1)
	each(set, err, func(x []float64, y float64) { near("circles", math.Hypot(x[0], x[1]), 1-.7*y) })
	set, err = synthetic.Friedman1(50, 7, 0, 1)
	each(set, err, func(x []float64, y float64) {
		near("friedman1", y, 10*math.Sin(math.Pi*x[0]*x[1])+20*math.Pow(x[2]-.5, 2)+10*x[3]+5*x[4])
	})
}

// TestBlobs checks that the rows of a class have one center and the given standard deviation.
func TestBlobs(t *testing.T) {
	const n, classes = 6000, 3
	set, err := synthetic.Blobs(n, 4, classes, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum, square, count := make([]float64, 4*classes), make([]float64, 4*classes), make([]float64, classes)
	for i, y := range set.Y {
		count[int(y)]++
		for j := range 4 {
			v := set.X.At(i, j)
			sum[4*int(y)+j] += v
			square[4*int(y)+j] += v * v
		}
	}
	for k := range sum {
		m := count[k/4]
		mean := sum[k] / m
		variance := square[k]/m - mean*mean
		if math.Abs(mean) > 10.5 || math.Abs(variance-4) > 4.5*4*math.Sqrt(2/m) {
			t.Errorf("class %d: mean %v, variance %v; want a mean in ±10, variance 4", k/4, mean, variance)
		}
	}
}

func TestErrors(t *testing.T) {
	try := func(_ datasets.Set, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{try(synthetic.Moons(0, .1, 1)), "synthetic: moons: number of rows must be at least 1, got 0"},
		{try(synthetic.Moons(5, -1, 1)), "synthetic: moons: noise must be a number ≥ 0, got -1"},
		{try(synthetic.SCurve(5, math.NaN(), 1)), "synthetic: s_curve: noise must be a number ≥ 0, got NaN"},
		{try(synthetic.Circles(5, 1, 0, 1)), "synthetic: circles: inner radius must be a number between 0 and 1, got 1"},
		{try(synthetic.Blobs(5, 0, 2, 1, 1)),
			"synthetic: blobs: numbers of columns and classes must be at least 1, got 0 and 2"},
		{try(synthetic.Friedman1(5, 4, 1, 1)), "synthetic: friedman1: number of columns must be at least 5, got 4"},
		{try(synthetic.Friedman1(5, 5, math.Inf(1), 1)), "synthetic: friedman1: noise must be a number ≥ 0, got +Inf"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("error %v, want %s", c.err, c.want)
		}
	}
}

func ExampleMoons() {
	set, err := synthetic.Moons(500, 0.1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Rows(), set.Cols(), set.Schema.Classes())
	// Output: 500 2 [0 1]
}
