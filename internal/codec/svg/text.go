package svg

import (
	"fmt"
	"html"
	"strings"
)

// fontSize is the size of all text; em converts widths in 1/1000 of it.
const (
	fontSize = 12.0
	em       = fontSize / 1000
	bold     = 1.06 // relative width of bold text
)

// widths are the character widths of Helvetica, in 1/1000 of the font size, from blank to tilde.
// textLength compensates for other fonts.
var widths = [...]float64{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
	556, 556,
	278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667,
	778, 722, 667,
	611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
	222, 833,
	556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// textLength is the length that a string is drawn with.
func textLength(s string) float64 {
	sum := 0.0
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			sum += widths[r-' ']
		case r >= 0x1100 && (r < 0x2000 || r > 0x2fff) || r == '…': // wide characters of East Asia, and symbols
			sum += 1000
		case r == '²' || r == '³' || r == '\u202f' || r == '·':
			sum += 300
		default:
			sum += 570
		}
	}
	return em * sum
}

// truncate shortens a string that is longer than length; it then ends in an ellipsis.
func truncate(s string, length float64) string {
	if textLength(s) <= length {
		return s
	}
	left := length - textLength("…")
	for at, r := range s {
		if left -= textLength(string(r)); left < 0 && at > 0 {
			return s[:at] + "…"
		}
	}
	return s + "…"
}

// The anchors of a string: where x is.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

// textStyle is the style of a string: a class, which a page may color, and the default color.
type textStyle struct{ class, color, more string }

var (
	plain = textStyle{"ink", "#333333", ""}
	faint = textStyle{"mute", "#5b6470", ""}
	head  = textStyle{"ink", "#1d3f66", ` font-weight="bold"`}
	blue  = textStyle{"axis", "#2f6096", ""}
)

// text writes a string whose width does not depend on the font.
func text(out *strings.Builder, x, y float64, anchor string, i textStyle, s string) {
	if s == "" {
		return
	}
	length := textLength(s)
	if strings.Contains(i.more, "bold") {
		length *= bold
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="%s" fill="%s"%s`, x, y, i.class, i.color, i.more)
	if anchor != start {
		fmt.Fprintf(out, ` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(out, ` textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`, length, html.EscapeString(s))
}

// openSVG begins a picture: a plot, which may be scaled to the available width, a table or a
// diagram. altText is its description for screen readers.
func openSVG(out *strings.Builder, class string, width, height float64, altText string) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" `+
		`width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`role="img" aria-label="%s" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="%.0f">`,
		class, width, height, width, height, html.EscapeString(altText), fontSize)
	fmt.Fprintf(out, `<rect class="ground" width="%.0f" height="%.0f" fill="#ffffff"/>`, width, height)
}
