// Gaussian_process fits a function of one input to rows with a gap, and plots the posterior: mean,
// a band of two standard deviations, and sampled functions.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
)

func main() {
	out := flag.String("out", "", "picture to write")
	flag.Parse()
	picture, err := picture(context.Background())
	if err == nil && *out != "" {
		err = os.WriteFile(*out, []byte(picture), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// rows returns sin(2x) with noise of deviation 0.15, seen on both sides of a gap.
func rows() datasets.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60
	X, y := mat.NewDense(n, 1, nil), make([]float64, n)
	for i := range n {
		x := -3 + 2.2*rng.Float64()
		if i%2 == 0 {
			x = 0.8 + 1.7*rng.Float64()
		}
		X.Set(i, 0, x)
		y[i] = math.Sin(2*x) + 0.15*rng.NormFloat64()
	}
	return datasets.Set{X: X, Y: y}
}

// picture fits the rows and draws the result.
func picture(ctx context.Context) (string, error) {
	data := rows()
	spec := estimator.NewGaussianProcess()
	spec.Seed = 3
	model, err := spec.Fit(ctx, data)
	if err != nil {
		return "", err
	}
	process := model.(*estimator.FittedGaussianProcess)
	fmt.Printf("γ %.3f, deviation of the noise %.3f, of the function %.2f; log evidence %.1f\n",
		process.Gamma()[0], math.Sqrt(process.Noise()[0]), math.Sqrt(process.Amplitude()[0]), process.LogMarginalLikelihood())
	const points = 241
	probe := mat.NewDense(points, 1, nil)
	for i := range points {
		probe.Set(i, 0, -4+8*float64(i)/(points-1))
	}
	known, err := estimator.Predict(ctx, process, probe, estimator.Request{Outputs: estimator.OutputValues |
		estimator.OutputStd})
	if err != nil {
		return "", err
	}
	functions, err := process.Sample(ctx, probe, 4, 5)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	s.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	band := make([]string, 2*points)
	for i := range points {
		x := probe.At(i, 0)
		band[i], band[2*points-1-i] = at(x, known.Values[i]+2*known.Std[i]), at(x, known.Values[i]-2*known.Std[i])
	}
	fmt.Fprintf(&s, `<polygon points="%s" fill="#cfe1f3"/>`+"\n", strings.Join(band, " "))
	for k := range 4 {
		line(&s, probe, mat.Col(nil, k, functions), "#7aa6cf", 1)
	}
	line(&s, probe, known.Values, "#114477", 2.5)
	for i, y := range data.Y {
		fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="#cc5522"/>`+"\n", across(data.X.At(i, 0)), down(y))
	}
	axes(&s)
	s.WriteString("</svg>\n")
	return s.String(), nil
}

const width, height, margin = 640, 340, 40

func across(x float64) float64 { return margin + (x+4)/8*(width-2*margin) }
func down(y float64) float64   { return height/2 - y/3.2*(height/2-margin/2) }
func at(x, y float64) string   { return fmt.Sprintf("%.1f,%.1f", across(x), down(y)) }

// line draws a function.
func line(s *strings.Builder, X *mat.Dense, y []float64, color string, wide float64) {
	points := make([]string, len(y))
	for i, v := range y {
		points[i] = at(X.At(i, 0), v)
	}
	fmt.Fprintf(s, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%g"/>`+"\n", strings.Join(points, " "),
		color, wide)
}

// axes draws ticks and labels.
func axes(s *strings.Builder) {
	for x := -4; x <= 4; x++ {
		fmt.Fprintf(s, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%d</text>`+"\n", across(float64(x)), height-6,
			x)
	}
	for y := -3; y <= 3; y++ {
		fmt.Fprintf(s, `<text x="%d" y="%.1f" text-anchor="end" fill="#555">%d</text>`+"\n", margin-8, down(float64(y))+4, y)
	}
	for i, what := range []struct{ text, color string }{
		{"mean", "#114477"}, {"mean ± 2 deviations of a new observation", "#cfe1f3"}, {"four functions drawn", "#7aa6cf"},
		{"rows", "#cc5522"}} {
		fmt.Fprintf(s, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d" fill="#333">%s</text>`+"\n",
			margin+170, 8+15*i, what.color, margin+185, 17+15*i, what.text)
	}
}
