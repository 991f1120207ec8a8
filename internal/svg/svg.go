// Package svg draws the few pictures by which results show themselves in a notebook: nested boxes
// with arrows, and tables whose cells are shaded by value.
package svg

import (
	"fmt"
	"html"
	"math"
	"strings"
)

const (
	letter = 7.2 // width of a character
	line   = 17.0
	gap    = 26.0 // between boxes, with room for an arrow
	edge   = 10.0
)

// Box is a part of a diagram: a title and lines, or boxes within it.
type Box struct {
	Title string
	Lines []string
	Parts []Box
	// Stacked says that the parts stand side by side in the flow of data, one above the other in the
	// picture; else they follow each other, with arrows.
	Stacked bool

	width, height float64
}

// Diagram returns the picture of a box.
func Diagram(b Box) string {
	b.measure()
	var out strings.Builder
	begin(&out, b.width+2, b.height+2)
	b.draw(&out, 1, 1)
	return out.String() + "</svg>"
}

func begin(out *strings.Builder, width, height float64) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Menlo, Consolas, monospace" font-size="12">`, width, height, width, height)
	fmt.Fprintf(out, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`, width, height)
}

func text(out *strings.Builder, x, y float64, style, s string) {
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" %s>%s</text>`, x, y, style, html.EscapeString(s))
}

func long(s string) float64 { return letter * float64(len([]rune(s))) }

// measure finds the size of the box and of all within it.
func (b *Box) measure() {
	b.width = long(b.Title)
	for _, l := range b.Lines {
		b.width = max(b.width, long(l))
	}
	b.height = line * float64(len(b.Lines))
	along, across := 0.0, 0.0
	for i := range b.Parts {
		p := &b.Parts[i]
		p.measure()
		if b.Stacked {
			along, across = along+p.height+edge, max(across, p.width)
		} else {
			along, across = along+p.width+gap, max(across, p.height)
		}
	}
	if b.Stacked {
		b.width, b.height = max(b.width, across), b.height+along
	} else if len(b.Parts) > 0 {
		b.width, b.height = max(b.width, along-gap), b.height+across+edge
	}
	b.width += 2 * edge
	b.height += line + edge
}

// draw puts the box at x, y.
func (b *Box) draw(out *strings.Builder, x, y float64) {
	fill := "#eef4fb"
	if len(b.Parts) > 0 {
		fill = "#ffffff"
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5" fill="%s" stroke="#3b6ea5"/>`, x, y, b.width, b.height, fill)
	text(out, x+edge, y+line-2, `font-weight="bold" fill="#1d3f66"`, b.Title)
	for i, l := range b.Lines {
		text(out, x+edge, y+line*float64(i+2)-2, `fill="#333333"`, l)
	}
	px, py := x+edge, y+line*float64(len(b.Lines)+1)+edge/2
	for i := range b.Parts {
		p := &b.Parts[i]
		if b.Stacked {
			p.draw(out, px, py)
			py += p.height + edge
			continue
		}
		if i > 0 {
			fmt.Fprintf(out, `<path d="M%.1f %.1f h%.1f m-6 -4 l6 4 l-6 4" fill="none" stroke="#3b6ea5"/>`, px-gap+2, py+line, gap-4)
		}
		p.draw(out, px, py)
		px += p.width + gap
	}
}

// Table is numbers by row and column, shaded from the least to the greatest.
type Table struct {
	Title         string
	Down, Across  string // what the rows and the columns are
	Rows, Columns []string
	Values        [][]float64 // NaN for an empty cell
	Labels        [][]string  // what the cells say
	Row, Column   int         // of the cell with a frame; Row -1 for none
	Reverse       bool        // whether the least is the darkest
}

// Heat returns the picture of a table.
func Heat(t Table) string {
	cell, side := 64.0, long(t.Down)
	for _, c := range t.Columns {
		cell = max(cell, long(c)+2*edge)
	}
	for _, row := range t.Labels {
		for _, l := range row {
			cell = max(cell, long(l)+2*edge)
		}
	}
	for _, r := range t.Rows {
		side = max(side, long(r))
	}
	side += 2 * edge
	const tall, head = 30.0, 3.2 * line
	width := max(side+cell*float64(len(t.Columns))+edge, long(t.Title)+2*edge, side+long(t.Across)+edge)
	var out strings.Builder
	begin(&out, width, head+tall*float64(len(t.Rows))+edge)
	text(&out, edge, line, `font-weight="bold" fill="#1d3f66"`, t.Title)
	text(&out, side, 2*line, `fill="#3b6ea5"`, t.Across)
	text(&out, edge, 3*line-2, `fill="#3b6ea5"`, t.Down)
	for j, c := range t.Columns {
		text(&out, side+cell*(float64(j)+0.5), 3*line-2, `text-anchor="middle" fill="#333333"`, c)
	}
	low, high := bounds(t.Values)
	for i, r := range t.Rows {
		y := head + tall*float64(i)
		text(&out, edge, y+tall/2+4, `fill="#333333"`, r)
		for j := range t.Columns {
			v := t.Values[i][j]
			back, ink := shade(v, low, high, t.Reverse)
			frame := `stroke="#ffffff"`
			if i == t.Row && j == t.Column {
				frame = `stroke="#d1495b" stroke-width="3"`
			}
			x := side + cell*float64(j)
			fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" %s/>`, x+1.5, y+1.5, cell-3, tall-3, back, frame)
			text(&out, x+cell/2, y+tall/2+4, fmt.Sprintf(`text-anchor="middle" fill="%s"`, ink), t.Labels[i][j])
		}
	}
	return out.String() + "</svg>"
}

func bounds(values [][]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			if v == v {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// shade returns the colour of a cell, from near white to dark blue, and of what is written on it.
func shade(v, low, high float64, reverse bool) (back, ink string) {
	if v != v {
		return "#dddddd", "#333333"
	}
	t := 0.5
	if high > low {
		t = (v - low) / (high - low)
	}
	if reverse {
		t = 1 - t
	}
	if ink = "#222222"; t > 0.55 {
		ink = "#ffffff"
	}
	mix := func(from, to float64) int { return int(from + t*(to-from)) }
	return fmt.Sprintf("#%02x%02x%02x", mix(238, 29), mix(244, 78), mix(251, 137)), ink
}
