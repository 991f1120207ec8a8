// Package plot draws figures for notebooks: points, curves, and matrices as gray images.
package plot

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Image contains matrices in a row; notebooks display it.
type Image struct{ image image.Image }

// PNG returns the image as a file.
func (p Image) PNG() []byte {
	var out bytes.Buffer
	// Encoding into memory fails only for a picture that is too large, and Matrices makes none.
	if err := png.Encode(&out, p.image); err != nil {
		return nil
	}
	return out.Bytes()
}

const (
	minPixels = 300  // pixels of a matrix at least
	maxDrawn  = 4096 // rows or columns drawn
	border    = 12
)

// Matrices draws matrices in a row, in shades from low (white) to high (black). An entry is a
// square of pixels; at maxDrawn 4,096 rows and columns are drawn.
func Matrices(low, high float64, matrices ...mat.Matrix) Image {
	var parts []*image.Gray
	width, height := border, 0
	for _, m := range matrices {
		g := gray(low, high, m)
		parts = append(parts, g)
		width, height = width+g.Rect.Dx()+border, max(height, g.Rect.Dy()+2*border)
	}
	out := image.NewGray(image.Rect(0, 0, width, max(height, 1)))
	for i := range out.Pix {
		out.Pix[i] = 0xff
	}
	x := border
	for _, g := range parts {
		for row := range g.Rect.Dy() {
			copy(out.Pix[(row+border)*out.Stride+x:], g.Pix[row*g.Stride:][:g.Rect.Dx()])
		}
		x += g.Rect.Dx() + border
	}
	return Image{out}
}

func gray(low, high float64, m mat.Matrix) *image.Gray {
	rows, cols := m.Dims()
	rows, cols = min(rows, maxDrawn), min(cols, maxDrawn)
	zoom := max(1, minPixels/max(rows, cols, 1))
	out := image.NewGray(image.Rect(0, 0, cols*zoom, rows*zoom))
	for y := range rows * zoom {
		for x := range cols * zoom {
			t := (m.At(y/zoom, x/zoom) - low) / (high - low)
			out.SetGray(x, y, color.Gray{Y: uint8(255 * (1 - math.Min(1, math.Max(0, t))))})
		}
	}
	return out
}

// Plot contains points and curves in one frame; notebooks display it.
type Plot struct {
	title  string
	series []series
}

type series struct {
	name  string
	x, y  []float64
	shade []float64 // of points, nil for a curve
	color string
}

var colors = []string{"#1d4e89", "#d1495b", "#2a9d8f", "#e9a03b", "#6a4c93"}

// New returns an empty plot.
func New(title string) *Plot { return &Plot{title: title} }

// Curve adds a curve through the points and returns the plot. If x and y differ in length, the
// longer one is truncated.
func (p *Plot) Curve(name string, x, y []float64) *Plot {
	p.series = append(p.series, series{name: name, x: x, y: y, color: colors[len(p.series)%len(colors)]})
	return p
}

// Points adds points, colored from blue to red by shade, and returns the plot.
func (p *Plot) Points(x, y, shade []float64) *Plot {
	p.series = append(p.series, series{x: x, y: y, shade: shade})
	return p
}

// SVG returns the plot as a picture.
func (p *Plot) SVG() string {
	const width, height, left, top, bottom = 560.0, 340.0, 60.0, 30.0, 30.0
	x0, x1 := extent(p.series, func(s series) []float64 { return s.x })
	y0, y1 := extent(p.series, func(s series) []float64 { return s.y })
	px := func(x float64) float64 { return left + (x-x0)/(x1-x0)*(width-left-15) }
	py := func(y float64) float64 { return height - bottom - (y-y0)/(y1-y0)*(height-top-bottom) }
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" `+
		`font-family="Menlo, Consolas, monospace" font-size="12">`+
		`<rect width="100%%" height="100%%" fill="#ffffff"/>`, width, height)
	fmt.Fprintf(&out, `<text x="%.0f" y="18" font-weight="bold">%s</text>`, left, html.EscapeString(p.title))
	fmt.Fprintf(&out, `<path d="M%.1f %.1f V%.1f H%.1f" fill="none" stroke="#888888"/>`, left, top, height-bottom,
		width-15)
	for _, x := range ticks(x0, x1) {
		fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555555">%.4g</text>`, px(x), height-bottom+16,
			x)
	}
	for _, y := range ticks(y0, y1) {
		fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#555555">%.4g</text>`, left-5, py(y)+4, y)
	}
	at := top + 4
	for _, s := range p.series {
		if s.shade != nil {
			low, high := extent([]series{{x: s.shade}}, func(s series) []float64 { return s.x })
			for i := range min(len(s.x), len(s.y), len(s.shade)) {
				t := (s.shade[i] - low) / (high - low)
				fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="rgb(%.0f,70,%.0f)"/>`, px(s.x[i]), py(s.y[i]),
					40+190*t, 230-190*t)
			}
			continue
		}
		out.WriteString(`<polyline fill="none" stroke-width="1.6" stroke="` + s.color + `" points="`)
		for i := range min(len(s.x), len(s.y)) {
			fmt.Fprintf(&out, "%.1f,%.1f ", px(s.x[i]), py(s.y[i]))
		}
		fmt.Fprintf(&out, `"/><text x="%.0f" y="%.1f" text-anchor="end" fill="%s">%s</text>`, width-20, at+12, s.color,
			html.EscapeString(s.name))
		at += 16
	}
	return out.String() + "</svg>"
}

// ticks returns round numbers from low to high, three to ten of them.
func ticks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	switch {
	case (high-low)/step < 2:
		step /= 4
	case (high-low)/step < 4:
		step /= 2
	}
	var out []float64
	for k := math.Ceil(low / step); k*step <= high; k++ {
		out = append(out, k*step)
	}
	return out
}

// extent returns the least and the greatest number, apart from each other.
func extent(all []series, of func(series) []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		for _, v := range of(s) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if low > high {
		return 0, 1
	}
	if low == high {
		return low - 0.5, high + 0.5
	}
	return low, high
}
