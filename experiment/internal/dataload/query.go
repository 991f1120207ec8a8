package dataload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkQuery returns an error unless the query is a single SELECT, or a WITH that ends in one. An
// experiment file is untrusted: its queries must not change a database, write files or run
// programs. The scan rejects ambiguous input, because databases parse some characters differently.
// Read-only connections and the role limit what a SELECT may call.
func checkQuery(scheme, query string) error {
	words, err := queryWords(scheme, query)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] != "select" && words[0] != "with" {
		return errors.New("must be one SELECT, or WITH … SELECT")
	}
	for _, word := range words {
		if slices.Contains(writingWords, word) {
			return fmt.Errorf("must only read, got %s; quote it if it is the name of a column", strings.ToUpper(word))
		}
	}
	return nil
}

// writingWords start clauses that write to a database inside a WITH or a SELECT.
var writingWords = []string{"insert", "update", "delete", "merge", "into"}

// queryWords returns the unquoted words of a query in lower case. It returns an error for a second
// statement and for quotes and comments without an end.
func queryWords(scheme, query string) (words []string, err error) {
	sqlite := scheme == "sqlite"
	for i := 0; i < len(query); {
		rest := query[i:]
		c := rest[0]
		size := 1
		switch {
		case c == '\x00':
			return nil, errors.New("must not contain a NUL byte")
		case strings.HasPrefix(rest, "--"):
			if size = strings.IndexAny(rest, "\r\n"); size < 0 {
				size = len(rest)
			} else if sqlite && rest[size] == '\r' {
				return nil, errors.New("must not contain a carriage return in a comment")
			}
		case strings.HasPrefix(rest, "/*"):
			size = strings.Index(rest, "*/") + 2
			if size == 1 || strings.Contains(rest[2:size], "/*") { // nested in PostgreSQL alone
				return nil, errors.New("must end every comment, and must not nest them")
			}
		case c == '\'' || c == '"' || c == '`' && sqlite || c == '[' && sqlite:
			if size, err = quotedSize(rest, !sqlite); err != nil {
				return nil, err
			}
		case c == '$' && !sqlite && (i == 0 || !isWordByte(query[i-1])):
			if size = dollarQuotedSize(rest); size < 0 {
				return nil, errors.New("must end every quoted string")
			}
		case isWordByte(c):
			for size < len(rest) && (isWordByte(rest[size]) || rest[size] == '$') {
				size++
			}
			words = append(words, strings.ToLower(rest[:size]))
		case c == ';':
			if more, err := queryWords(scheme, rest[1:]); err != nil {
				return nil, err
			} else if len(more) > 0 || strings.Trim(rest, "; \t\r\n") != "" {
				return nil, errors.New("must be one statement")
			}
			return words, nil
		}
		i += size
	}
	return words, nil
}

// isWordByte reports whether a byte belongs to a name or a number outside of quotes.
func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// quotedSize returns the length of the quoted string or name at the beginning of s. Whether a
// backslash escapes a quote depends on the settings of PostgreSQL, so a string with one is refused.
func quotedSize(s string, backslashes bool) (int, error) {
	end := s[0]
	if end == '[' {
		end = ']'
	}
	for i := 1; i < len(s); i++ {
		switch {
		case backslashes && end == '\'' && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '\'' || s[i+1] == '\\'):
			return 0, errors.New(`must not contain \' or \\ in a string; write '' for a quote`)
		case s[i] == end && end != ']' && i+1 < len(s) && s[i+1] == end:
			i++
		case s[i] == end:
			return i + 1, nil
		}
	}
	return 0, errors.New("must end every quoted string")
}

// dollarQuotedSize returns the length of the string $tag$…$tag$ at the start of s, 1 if s does not
// start with one, and −1 if it is not terminated.
func dollarQuotedSize(s string) int {
	tag := 1
	for tag < len(s) && isWordByte(s[tag]) {
		tag++
	}
	if tag == len(s) || s[tag] != '$' || tag > 1 && '0' <= s[1] && s[1] <= '9' {
		return 1
	}
	end := strings.Index(s[tag+1:], s[:tag+1])
	if end < 0 {
		return -1
	}
	return end + 2*(tag+1)
}
