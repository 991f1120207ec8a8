package command

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal writes to a terminal. Control characters, which names in data may contain, are escaped,
// because a terminal would interpret them.
type terminal struct {
	*os.File
	rest []byte // incomplete UTF-8 sequence at the end of the last text
}

// writerFor returns a [terminal] if the file is one, else the file.
func writerFor(file *os.File) io.Writer {
	if term.IsTerminal(int(file.Fd())) {
		return &terminal{File: file}
	}
	return file
}

// Write writes text with control characters escaped.
func (t *terminal) Write(text []byte) (int, error) {
	all := append(t.rest, text...)
	whole := len(all)
	for k := 1; k < utf8.UTFMax && k <= len(all); k++ {
		if at := len(all) - k; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				whole = at
			}
			break
		}
	}
	t.rest = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(t.File, escapeControls(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// escapeControls escapes all control characters except line ends and tabs, and characters that change the
// text direction.
func escapeControls(text string) string {
	return escapeRunes(text, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	})
}

// escapeInvisible escapes all characters that are invisible or end a line or a cell, so that a name shows
// its characters and stays in its place.
func escapeInvisible(name string) string {
	return escapeRunes(name, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}

// escapeRunes replaces the characters for which isBad is true by their escapes in Go.
func escapeRunes(text string, isBad func(r rune) bool) string {
	if !strings.ContainsFunc(text, isBad) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if isBad(r) {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	return out.String()
}
