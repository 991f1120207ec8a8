package evidence

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// rate is the initial step length, in the logarithms.
const rate = 0.1

// Result is the outcome of an optimization.
type Result struct {
	Scales           []float64
	Noise, Amplitude float64
	Value            float64 // of the objective
	Steps            int     // number of steps
	AtMinNoise       bool    // whether the noise ended at its lower bound, for [Exact]
}

// Point is a starting point.
type Point struct {
	Scales           []float64
	Noise, Amplitude float64
}

// Start returns the point with equal scales.
func (p Problem) Start(scale float64) Point {
	return Point{Scales: slices.Repeat([]float64{scale}, p.Scales()), Noise: 0.3, Amplitude: 1}
}

func (p Point) logarithms() []float64 {
	out := make([]float64, 0, len(p.Scales)+2)
	for _, s := range p.Scales {
		out = append(out, math.Log(s))
	}
	return append(out, math.Log(p.Noise), math.Log(p.Amplitude))
}

// Minimize runs Adam in several rounds and returns the best end point. Each step uses other
// frequencies from lists, so that the scales do not overfit one draw; rounds are compared on the
// first. A fixed noise is bounded below by the float32 resolution of the amplitude. A round
// continues from the best point, but resets scales to at least their initial values: inputs that
// were irrelevant before others were learned get another chance. The objective is evaluated in
// float32.
func Minimize(ctx context.Context, p Problem, lists []*mat.Dense, start Point, rounds, steps int) (Result, error) {
	p.Frequencies = lists[0]
	objective, first := New[float32](p), start.logarithms()
	best, bestValue := first, math.Inf(1)
	for r := range rounds {
		from := slices.Clone(best)
		for j := range start.Scales {
			from[j] = max(from[j], first[j])
		}
		d := newAdam(from)
		d.keepNoise, d.keepAmplitude = p.KeepNoise, p.KeepAmplitude
		value, err := d.run(ctx, objective, lists, (r+1)*steps/rounds-r*steps/rounds)
		if err != nil {
			return Result{}, err
		}
		if value < bestValue {
			best, bestValue = d.last, value
		}
	}
	k := len(start.Scales)
	out := Result{Scales: make([]float64, k), Value: bestValue, Noise: math.Exp(best[k]), Amplitude: math.Exp(best[k+1])}
	for j := range out.Scales {
		out.Scales[j] = math.Exp(best[j])
	}
	return out, nil
}

// adam is the optimizer Adam (Kingma and Ba, ICLR 2015) on the logarithms.
type adam struct {
	point, last   []float64 // last is the last point with a finite objective
	gradient      []float64
	first, second []float64 // moment estimates

	keepNoise, keepAmplitude bool
}

func newAdam(start []float64) *adam {
	k := len(start)
	return &adam{point: slices.Clone(start), last: slices.Clone(start), gradient: make([]float64, k),
		first: make([]float64, k), second: make([]float64, k)}
}

// run makes the given steps, with a half-cosine schedule down to a tenth of the initial step. It
// returns the final objective for the first frequencies.
func (d *adam) run(ctx context.Context, o *Objective[float32], lists []*mat.Dense, steps int) (float64, error) {
	for t := range steps {
		o.Frequencies = lists[(steps-t)%len(lists)]
		value, err := o.At(ctx, d.point, d.gradient)
		if err != nil {
			return 0, err
		}
		if math.IsInf(value, 1) {
			break
		}
		copy(d.last, d.point)
		d.step(t, rate*(0.1+0.9*(1+math.Cos(math.Pi*float64(t)/float64(steps)))/2))
	}
	o.Frequencies = lists[0]
	value, err := o.At(ctx, d.point, d.gradient)
	if err != nil || !math.IsInf(value, 1) {
		copy(d.last, d.point)
		return value, err
	}
	return o.At(ctx, d.last, d.gradient)
}

// Bounds of the logarithms.
const (
	maxLogScale   = 14.0   // of a scale from 1
	minNoiseRatio = 2.5e-4 // relative to the amplitude: the resolution of float32 sums
)

// step updates the point.
func (d *adam) step(t int, rate float64) {
	const fade, fadeSquare, tiny = 0.9, 0.99, 1e-12
	k := len(d.point) - 2
	for j, g := range d.gradient {
		if j == k && d.keepNoise || j == k+1 && d.keepAmplitude {
			continue
		}
		d.first[j] = fade*d.first[j] + (1-fade)*g
		d.second[j] = fadeSquare*d.second[j] + (1-fadeSquare)*g*g
		m := d.first[j] / (1 - math.Pow(fade, float64(t+1)))
		v := d.second[j] / (1 - math.Pow(fadeSquare, float64(t+1)))
		d.point[j] -= rate * m / (math.Sqrt(v) + tiny)
		if j < k {
			d.point[j] = min(max(d.point[j], -maxLogScale), maxLogScale)
		}
	}
	d.point[k] = max(d.point[k], d.point[k+1]+math.Log(minNoiseRatio))
}
