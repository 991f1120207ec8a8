// Command figures plots the figures of docs/paper.md: the error of random features as an
// approximation of a kernel, and the results of binning with a support vector machine on Forest
// Cover.
//
//	go -C examples/paper/figures run . -out ../../../docs -cover covtype_random92962.data.gz
//
// With -attention it plots those of docs/attention.md instead: the error and the time of linear
// attention.
//
// Without -cover it plots only figures that need no data. It is a separate module, so that the
// library does not depend on plotting packages.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/bochner-ml/bochner/internal/codec/svg"
)

func main() {
	out := flag.String("out", ".", "folder of the pictures")
	cover := flag.String("cover", "", "file of the Forest Cover rows")
	only := flag.Bool("attention", false, "draw the pictures of docs/attention.md, and no others")
	flag.Parse()
	drawn := func() error { return pictures(context.Background(), *out, *cover) }
	if *only {
		drawn = func() error { return attentions(context.Background(), *out) }
	}
	if err := drawn(); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func pictures(ctx context.Context, out, cover string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	if err := matrices(ctx, filepath.Join(out, "paper-matrices")); err != nil {
		return err
	}
	if err := errorsOfKernels(ctx, filepath.Join(out, "paper-kernel-error")); err != nil {
		return err
	}
	if err := boundaries(ctx, filepath.Join(out, "boundaries")); err != nil {
		return err
	}
	if cover == "" {
		return nil
	}
	return covers(ctx, cover, out)
}

// attentions draws the pictures of docs/attention.md, and prints their numbers.
func attentions(ctx context.Context, out string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	if err := errorsOfAttention(ctx, filepath.Join(out, "attention-error")); err != nil {
		return err
	}
	return timesOfAttention(ctx, filepath.Join(out, "attention-time"))
}

var (
	blue   = color.RGBA{31, 90, 160, 255}
	orange = color.RGBA{210, 95, 20, 255}
	grey   = color.RGBA{130, 130, 130, 255}
)

// curve adds a line with points, or a dashed line without, to a plot and its legend.
func curve(p *plot.Plot, name string, c color.Color, dashed bool, points plotter.XYs) error {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	dots.Color, dots.Shape, dots.Radius = c, draw.CircleGlyph{}, vg.Points(2.5)
	if dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
		p.Legend.Add(name, line)
		return nil
	}
	p.Add(line, dots)
	p.Legend.Add(name, line, dots)
	return nil
}

// logarithmic makes both axes logarithmic, with the given ticks, or ticks at powers of ten.
func logarithmic(p *plot.Plot, x, y []float64) {
	p.Legend.Padding = vg.Points(3)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(x), marks(y)
	p.Add(plotter.NewGrid())
}

func marks(at []float64) plot.Ticker {
	if at == nil {
		return plot.LogTicks{Prec: -1}
	}
	var ticks plot.ConstantTicks
	for _, v := range at {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}

// save writes plots in rows and columns as name.svg and name.png.
func save(name string, width, height vg.Length, rows [][]*plot.Plot) error {
	drawing := vgsvg.New(width, height)
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	for _, canvas := range []vg.CanvasSizer{drawing, img} {
		tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: vg.Points(10), PadY: vg.Points(6),
			PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(10)}
		all := draw.New(canvas)
		for i, row := range plot.Align(rows, tiles, all) {
			for j, part := range row {
				rows[i][j].Draw(part)
			}
		}
	}
	if err := writeSVG(name+".svg", drawing); err != nil {
		return err
	}
	return write(name+".png", vgimg.PngCanvas{Canvas: img})
}

// writeSVG writes a figure with text lengths independent of the font.
func writeSVG(path string, picture io.WriterTo) error {
	var text bytes.Buffer
	if _, err := picture.WriteTo(&text); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(svg.FixTextLengths(text.String())), 0o644)
}

func write(path string, picture io.WriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := picture.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
