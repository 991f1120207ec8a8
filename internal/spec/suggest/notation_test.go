package suggest

import (
	"strings"
	"testing"
)

func TestNotation(t *testing.T) {
	for values, want := range map[string]string{
		"1 kg|2.5 kg|10 kg":       `numbers with the unit "kg", such as "1 kg": declare {number: kg} for it in data.kinds`,
		"5%|10%":                  `numbers with the unit "%"`,
		"$5|$1,000":               `numbers with the unit "$"`,
		"01-Jan-2023|12-Feb-2023": `dates such as "01-Jan-2023"`,
		"3 March 2024|1 May 2024": `dates such as "3 March 2024"`,
		"1 kg|2 g":                "",
		"red|green":               "",
		"1|2":                     "",
		"1 kg":                    "",
	} {
		got := Notation(strings.Split(values, "|"))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}
