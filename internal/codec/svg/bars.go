package svg

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Bars is a picture of numbers by name, from the top down, with their spread. With Starts it is a waterfall: bars from
// there, colored by sign, each joined to the next.
type Bars struct {
	Title   string
	AltText string // description for screen readers; the title if empty
	XLabel  string // label of the number axis
	Names   []string
	Values  []float64
	Starts  []float64 // nil for 0
	Errors  []float64 // on both sides of each value; nil for none
	Labels  []string  // text after each bar
}

// SVG returns the picture, 340 wide.
func (b Bars) SVG() string {
	const tall, top = 22.0, 34.0
	left, right, names := 0.0, 0.0, 130.0
	low, high := 0.0, 0.0
	if b.Starts != nil {
		low, high, names = slices.Min(b.Starts), slices.Max(b.Starts), 165
	}
	for k := range b.Values {
		left, right = max(left, textLength(b.Names[k])), max(right, textLength(b.Labels[k]))
		s := 0.0
		if b.Errors != nil {
			s = b.Errors[k]
		}
		from, to := b.ends(k)
		low, high = min(low, from, to-s), max(high, to+s)
	}
	if high == low {
		high = low + 1
	}
	left = min(left, names) + 14
	wide := plotWidth - left - right - 18
	place := func(v float64) float64 { return left + (v-low)/(high-low)*wide }
	height := top + tall*float64(len(b.Values)) + 22
	var out strings.Builder
	openSVG(&out, "plot", plotWidth, height, cmp.Or(b.AltText, b.Title))
	text(&out, 8, 18, start, head, truncate(b.Title, (plotWidth-16)/bold))
	for k, v := range b.Values {
		y := top + tall*float64(k)
		text(&out, left-6, y+15, end, plain, truncate(b.Names[k], names))
		from, to := b.ends(k)
		color := 0
		if b.Starts != nil && v < 0 {
			color = 1
		}
		fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f%d" fill="%s"/>`, place(min(from, to)),
			y+4, max(math.Abs(place(to)-place(from)), 0.5), tall-8, color, Colors[color])
		if b.Starts != nil && k+1 < len(b.Values) {
			fmt.Fprintf(&out, `<line class="frame" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#8b95a1"/>`, place(to), y+4,
				place(to), y+tall+tall-4)
		}
		if b.Errors != nil && b.Errors[k] > 0 {
			fmt.Fprintf(&out, `<path class="whisker" stroke="#333333" stroke-width="1.2" `+
				`d="M%.1f %.1fH%.1fm0 -3v6M%.1f %.1fv6"/>`,
				place(v-b.Errors[k]), y+tall/2, place(v+b.Errors[k]), place(v-b.Errors[k]), y+tall/2-3)
		}
		text(&out, plotWidth-8, y+15, end, faint, b.Labels[k])
	}
	if b.Starts == nil {
		fmt.Fprintf(&out, `<line class="frame" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#8b95a1"/>`, place(0), top,
			place(0), top+tall*float64(len(b.Values)))
	}
	text(&out, left, height-8, start, blue, truncate(b.XLabel, plotWidth-left))
	return out.String() + "</svg>"
}

// ends returns where a bar starts and ends.
func (b Bars) ends(k int) (from, to float64) {
	if b.Starts != nil {
		from = b.Starts[k]
	}
	return from, from + b.Values[k]
}
