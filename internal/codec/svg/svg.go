// Package svg draws the diagrams of notebooks and reports: nested boxes with arrows, tables whose
// cells are shaded by value, bar charts and plots.
package svg

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

const (
	line = 17.0
	gap  = 26.0 // between boxes, with space for an arrow
	edge = 10.0
)

// Box is a part of a diagram: a title and lines, or boxes within it.
type Box struct {
	Title string
	Lines []string
	Parts []Box
	// Stacked means that the parts are parallel in the flow of data and drawn one above the other;
	// otherwise they are in sequence, with arrows.
	Stacked bool

	width, height float64
}

// Diagram returns the picture of a box.
func Diagram(b Box) string {
	b.measure()
	var out strings.Builder
	openSVG(&out, "diagram", b.width+2, b.height+2, b.altText())
	b.draw(&out, 1, 1)
	return out.String() + "</svg>"
}

// altText returns the alternative text of the diagram.
func (b *Box) altText() string {
	words := append([]string{b.Title}, b.Lines...)
	output := strings.Join(words, " ")
	var parts []string
	for i := range b.Parts {
		parts = append(parts, b.Parts[i].altText())
	}
	if len(parts) == 0 {
		return output
	}
	between := ", then "
	if b.Stacked {
		between = ", beside it "
	}
	return output + ": " + strings.Join(parts, between)
}

// measure finds the size of the box and of all within it.
func (b *Box) measure() {
	b.width = bold * textLength(b.Title)
	for _, l := range b.Lines {
		b.width = max(b.width, textLength(l))
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

// draw draws the box at x, y.
func (b *Box) draw(out *strings.Builder, x, y float64) {
	class, fill := "box", "#eef4fb"
	if len(b.Parts) > 0 {
		class, fill = "group", "#ffffff"
	}
	fmt.Fprintf(out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5" fill="%s" stroke="#3b6ea5"/>`,
		class, x, y, b.width, b.height, fill)
	text(out, x+edge, y+line-2, start, head, b.Title)
	for i, l := range b.Lines {
		text(out, x+edge, y+line*float64(i+2)-2, start, plain, l)
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
			fmt.Fprintf(out, `<path d="M%.1f %.1f h%.1f m-6 -4 l6 4 l-6 4" fill="none" stroke="#3b6ea5"/>`, px-gap+2, py+line,
				gap-4)
		}
		p.draw(out, px, py)
		px += p.width + gap
	}
}

// Table is numbers by row and column, shaded from the least to the greatest.
type Table struct {
	Title                 string
	RowLabel, ColumnLabel string // axis labels
	Rows, Columns         []string
	Values                [][]float64 // NaN for an empty cell
	Labels                [][]string  // labels of the cells
	Row, Column           int         // of the cell with a frame; Row -1 for none
	Reverse               bool        // whether the least is the darkest
	AltText               string      // description for screen readers; the title if empty
}

// HeatMap returns the picture of a table.
func HeatMap(t Table) string {
	cell, side := 64.0, textLength(t.RowLabel)
	for _, c := range t.Columns {
		cell = max(cell, textLength(c)+2*edge)
	}
	for _, row := range t.Labels {
		for _, l := range row {
			cell = max(cell, textLength(l)+2*edge)
		}
	}
	for _, r := range t.Rows {
		side = max(side, textLength(r))
	}
	side += 2 * edge
	const tall, top = 30.0, 3.2 * line
	width := max(side+cell*float64(len(t.Columns))+edge, textLength(t.Title)+2*edge, side+textLength(t.ColumnLabel)+edge)
	var out strings.Builder
	openSVG(&out, "table", width, top+tall*float64(len(t.Rows))+edge, cmp.Or(t.AltText, t.Title))
	text(&out, edge, line, start, head, t.Title)
	text(&out, side, 2*line, start, blue, t.ColumnLabel)
	text(&out, edge, 3*line-2, start, blue, t.RowLabel)
	for j, c := range t.Columns {
		text(&out, side+cell*(float64(j)+0.5), 3*line-2, middle, plain, c)
	}
	low, high := bounds(t.Values)
	for i, r := range t.Rows {
		y := top + tall*float64(i)
		text(&out, edge, y+tall/2+4, start, plain, r)
		for j := range t.Columns {
			v := t.Values[i][j]
			back, label := cellStyle(v, low, high, t.Reverse)
			frame := `stroke="none"`
			if i == t.Row && j == t.Column {
				frame = `stroke="#d1495b" stroke-width="3"`
			}
			x := side + cell*float64(j)
			fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s %s/>`, x+1.5, y+1.5, cell-3, tall-3, back,
				frame)
			text(&out, x+cell/2, y+tall/2+4, middle, label, t.Labels[i][j])
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

// cellStyle returns the attributes of a cell, a dark blue whose opacity increases with the value,
// and the style of its label. A page with a dark theme overrides the colors by the classes shade
// and onshade.
func cellStyle(v, low, high float64, reverse bool) (attributes string, label textStyle) {
	if v != v {
		return `class="empty" fill="#dddddd"`, plain
	}
	t := 0.5
	if high > low {
		t = (v - low) / (high - low)
	}
	if reverse {
		t = 1 - t
	}
	label = plain
	if t > 0.55 {
		label = textStyle{"onshade", "#ffffff", ""}
	}
	return fmt.Sprintf(`class="shade" fill="#1d4e89" fill-opacity="%.3f"`, 0.07+0.93*t), label
}
