package scaffold

import (
	"strings"
	"unicode"
)

// printable is a string as a comment can show it.
func printable(text string) string {
	const most = 40
	if letters := []rune(text); len(letters) > most {
		text = string(letters[:most]) + "…"
	}
	return oneLine(text)
}

// oneLine keeps a string on the line of its comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
