package evidence

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// rate is the length of the first steps, in the logarithms.
const rate = 0.1

// Result is where a descent has come to.
type Result struct {
	Scales           []float64
	Noise, Amplitude float64
	Value            float64 // of the objective
	Steps            int     // taken
	AtMinNoise       bool    // whether the noise ended at the least that there is, for [Exact]
}

// Point is a place to start from.
type Point struct {
	Scales           []float64
	Noise, Amplitude float64
}

// Start returns the point with one scale for every input.
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

// Minimize descends from a point in rounds, and returns the end of the best one. Each step sees other frequencies, of the
// lists that there are, so that the scales do not fit what one list happens to hold; rounds are compared on the first
// one. A noise that is kept is never below the part of the amplitude that single precision can tell. A round goes on from the best point so far, but no scale starts below that of the first point: an input that
// told nothing while others had not been understood is looked at again. The objective is computed in single precision.
func Minimize(ctx context.Context, p Problem, lists []*mat.Dense, start Point, rounds, steps int) (Result, error) {
	p.Frequencies = lists[0]
	objective, first := New[float32](p), start.logarithms()
	best, least := first, math.Inf(1)
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
		if value < least {
			best, least = d.last, value
		}
	}
	k := len(start.Scales)
	out := Result{Scales: make([]float64, k), Value: least, Noise: math.Exp(best[k]), Amplitude: math.Exp(best[k+1])}
	for j := range out.Scales {
		out.Scales[j] = math.Exp(best[j])
	}
	return out, nil
}

// adam is Adam (Kingma and Ba, ICLR 2015) on the logarithms.
type adam struct {
	point, last   []float64 // last is the last one where the objective was finite
	gradient      []float64
	first, second []float64 // moments of the gradient

	keepNoise, keepAmplitude bool
}

func newAdam(start []float64) *adam {
	k := len(start)
	return &adam{point: slices.Clone(start), last: slices.Clone(start), gradient: make([]float64, k),
		first: make([]float64, k), second: make([]float64, k)}
}

// run makes so many steps, whose length falls to a tenth of the first one's as half a cosine wave does, and returns
// the objective of the end with the first frequencies.
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

// least and most bounds of the logarithms.
const (
	maxLogScale   = 14.0   // of a scale from 1
	minNoiseRatio = 2.5e-4 // of the amplitude: what sums in single precision can tell
)

// step moves the point.
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
