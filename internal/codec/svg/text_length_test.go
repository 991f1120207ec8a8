package svg

import "testing"

// TestFixed checks that a text gets the length of its characters, exactly once.
func TestFixed(t *testing.T) {
	const drawn = "<svg font-size=\"10\"><text x=\"1\"\n\tstyle=\"font-family:Liberation Sans;font-size:24px\">a &amp; " +
		"b</text><text x=\"2\">10</text><text> </text></svg>"
	const want = "<svg font-size=\"10\"><text x=\"57.04\" text-anchor=\"end\"\n\tstyle=\"font-family:'Liberation " +
		"Sans',Helvetica,Arial,sans-serif;font-size:24px\" textLength=\"56.0\" lengthAdjust=\"spacingAndGlyphs\">a &amp; " +
		"b</text><text x=\"2\" textLength=\"11.1\" lengthAdjust=\"spacingAndGlyphs\">10</text><text> </text></svg>"
	got := FixTextLengths(drawn)
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if again := FixTextLengths(got); again != got {
		t.Errorf("twice: %s", again)
	}
}
