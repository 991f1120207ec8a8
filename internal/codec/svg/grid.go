package svg

import (
	"fmt"
	"strings"
)

// PlotGrid returns a picture of plots in rows, with a title.
func PlotGrid(title string, rows [][]Plot) string {
	var plots strings.Builder
	width, y := 0.0, 2*line
	for _, row := range rows {
		tallest := 0.0
		for j, p := range row {
			picture, height := p.draw()
			fmt.Fprintf(&plots, `<svg x="%.0f" y="%.0f" %s`, float64(j)*plotWidth, y, strings.TrimPrefix(picture, "<svg "))
			width, tallest = max(width, float64(j+1)*plotWidth), max(tallest, height)
		}
		y += tallest
	}
	var out strings.Builder
	openSVG(&out, "grid", width, y, title)
	text(&out, 8, line+edge/2, start, head, title)
	return out.String() + plots.String() + "</svg>"
}
