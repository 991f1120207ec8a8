package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/bochner-ml/bochner/transformer/attention"
)

// topics returns queries, keys and values of a sequence whose positions have one of 16 topics:
// queries and keys are a direction of the topic plus noise, scaled so that their products, divided
// by sqrt(width), have the given standard deviation; values are those of the topic plus noise.
func topics(length, width int, deviation float64, seed uint64) (q, k, v []float32) {
	const topics = 16
	rng := rand.New(rand.NewPCG(seed, 31))
	centers, meanings := make([]float64, topics*width), make([]float64, topics*width)
	for i := range centers {
		centers[i], meanings[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	scale := math.Sqrt(deviation / 2)
	for range length {
		t := rng.IntN(topics) * width
		for j := range width {
			c := centers[t+j]
			q = append(q, float32(scale*(c+rng.NormFloat64())))
			k = append(k, float32(scale*(c+rng.NormFloat64())))
			v = append(v, float32(meanings[t+j]+rng.NormFloat64()))
		}
	}
	return q, k, v
}

// distance is the norm of the difference, relative to that of want.
func distance(got, want []float32) float64 {
	sum, norm := 0.0, 0.0
	for i, w := range want {
		d := float64(got[i] - w)
		sum, norm = sum+d*d, norm+float64(w)*float64(w)
	}
	return math.Sqrt(sum / norm)
}

// bare makes both axes logarithmic, without grid lines under the legend.
func bare(p *plot.Plot, x, y []float64) {
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(x), marks(y)
	p.Title.Padding = vg.Points(6)
}

// saveRow writes plots in a row as name.svg and name.png.
func saveRow(name string, width, height vg.Length, row []*plot.Plot) error {
	svg := vgsvg.New(width, height)
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	for _, canvas := range []vg.CanvasSizer{svg, img} {
		tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: vg.Points(24), PadTop: vg.Points(6), PadBottom: vg.Points(6),
			PadLeft: vg.Points(6), PadRight: vg.Points(16)}
		for j, p := range row {
			p.Draw(tiles.At(draw.New(canvas), j, 0))
		}
	}
	if err := writeSVG(name+".svg", svg); err != nil {
		return err
	}
	return write(name+".png", vgimg.PngCanvas{Canvas: img})
}

// errorsOfAttention draws the error of linear attention against the number of features, for scores of several sizes.
func errorsOfAttention(ctx context.Context, name string) error {
	const length, width, seeds = 512, 64, 8
	shape := attention.NewShape(1, 1, length, width)
	var row []*plot.Plot
	for _, deviation := range []float64{0.1, 0.5, 1} {
		p := plot.New()
		p.Title.Text = fmt.Sprintf("scores of deviation %g", deviation)
		p.X.Label.Text = "features m"
		p.Y.Label.Text = "relative error"
		bare(p, []float64{16, 64, 256, 1024, 4096}, []float64{0.01, 0.03, 0.1, 0.3, 1})
		p.Y.Min, p.Y.Max = 0.005, 20 // with space for the legend
		p.Legend.Top = true
		q, k, v := topics(length, width, deviation, 1)
		exact, err := attention.ExactFloat32(ctx, shape, q, k, v)
		if err != nil {
			return err
		}
		for _, draw := range []string{"iid", "orthogonal"} {
			var points plotter.XYs
			for m := 16; m <= 4096; m *= 2 {
				square := 0.0
				for seed := range uint64(seeds) {
					f, err := attention.NewFeatures(width, m, draw, seed)
					if err != nil {
						return err
					}
					out, err := f.LinearFloat32(ctx, shape, q, k, v)
					if err != nil {
						return err
					}
					square += math.Pow(distance(out, exact), 2) / seeds
				}
				points = append(points, plotter.XY{X: float64(m), Y: math.Sqrt(square)})
				fmt.Printf("deviation %g, %s, m = %d: %.4f\n", deviation, draw, m, math.Sqrt(square))
			}
			color := map[string]color.Color{"iid": orange, "orthogonal": blue}[draw]
			if err := curve(p, draw, color, false, points); err != nil {
				return err
			}
		}
		mean := make([]float32, length*width)
		for j := range mean {
			for i := range length {
				mean[j] += v[i*width+j%width] / length
			}
		}
		level := distance(mean, exact)
		fmt.Printf("deviation %g, the mean of all values: %.4f\n", deviation, level)
		if err := curve(p, "mean of all values", grey, true, plotter.XYs{{X: 16, Y: level},
			{X: 4096, Y: level}}); err != nil {
			return err
		}
		row = append(row, p)
	}
	return saveRow(name, vg.Points(860), vg.Points(300), row)
}

// timesOfAttention draws processor time against the length, for exact and linear attention.
func timesOfAttention(ctx context.Context, name string) error {
	const width, m = 64, 256
	f, err := attention.NewFeatures(width, m, "orthogonal", 1)
	if err != nil {
		return err
	}
	var row []*plot.Plot
	for _, causal := range []bool{false, true} {
		p := plot.New()
		p.Title.Text = map[bool]string{false: "all keys", true: "causal"}[causal]
		p.X.Label.Text = "length"
		p.Y.Label.Text = "processor seconds"
		bare(p, []float64{256, 1024, 4096, 16384}, []float64{0.0001, 0.001, 0.01, 0.1, 1, 10})
		p.Legend.Top, p.Legend.Left = true, true
		for _, kind := range []string{"exact", "linear"} {
			var points plotter.XYs
			for length := 128; length <= 16384; length *= 2 {
				shape := attention.NewShape(1, 1, length, width)
				shape.Causal = causal
				q, k, v := topics(length, width, 0.5, 1)
				attend := f.LinearFloat32
				if kind == "exact" {
					attend = attention.ExactFloat32
				}
				seconds := math.Inf(1)
				for range 3 {
					repeats, begun := max(1, 4096/length), processor()
					for range repeats {
						if _, err := attend(ctx, shape, q, k, v); err != nil {
							return err
						}
					}
					seconds = min(seconds, (processor()-begun).Seconds()/float64(repeats))
				}
				points = append(points, plotter.XY{X: float64(length), Y: seconds})
				fmt.Printf("causal %t, %s, length %d: %.5f s\n", causal, kind, length, seconds)
			}
			color := map[string]color.Color{"exact": orange, "linear": blue}[kind]
			label := map[string]string{"exact": "exact", "linear": fmt.Sprintf("linear, m = %d", m)}[kind]
			if err := curve(p, label, color, false, points); err != nil {
				return err
			}
		}
		p.Y.Min, p.Y.Max = 0.0001, 100 // with space for the legend
		row = append(row, p)
	}
	return saveRow(name, vg.Points(640), vg.Points(300), row)
}
