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

// plotFont is what gonum's plots write.
const plotFont = "font-family:Liberation Sans;"

// FixTextLengths gives every text of a picture that another has drawn the length that it has in
// Helvetica, so that it stays where it is whatever font shows it, and lets fonts like that one
// stand in for it. For programs that take no notice of lengths a string of gonum's plots, all of
// which begin at their place, is made to end where it ended, as in legends with their lines behind
// the names, and a number to have its middle where it had it. Texts without a size of their own
// have that of the picture.
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
