package evidence

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/kern"
)

// rate is the length of the first steps, in the logarithms.
const rate = 0.1

// Learned is where a descent has come to.
type Learned struct {
	Scales           []float64
	Noise, Amplitude float64
	Value            float64 // of the objective
}

// Point is a place to start from.
type Point struct {
	Scales           []float64
	Noise, Amplitude float64
}

func (p Point) logarithms() []float64 {
	out := make([]float64, 0, len(p.Scales)+2)
	for _, s := range p.Scales {
		out = append(out, math.Log(s))
	}
	return append(out, math.Log(p.Noise), math.Log(p.Amplitude))
}

// Learn descends from every start, for a while on a part of the rows and of the frequencies, and to the end from
// the best of them. The objective is computed in single precision.
func Learn(ctx context.Context, p Problem, starts []Point, steps int) (Learned, error) {
	points := make([][]float64, len(starts))
	for i, s := range starts {
		points[i] = s.logarithms()
	}
	best := 0
	if len(starts) > 1 {
		var err error
		if best, err = p.part().explore(ctx, points, (steps+2)/3); err != nil {
			return Learned{}, err
		}
	}
	d := newDescent(New[float32](p), points[best])
	if err := d.run(ctx, steps); err != nil {
		return Learned{}, err
	}
	k := p.Scales()
	out := Learned{Scales: make([]float64, k), Value: d.least}
	for j := range out.Scales {
		out.Scales[j] = math.Exp(d.best[j])
	}
	out.Noise, out.Amplitude = math.Exp(d.best[k]), math.Exp(d.best[k+1])
	return out, nil
}

// explore descends from each point a little, overwrites the points with where that leads, and returns the number of
// the best.
func (p Problem) explore(ctx context.Context, points [][]float64, steps int) (best int, err error) {
	objective, least := New[float32](p), math.Inf(1)
	for i, point := range points {
		d := newDescent(objective, point)
		if err := d.run(ctx, steps); err != nil {
			return 0, err
		}
		points[i] = d.best
		if d.least < least {
			best, least = i, d.least
		}
	}
	return best, nil
}

// part returns the problem of the first third of the rows and the first half of the frequencies.
func (p Problem) part() Problem {
	n, _ := p.X.Dims()
	d, m := p.Frequencies.Dims()
	_, q := p.Y.Dims()
	if rows := (n + 2) / 3; rows >= 2 {
		p.X, p.Y = datasets.SliceRows(p.X, 0, rows), mat.DenseCopyOf(p.Y.Slice(0, rows, 0, q))
	}
	if m > 1 {
		p.Frequencies = p.Frequencies.Slice(0, d, 0, m/2).(*mat.Dense)
	}
	return p
}

// descent is Adam (Kingma and Ba, ICLR 2015) on the logarithms, which remembers the best point it came by.
type descent[T kern.Float] struct {
	objective     *Objective[T]
	point         []float64
	gradient      []float64
	first, second []float64 // moments of the gradient
	best          []float64
	least         float64
}

func newDescent[T kern.Float](o *Objective[T], start []float64) *descent[T] {
	d := &descent[T]{objective: o, least: math.Inf(1)}
	d.point = append(d.point, start...)
	d.best = append(d.best, start...)
	d.gradient, d.first, d.second = make([]float64, len(start)), make([]float64, len(start)), make([]float64, len(start))
	return d
}

// run makes steps, whose length falls to a tenth of the first one's as half a cosine wave.
func (d *descent[T]) run(ctx context.Context, steps int) error {
	for t := range steps + 1 {
		value, err := d.objective.At(ctx, d.point, d.gradient)
		if err != nil {
			return err
		}
		if value < d.least {
			d.least = value
			copy(d.best, d.point)
		}
		if t == steps || math.IsInf(value, 1) {
			return nil
		}
		d.step(t, rate*(0.1+0.9*(1+math.Cos(math.Pi*float64(t)/float64(steps)))/2))
	}
	return nil
}

// least and most bounds of the logarithms.
const (
	furthest   = 14.0   // of a scale from 1
	leastNoise = 2.5e-4 // of the amplitude: what sums in single precision can tell
)

// step moves the point.
func (d *descent[T]) step(t int, rate float64) {
	const fade, fadeSquare, tiny = 0.9, 0.99, 1e-12
	k := len(d.point) - 2
	for j, g := range d.gradient {
		d.first[j] = fade*d.first[j] + (1-fade)*g
		d.second[j] = fadeSquare*d.second[j] + (1-fadeSquare)*g*g
		m := d.first[j] / (1 - math.Pow(fade, float64(t+1)))
		v := d.second[j] / (1 - math.Pow(fadeSquare, float64(t+1)))
		d.point[j] -= rate * m / (math.Sqrt(v) + tiny)
		if j < k {
			d.point[j] = min(max(d.point[j], -furthest), furthest)
		}
	}
	d.point[k] = max(d.point[k], d.point[k+1]+math.Log(leastNoise))
}
