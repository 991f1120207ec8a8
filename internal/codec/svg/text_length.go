package svg

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

var (
	textElement = regexp.MustCompile(`<text([^>]*)>([^<]*)</text>`)
	sizeOf      = regexp.MustCompile(`font-size[:=]"?([0-9.]+)`)
	placeOf     = regexp.MustCompile(`\sx="([-0-9.]+)"`)
	lengthOf    = regexp.MustCompile(`\s(textLength|lengthAdjust)="[^"]*"`)
)

// plotFont is the font of gonum's plots.
const plotFont = "font-family:Liberation Sans;"

// FixTextLengths sets the length of every text in a picture to its width in Helvetica, so that the
// layout does not depend on the font, and allows similar fonts. For viewers that ignore text
// lengths, it changes the anchor of the text of gonum's plots: legends are anchored at their end,
// numbers at their middle. Texts without a font size have that of the picture.
func FixTextLengths(picture string) string {
	whole := 12.0
	if head := regexp.MustCompile(`<svg[^>]*>`).FindString(picture); sizeOf.MatchString(head) {
		whole, _ = strconv.ParseFloat(sizeOf.FindStringSubmatch(head)[1], 64)
	}
	picture = textElement.ReplaceAllStringFunc(picture, func(element string) string {
		parts := textElement.FindStringSubmatch(element)
		attributes, words := lengthOf.ReplaceAllString(parts[1], ""), html.UnescapeString(parts[2])
		size := whole
		if own := sizeOf.FindStringSubmatch(attributes); own != nil {
			size, _ = strconv.ParseFloat(own[1], 64)
		}
		length := textLength(words) * size / fontSize
		if strings.TrimSpace(words) == "" {
			return element
		}
		if at := placeOf.FindStringSubmatch(attributes); at != nil && strings.Contains(attributes, plotFont) &&
			!strings.Contains(attributes, "text-anchor") {
			x, _ := strconv.ParseFloat(at[1], 64)
			anchor := end
			if x += length; strings.Trim(words, "0123456789.−-") == "" {
				x, anchor = x-length/2, middle
			}
			attributes = strings.Replace(attributes, at[0], fmt.Sprintf(` x="%.5g" text-anchor="%s"`, x, anchor), 1)
		}
		return fmt.Sprintf(`<text%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`, attributes, length,
			parts[2])
	})
	return strings.ReplaceAll(picture, plotFont, "font-family:'Liberation Sans',Helvetica,Arial,sans-serif;")
}
