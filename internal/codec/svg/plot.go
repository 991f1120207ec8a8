package svg

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Plot is a picture of points and lines over two axes.
type Plot struct {
	Title   string
	AltText string // description for screen readers; the title if empty
	X, Y    Axis
	Series  []Series
}

// Series is points, joined by a line or not.
type Series struct {
	Name      string // in the legend; "" for none
	Color     int    // index of a color, see Colors
	X, Y      []float64
	Low, High []float64 // ends of whiskers; nil for none

	Line, Dots bool
	Dashed     bool
}

// Colors are the colors of series, of references, and from Gradient on of values from low to high.
// Color-blind readers can distinguish them (after Okabe and Ito, and Tol).
var Colors = [...]string{"#0072b2", "#d55e00", "#009e73", "#aa4499", "#7b8694",
	"#0072b2", "#5f74b8", "#9b6aa6", "#c26266", "#d55e00"}

// Indices of Colors.
const (
	Reference = 4 // baselines
	Gradient  = 5 // the first of five
)

const (
	plotWidth, plotHeight = 340.0, 260.0
	plotTop               = 40.0
)

// SVG returns the picture, 340 wide.
func (p Plot) SVG() string {
	picture, _ := p.draw()
	return picture
}

// draw returns the picture and its height.
func (p Plot) draw() (picture string, height float64) {
	var xs, ys []float64
	for _, s := range p.Series {
		xs, ys = append(xs, s.X...), slices.Concat(ys, s.Y, s.Low, s.High)
	}
	f := plotArea{x: newScale(p.X, finiteValues(xs)), y: newScale(p.Y, finiteValues(ys)), top: plotTop,
		right: plotWidth - 12}
	for _, s := range p.Series {
		if s.Dots {
			f.dots += len(s.X)
		}
	}
	for _, t := range f.y.ticks {
		f.left = max(f.left, textLength(f.y.label(t)))
	}
	f.left = min(f.left, 130) + 14
	legend := p.legend(f.left)
	f.bottom = plotHeight - 42 - line*float64(len(legend))
	f.bottom = max(f.bottom, f.top+100)
	height = f.bottom + 42 + line*float64(len(legend))
	var out strings.Builder
	openSVG(&out, "plot", plotWidth, height, cmp.Or(p.AltText, p.Title))
	text(&out, 8, 18, start, head, truncate(p.Title, (plotWidth-16)/bold))
	f.grid(&out)
	for _, s := range p.Series {
		f.series(&out, s)
	}
	fmt.Fprintf(&out, `<path class="frame" d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="#8b95a1"/>`, f.left, f.top,
		f.bottom, f.right)
	text(&out, f.right, f.bottom+32, end, blue, truncate(p.X.Name, f.right-8))
	if p.Y.Name != "" {
		text(&out, f.left+4, f.top-1, start, blue, truncate(p.Y.Name, f.right-f.left))
	}
	p.writeLegend(&out, legend, f.left, f.bottom+36)
	return out.String() + "</svg>", height
}

const legendSample = 18.0

