package svg

import (
	"fmt"
	"math"
	"strings"
)

// Lines is a picture of panels in rows, each with lines over logarithmic axes that all panels share, and one legend
// below. Every text has the length it is given room for, whatever font shows it.
type Lines struct {
	Title  string
	Across string // what the x axis is
	Panels [][]Panel
	Styles []Style
}

// Panel is one plot.
type Panel struct {
	Title string
	Lines []Line
}

// Line is points joined in their order; Style is the number of its style.
type Line struct {
	Style int
	X, Y  []float64
}

// Style is how a line is drawn, and what the legend says of it.
type Style struct {
	Name, Color string
	Dashed      bool
	Wide        bool
}

const (
	panelWidth, panelHeight = 230.0, 200.0
	panelLeft, panelTop     = 66.0, 30.0 // room for marks and a title
	panelBottom             = 24.0
	legendLine              = 28.0
)

// LinesPicture returns the picture.
func LinesPicture(l Lines) string {
	columns, rows := 0, len(l.Panels)
	for _, row := range l.Panels {
		columns = max(columns, len(row))
	}
	width := float64(columns)*(panelLeft+panelWidth) + 2*edge
	top := 2*line + edge
	legend := l.legend(width)
	height := top + float64(rows)*(panelTop+panelHeight+panelBottom) + line + float64(len(legend))*line + 2*edge
	var out strings.Builder
	begin(&out, "lines", width, height, l.Title)
	text(&out, edge, line+edge/2, start, head, l.Title)
	frame := l.frame()
	for i, row := range l.Panels {
		for j, p := range row {
			x, y := edge+float64(j)*(panelLeft+panelWidth)+panelLeft, top+float64(i)*(panelTop+panelHeight+panelBottom)+panelTop
			frame.draw(&out, x, y, p, l.Styles)
		}
	}
	at := top + float64(rows)*(panelTop+panelHeight+panelBottom) + line
	text(&out, edge+panelLeft, at-4, start, blue, l.Across)
	for _, row := range legend {
		at += line
		x := edge + panelLeft
		for _, s := range row {
			fmt.Fprintf(&out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x, at-4, x+legendLine, at-4, s.attributes())
			text(&out, x+legendLine+6, at, start, plain, s.Name)
			x += legendLine + 6 + long(s.Name) + 24
		}
	}
	return out.String() + "</svg>"
}

// legend arranges the styles in rows that fit in.
func (l Lines) legend(width float64) (rows [][]Style) {
	x := math.Inf(1)
	for _, s := range l.Styles {
		need := legendLine + 6 + long(s.Name) + 24
		if x+need > width-edge {
			rows, x = append(rows, nil), edge+panelLeft
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		x += need
	}
	return rows
}

func (s Style) attributes() string {
	dash := ""
	if s.Dashed {
		dash = ` stroke-dasharray="4 3"`
	}
	width := 1.6
	if s.Wide {
		width = 4
	}
	return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="%.1f"%s`, s.Color, width, dash)
}

// frame holds the ends of both axes, as logarithms.
type frame struct{ left, right, bottom, top float64 }

func (l Lines) frame() frame {
	f := frame{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, row := range l.Panels {
		for _, p := range row {
			for _, line := range p.Lines {
				for k := range line.X {
					x, y := math.Log10(line.X[k]), math.Log10(line.Y[k])
					f.left, f.right, f.bottom, f.top = min(f.left, x), max(f.right, x), min(f.bottom, y), max(f.top, y)
				}
			}
		}
	}
	f.left, f.right = f.left-0.05, f.right+0.05
	f.bottom, f.top = math.Floor(4*f.bottom)/4, math.Ceil(4*f.top)/4
	return f
}

func (f frame) place(x, y, vx, vy float64) (px, py float64) {
	px = x + panelWidth*(math.Log10(vx)-f.left)/(f.right-f.left)
	return px, y + panelHeight*(f.top-math.Log10(vy))/(f.top-f.bottom)
}

// draw draws a panel whose plot has its upper left corner at x, y.
func (f frame) draw(out *strings.Builder, x, y float64, p Panel, styles []Style) {
	text(out, x, y-8, start, plain, p.Title)
	for _, tick := range logTicks(f.bottom, f.top) {
		_, py := f.place(x, y, 1, tick)
		f.mark(out, x, py, x+panelWidth, py)
		text(out, x-6, py+4, end, faint, number(tick))
	}
	for _, tick := range logTicks(f.left, f.right) {
		px, _ := f.place(x, y, tick, 1)
		f.mark(out, px, y, px, y+panelHeight)
		text(out, px, y+panelHeight+16, middle, faint, number(tick))
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#888888"/>`, x, y, panelWidth, panelHeight)
	for _, line := range p.Lines {
		fmt.Fprintf(out, `<polyline %s points="`, styles[line.Style].attributes())
		for k := range line.X {
			px, py := f.place(x, y, line.X[k], line.Y[k])
			fmt.Fprintf(out, "%.1f,%.1f ", px, py)
		}
		out.WriteString(`"/>`)
	}
}

// mark draws a line of the grid.
func (f frame) mark(out *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`, x1, y1, x2, y2)
}
