// Package synthetic draws data sets from known distributions, for tutorials, tests and benchmarks.
//
// Rows are independent, and equal for equal seeds. Below, U[a, b] is uniform and N standard normal;
// classes are equally likely unless stated otherwise.
package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// SCurve draws points on a surface bent like an S in three dimensions, rows×3; the target is the
// place t along the S:
//
//	t = 3π·U[−½, ½],  x = (sin t, 2·U[0, 1], sign(t)·(cos t − 1)) + noise·N
func SCurve(rows int, noise float64, seed uint64) (datasets.Set, error) {
	return draw("s_curve", rows, 3, noise, 0, seed, func(x []float64, rng *rand.Rand) float64 {
		t := 3 * math.Pi * (rng.Float64() - 0.5)
		x[0] = math.Sin(t)
		x[1] = 2 * rng.Float64()
		x[2] = math.Copysign(1, t) * (math.Cos(t) - 1)
		return t
	})
}

// Moons draws two half circles that reach into each other, rows×2, one for each class:
//
//	t = π·U[0, 1],  class 0: x = (cos t, sin t) + noise·N,  class 1: x = (1 − cos t, ½ − sin t) + noise·N
func Moons(rows int, noise float64, seed uint64) (datasets.Set, error) {
	return draw("moons", rows, 2, noise, 2, seed, func(x []float64, rng *rand.Rand) float64 {
		class := rng.IntN(2)
		t := math.Pi * rng.Float64()
		x[0], x[1] = math.Cos(t), math.Sin(t)
		if class == 1 {
			x[0], x[1] = 1-x[0], 0.5-x[1]
		}
		return float64(class)
	})
}

// Circles draws two circles around one center, rows×2, one for each class; radius is that of the
// inner one, between 0 and 1:
//
//	t = 2π·U[0, 1],  x = r·(cos t, sin t) + noise·N,  r = 1 for class 0 and radius for class 1
func Circles(rows int, radius, noise float64, seed uint64) (datasets.Set, error) {
	if !(radius > 0 && radius < 1) {
		return datasets.Set{}, fmt.Errorf("synthetic: circles: inner radius must be a number between 0 and 1, got %v", radius)
	}
	return draw("circles", rows, 2, noise, 2, seed, func(x []float64, rng *rand.Rand) float64 {
		class := rng.IntN(2)
		t, r := 2*math.Pi*rng.Float64(), 1.0
		if class == 1 {
			r = radius
		}
		x[0], x[1] = r*math.Cos(t), r*math.Sin(t)
		return float64(class)
	})
}

// Blobs draws round clouds, rows×cols, one for each of classes classes:
//
//	x = c + spread·N,  where the center c of each class is U[−10, 10] in every column
func Blobs(rows, cols, classes int, spread float64, seed uint64) (datasets.Set, error) {
	if cols < 1 || classes < 1 {
		return datasets.Set{}, fmt.Errorf("synthetic: blobs: numbers of columns and classes must be at least 1, got %d "+
			"and %d", cols, classes)
	}
	centers := mat.NewDense(classes, cols, nil)
	rng := rand.New(rand.NewPCG(seed, centerStream))
	centers.Apply(func(int, int, float64) float64 { return 20*rng.Float64() - 10 }, centers)
	return draw("blobs", rows, cols, spread, classes, seed, func(x []float64, rng *rand.Rand) float64 {
		class := rng.IntN(classes)
		copy(x, centers.RawRowView(class))
		return float64(class)
	})
}

// Friedman1 draws the first regression of Friedman (Multivariate adaptive regression splines, 1991),
// rows×cols with cols ≥ 5, of which five matter; x = U[0, 1] in every column and
//
//	y = 10·sin(π·x₀·x₁) + 20·(x₂ − ½)² + 10·x₃ + 5·x₄ + noise·N
func Friedman1(rows, cols int, noise float64, seed uint64) (datasets.Set, error) {
	if cols < 5 {
		return datasets.Set{}, fmt.Errorf("synthetic: friedman1: number of columns must be at least 5, got %d", cols)
	}
	if err := checkNoise("friedman1", noise); err != nil {
		return datasets.Set{}, err
	}
	return draw("friedman1", rows, cols, 0, 0, seed, func(x []float64, rng *rand.Rand) float64 {
		for j := range x {
			x[j] = rng.Float64()
		}
		half := x[2] - 0.5
		return 10*math.Sin(math.Pi*x[0]*x[1]) + 20*half*half + 10*x[3] + 5*x[4] + noise*rng.NormFloat64()
	})
}

// Streams of random numbers, one for each purpose.
const (
	rowStream uint64 = iota + 101
	noiseStream
	centerStream
)

// draw fills every row of X by row, which returns its target, and adds noise to the inputs. Noise
// is drawn from a separate stream, so its scale does not affect the noiseless points.
func draw(name string, rows, cols int, noise float64, classes int, seed uint64,
	row func(x []float64, rng *rand.Rand) float64) (datasets.Set, error) {
	if rows < 1 {
		return datasets.Set{}, fmt.Errorf("synthetic: %s: number of rows must be at least 1, got %d", name, rows)
	}
	if err := checkNoise(name, noise); err != nil {
		return datasets.Set{}, err
	}
	points := rand.New(rand.NewPCG(seed, rowStream))
	blur := rand.New(rand.NewPCG(seed, noiseStream))
	X := mat.NewDense(rows, cols, nil)
	out := datasets.Set{X: X, Y: make([]float64, rows), Schema: schema(cols, classes)}
	for i := range rows {
		x := X.RawRowView(i)
		out.Y[i] = row(x, points)
		if noise > 0 {
			for j := range x {
				x[j] += noise * blur.NormFloat64()
			}
		}
	}
	return out, nil
}

func checkNoise(name string, noise float64) error {
	if !(noise >= 0) || math.IsInf(noise, 0) {
		return fmt.Errorf("synthetic: %s: noise must be a number ≥ 0, got %v", name, noise)
	}
	return nil
}

func schema(cols, classes int) datasets.Schema {
	s := datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}
	for j := range cols {
		s.Columns = append(s.Columns, datasets.Column{Name: "x" + strconv.Itoa(j)})
	}
	if classes > 0 {
		s.Targets[0].Kind = datasets.Categorical
	}
	for k := range classes {
		s.Targets[0].Categories = append(s.Targets[0].Categories, strconv.Itoa(k))
	}
	return s
}