// legend arranges the names of the series in rows that fit in.
func (p Plot) legend(left float64) (rows [][]Series) {
	x := math.Inf(1)
	for _, s := range p.Series {
		if s.Name == "" {
			continue
		}
		s.Name = truncate(s.Name, plotWidth-left-legendSample-20)
		need := legendSample + 5 + textLength(s.Name)
		if x+need > plotWidth-8 {
			rows, x = append(rows, nil), left
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		x += need + 14
	}
	return rows
}

// writeLegend draws the rows of the legend below at.
func (p Plot) writeLegend(out *strings.Builder, legend [][]Series, left, at float64) {
	for _, row := range legend {
		at += line
		x := left
		for _, s := range row {
			if s.Line {
				fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="s%d" stroke="%s" stroke-width="2"%s/>`, x,
					at-4, x+legendSample, at-4, s.Color, Colors[s.Color], s.dash())
			} else {
				dots(out, s.Color, 8, []point{{x + legendSample/2, at - 4}})
			}
			text(out, x+legendSample+5, at, start, plain, s.Name)
			x += legendSample + 5 + textLength(s.Name) + 14
		}
	}
}

// finiteValues returns the numbers among values.
func finiteValues(values []float64) (out []float64) {
	for _, v := range values {
		if v-v == 0 {
			out = append(out, v)
		}
	}
	return out
}

// plotArea is the area between the axes.
type plotArea struct {
	x, y                     scale
	left, top, right, bottom float64
	dots                     int // of all series
}

func (f plotArea) place(x, y float64) (px, py float64) {
	return f.left + f.x.position(x)*(f.right-f.left), f.bottom - f.y.position(y)*(f.bottom-f.top-6)
}

// grid draws the grid lines at the ticks, and the tick labels that fit.
func (f plotArea) grid(out *strings.Builder) {
	for _, t := range f.y.ticks {
		_, y := f.place(math.Pow(10, f.x.low), t)
		if !f.x.Log {
			_, y = f.place(f.x.low, t)
		}
		fmt.Fprintf(out, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#e2e6ea"/>`, f.left, y, f.right,
			y)
		text(out, f.left-6, y+4, end, faint, truncate(f.y.label(t), 124))
	}
	last := math.Inf(-1)
	for k, t := range f.x.ticks {
		x := f.left + f.x.position(t)*(f.right-f.left)
		label := f.x.label(t)
		if f.x.Labels != nil {
			label = truncate(label, (f.right-f.left)/float64(len(f.x.ticks))-4)
		} else {
			fmt.Fprintf(out, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#e2e6ea"/>`, x, f.top, x,
				f.bottom)
		}
		half := textLength(label) / 2
		at := min(x, plotWidth-2-half)
		if at-half < last+6 && k > 0 {
			continue
		}
		text(out, at, f.bottom+16, middle, faint, label)
		last = at + half
	}
}

func (s Series) dash() string {
	if s.Dashed {
		return ` stroke-dasharray="4 3"`
	}
	return ""
}

// series draws points, whiskers and lines. A point that is no number ends a line.
func (f plotArea) series(out *strings.Builder, s Series) {
	style := fmt.Sprintf(`class="s%d" stroke="%s"`, s.Color, Colors[s.Color])
	fill := fmt.Sprintf(`class="f%d" fill="%s"`, s.Color, Colors[s.Color])
	if s.Line {
		pen, lastX, lastY := "M", 0.0, 0.0
		fmt.Fprintf(out, `<path %s fill="none" stroke-width="1.8" stroke-linejoin="round"%s d="`, style, s.dash())
		for k := range s.X {
			x, y := f.place(s.X[k], s.Y[k])
			if x-x != 0 || y-y != 0 {
				pen = "M"
				continue
			}
			if pen == "L" && k < len(s.X)-1 && math.Abs(x-lastX)+math.Abs(y-lastY) < 0.4 {
				continue // invisible
			}
			fmt.Fprintf(out, "%s%.1f %.1f", pen, x, y)
			pen, lastX, lastY = "L", x, y
		}
		out.WriteString(`"/>`)
	}
	radius, opacity := 3.0, ""
	if n := f.dots; n > 60 {
		radius, opacity = 2, fmt.Sprintf(` fill-opacity="%.2f"`, max(0.25, 30/float64(n)))
		if len(s.X) < n {
			opacity = ` fill-opacity="0.8"` // colors must show
		}
	}
	for k := range s.X {
		x, y := f.place(s.X[k], s.Y[k])
		if x-x != 0 || y-y != 0 {
			continue
		}
		if s.Low != nil && s.Low[k]-s.Low[k] == 0 && s.High[k]-s.High[k] == 0 {
			_, low := f.place(s.X[k], s.Low[k])
			_, high := f.place(s.X[k], s.High[k])
			fmt.Fprintf(out, `<path %s stroke-width="1" d="M%.1f %.1fV%.1fm-3 0h6M%.1f %.1fh6"/>`, style, x, low, high, x-3, low)
		}
		if s.Dots {
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="%.0f" %s%s/>`, x, y, radius, fill, opacity)
		}
	}
}

// point is a place in a picture.
type point struct{ x, y float64 }

// dots draws points of one color.
func dots(out *strings.Builder, color int, size float64, points []point) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(out, `<path class="s%d" stroke="%s" stroke-width="%.1f" stroke-linecap="round" d="`, color, Colors[color],
		size)
	for _, p := range points {
		fmt.Fprintf(out, "M%.1f %.1fh0", p.x, p.y)
	}
	out.WriteString(`"/>`)
}
