package svg

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// NameValueTable returns an HTML table of names and values, without empty values.
func NameValueTable(facts [][2]string) string {
	var out strings.Builder
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(&out, `<tr><th style="text-align:left">%s</th><td style="text-align:left">%s</td></tr>`,
				html.EscapeString(f[0]), html.EscapeString(f[1]))
		}
	}
	return "<table>" + out.String() + "</table>"
}

// FormatValue formats a value for a figure: numbers with six digits.
func FormatValue(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return fmt.Sprint(v)
}
