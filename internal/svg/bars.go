package svg

import (
	"cmp"
	"fmt"
	"strings"
)

// Bars is a picture of numbers by name, from the top down, with their spread.
type Bars struct {
	Title   string
	AltText string // description for screen readers; the title if empty
	XLabel  string // label of the number axis
	Names   []string
	Values  []float64
	Errors  []float64 // on both sides of each value; nil for none
	Labels  []string  // text after each bar
}

// SVG returns the picture, 340 wide.
func (b Bars) SVG() string {
	const tall, top = 22.0, 34.0
	left, right := 0.0, 0.0
	low, high := 0.0, 0.0
	for k, v := range b.Values {
		left, right = max(left, textLength(b.Names[k])), max(right, textLength(b.Labels[k]))
		s := 0.0
		if b.Errors != nil {
			s = b.Errors[k]
		}
		low, high = min(low, v-s), max(high, v+s)
	}
	if high == low {
		high = 1
	}
	left = min(left, 130) + 14
	wide := plotWidth - left - right - 18
	place := func(v float64) float64 { return left + (v-low)/(high-low)*wide }
	height := top + tall*float64(len(b.Values)) + 22
	var out strings.Builder
	openSVG(&out, "plot", plotWidth, height, cmp.Or(b.AltText, b.Title))
	text(&out, 8, 18, start, head, truncate(b.Title, (plotWidth-16)/bold))
	for k, v := range b.Values {
		y := top + tall*float64(k)
		text(&out, left-6, y+15, end, plain, truncate(b.Names[k], 130))
		from, to := place(min(v, 0)), place(max(v, 0))
		fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f0" fill="%s"/>`, from, y+4,
			max(to-from, 0.5), tall-8, Colors[0])
		if b.Errors != nil && b.Errors[k] > 0 {
			fmt.Fprintf(&out, `<path class="whisker" stroke="#333333" stroke-width="1.2" d="M%.1f %.1fH%.1fm0 -3v6M%.1f %.1fv6"/>`, place(v-b.Errors[k]), y+tall/2, place(v+b.Errors[k]), place(v-b.Errors[k]), y+tall/2-3)
		}
		text(&out, plotWidth-8, y+15, end, faint, b.Labels[k])
	}
	zero := place(0)
	fmt.Fprintf(&out, `<line class="frame" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#8b95a1"/>`, zero, top, zero,
		top+tall*float64(len(b.Values)))
	text(&out, left, height-8, start, blue, truncate(b.XLabel, plotWidth-left))
	return out.String() + "</svg>"
}
