// Shapes clusters two moons and two circles by k-means and by spectral clustering on binning
// features, prints the adjusted Rand index of both, and draws them.
//
//	go run ./examples/shapes -out docs/shapes.svg
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

func main() {
	out := flag.String("out", "", "picture to write")
	rows := flag.Int("rows", 400, "number of points of each shape")
	flag.Parse()
	picture, err := draw(context.Background(), *rows)
	if err != nil {
		log.Fatal(err)
	}
	if *out != "" {
		if err := os.WriteFile(*out, []byte(picture), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// models returns the two clustering models by name.
func models() (names []string, byName map[string]pipeline.Pipeline) {
	means := cluster.NewKMeans()
	means.Clusters = 2
	bins := transformer.NewBinning()
	bins.Gamma, bins.Grids = kernel.FixedGamma(15), 128
	graph := cluster.NewSpectral()
	graph.Clusters = 2
	return []string{"kmeans", "binning, spectral"}, map[string]pipeline.Pipeline{
		"kmeans": pipeline.Steps().Then(means), "binning, spectral": pipeline.Steps(bins).Then(graph)}
}

// draw clusters both shapes by both models, prints the scores and returns the figure.
func draw(ctx context.Context, rows int) (string, error) {
	moons, err := synthetic.Moons(rows, 0.06, 1)
	if err != nil {
		return "", err
	}
	circles, err := synthetic.Circles(rows, 0.4, 0.05, 1)
	if err != nil {
		return "", err
	}
	rand, err := metrics.ByName("adjusted_rand")
	if err != nil {
		return "", err
	}
	const side, margin, title = 220.0, 14.0, 24.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" `+
		`font-family="sans-serif" font-size="13">`+"\n", 4*side, side+title)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", 4*side, side+title)
	at := 0.0
	for s, data := range []datasets.Set{moons, circles} {
		names, byName := models()
		for _, name := range names {
			f, err := byName[name].Fit(ctx, data)
			if err != nil {
				return "", err
			}
			numbers, err := f.Predict(ctx, data.X)
			if err != nil {
				return "", err
			}
			score, err := rand.Score(metrics.Input{YTrue: data.Y, YPred: numbers})
			if err != nil {
				return "", err
			}
			score = math.Round(100*score)/100 + 0 // no -0.00
			fmt.Printf("%-8s %-18s adjusted Rand %.2f\n", []string{"moons", "circles"}[s], name, score)
			fmt.Fprintf(&b, `<text x="%.1f" y="17" text-anchor="middle">%s: %.2f</text>`+"\n", at+side/2, name, score)
			points(&b, data, numbers, at+margin, title, side-2*margin)
			at += side
		}
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// points draws the rows into a square, colored by their clusters.
func points(b *strings.Builder, data datasets.Set, numbers []float64, left, top, side float64) {
	low, high := [2]float64{data.X.At(0, 0), data.X.At(0, 1)}, [2]float64{data.X.At(0, 0), data.X.At(0, 1)}
	for i := range data.Rows() {
		for j := range 2 {
			low[j], high[j] = min(low[j], data.X.At(i, j)), max(high[j], data.X.At(i, j))
		}
	}
	for i, c := range numbers {
		x := (data.X.At(i, 0) - low[0]) / (high[0] - low[0]) * side
		y := (data.X.At(i, 1) - low[1]) / (high[1] - low[1]) * side
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", left+x, top+side-y,
			[]string{"#1b6ca8", "#d1602b"}[int(c)%2])
	}
}
