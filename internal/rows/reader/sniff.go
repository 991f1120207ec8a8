package reader

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// sniffBytes is the number of bytes read to detect the format of a file.
const sniffBytes = 1 << 16

// Sniff detects from the first non-empty file: the format if the extension does not determine it,
// the field separator, whether there is a header, and two-byte encodings.
func (s *Files) Sniff(paths []string) error {
	f := *s
	list, err := f.List(paths)
	if err != nil {
		return err
	}
	var path, encoding, typed string
	var lines []string
	for _, path = range list {
		if lines, encoding, typed, err = f.firstLines(path); err != nil {
			return err
		}
		if typed != "" || len(lines) > 0 {
			break
		}
	}
	if typed != "" && s.Format == "auto" && FormatOf(path) == "" {
		s.Format = typed
	}
	if typed != "" {
		return nil
	}
	s.CSV.Encoding = encoding
	format := FormatOf(path)
	switch {
	case s.Format != "auto":
		format = s.Format
	case format == "":
		format = guessFormat(lines)
		s.Format = format
	}
	if format != "csv" && format != "tsv" {
		return nil
	}
	if s.CSV.Comment = guessComment(lines); s.CSV.Comment != "" {
		lines = slices.DeleteFunc(lines, func(row string) bool { return strings.HasPrefix(row, s.CSV.Comment) })
	}
	delimiter := ","
	if format == "tsv" {
		delimiter = "tab"
	}
	if found := guessDelimiter(lines, delimiter); found != delimiter {
		s.CSV.Delimiter, delimiter = found, found
	}
	s.CSV.Quote = guessQuote(lines, delimiter)
	if !guessHeader(lines, delimiter) {
		s.CSV.Header = Header{Given: false}
	}
	return nil
}

// firstLines returns the first whole lines of a file that are not empty, gzip'd or not, and utf-16 or
// utf-8 as its encoding; or the format of a file that is no text.
func (f Files) firstLines(path string) (lines []string, encoding, typed string, err error) {
	if _, err := f.Stat(path); err != nil {
		return nil, "", "", files.Tell(err)
	}
	file, err := f.OpenBytes(path)
	if err != nil {
		return nil, "", "", files.Tell(err)
	}
	defer file.Close()
	start := bufio.NewReader(file)
	if typed, err = formatOfBytes(path, start); typed != "" || err != nil {
		return nil, "", typed, err
	}
	lines, encoding, err = linesOf(start, path)
	return lines, encoding, "", err
}

// linesOf is firstLines of an open file.
func linesOf(file io.Reader, path string) (lines []string, encoding string, err error) {
	buffered := bufio.NewReader(file)
	var r io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(buffered); err != nil {
			return nil, "", fmt.Errorf("%s: %w", path, err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, sniffBytes))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, files.Reason(err))
	}
	cut := len(text) == sniffBytes
	encoding = "utf-8"
	if isUTF16(text[:min(len(text), 1000)]) {
		encoding, text = "utf-16", fromUTF16(text)
	}
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0 && len(bytes.TrimRight(text, "\r")) > 0 &&
		bytes.Count(text, []byte{'\r'}) > 1 {
		return nil, "", fmt.Errorf(`%s: lines must end with \n or \r\n, got \r alone; convert the file, as by tr '\r' '\n'`,
			path)
	}
	rows := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	if cut && len(rows) > 1 {
		rows = rows[:len(rows)-1] // the last one is cut
	}
	return slices.DeleteFunc(rows, func(row string) bool { return strings.TrimSpace(row) == "" }), encoding, nil
}

// isUTF16 reports whether a text begins with a byte order mark of UTF-16, or has as many zeros as UTF-16 has; fewer are
// NUL bytes in another encoding.
func isUTF16(start []byte) bool {
	return bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) ||
		10*bytes.Count(start, []byte{0}) > len(start)
}

// fromUTF16 converts UTF-16 to UTF-8, by its byte order mark or its first character.
func fromUTF16(text []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	if text[0] == 0 || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		order = binary.BigEndian
	}
	words := make([]uint16, len(text)/2)
	for i := range words {
		words[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(words)))
}

// Guess returns the section with the format that the first lines of a file show.
func (f Files) Guess(path string) (Files, error) {
	file, err := f.OpenBytes(path)
	if err != nil {
		return f, files.Tell(err)
	}
	defer file.Close()
	start := bufio.NewReader(file)
	if f.Format, err = formatOfBytes(path, start); f.Format != "" || err != nil {
		return f, err
	}
	lines, _, err := linesOf(start, path)
	if err != nil {
		return f, err
	}
	f.Format = guessFormat(lines)
	if f.Format == "csv" && f.CSV.Delimiter == "" && guessDelimiter(lines, ",") == "tab" {
		f.Format = "tsv"
	}
	return f, nil
}

// magicBytes are the first bytes of the formats that are no text.
var magicBytes = []struct{ bytes, format string }{{"\x93NUMPY", "npy"}, {"PK\x03\x04", "npz"}, {"PAR1", "parquet"},
	{"ARROW1", "arrow"}, {"\xff\xff\xff\xff", "arrow"}}

// formatOfBytes returns the format that the first bytes show, "" for one of text, and an error for
// a file that cannot be read as data.
func formatOfBytes(path string, r *bufio.Reader) (string, error) {
	start, _ := r.Peek(files.KindBytes)
	if err := files.CheckData(path, start); err != nil {
		return "", err
	}
	for _, b := range magicBytes {
		if bytes.HasPrefix(start, []byte(b.bytes)) {
			return b.format, nil
		}
	}
	return "", nil
}

// pairLine is a line of svmlight: a label and pairs.
var pairLine = lazyRegexp(`^[-+0-9.eE]+( +\d+:[-+0-9.eE]+)+ *(#.*)?\r?$`)

func guessFormat(lines []string) string {
	switch {
	case len(lines) > 0 && pairLine().MatchString(lines[0]):
		return "svmlight"
	case slices.ContainsFunc(lines, func(row string) bool { return strings.HasPrefix(strings.ToLower(row), "@relation") }):
		return "arff"
	case len(lines) > 0 && strings.HasPrefix(strings.TrimLeft(lines[0], " \t"), "{"):
		return "jsonl"
	}
	return "csv"
}

// guessComment returns the comment mark at the start of the first line, "" if the last line starts
// with it too.
func guessComment(lines []string) string {
	for _, mark := range []string{"#", "%", "|"} {
		if len(lines) > 1 && strings.HasPrefix(lines[0], mark) && !strings.HasPrefix(lines[len(lines)-1], mark) {
			return mark
		}
	}
	return ""
}

// guessDelimiter returns the delimiter that divides nearly all lines into the same number of
// fields, at least two. The usual one is preferred, unless commas are decimal marks in fields
// divided by another one.
func guessDelimiter(lines []string, usual string) string {
	lines = lines[:min(len(lines), 50)]
	var found []string
	for _, d := range []string{usual, ",", ";", "tab", "|", "space"} {
		if divides(lines, d) && !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 0:
		return usual
	case found[0] != ",":
		return found[0]
	}
	for _, d := range found[1:] {
		if d != "space" && !slices.ContainsFunc(lines, func(row string) bool {
			return slices.ContainsFunc(fields(row, d), func(f string) bool { return strings.Contains(f, ",") && !isNumber(f) })
		}) {
			return d
		}
	}
	return found[0]
}

// divides reports whether nine lines of ten have the same number of fields, and several.
func divides(lines []string, delimiter string) bool {
	counts := map[int]int{}
	for _, row := range lines {
		counts[len(fields(row, delimiter))]++
	}
	for n, rows := range counts {
		if n > 1 && 10*rows >= 9*len(lines) {
			return true
		}
	}
	return false
}

// guessQuote returns none if a quote neither opens nor closes a field in some line, and all lines have the same
// number of fields when quotes are ignored.
func guessQuote(lines []string, delimiter string) string {
	cut, guess := string(separator(delimiter)), `"`
	for _, row := range lines {
		if delimiter == "space" || strings.Count(row, cut) != strings.Count(lines[0], cut) {
			return `"`
		}
		if hasBareQuote(strings.TrimRight(row, "\r"), cut) {
			guess = "none"
		}
	}
	return guess
}

// hasBareQuote reports whether a line has a quote inside of a field.
func hasBareQuote(row, cut string) bool {
	row = strings.ReplaceAll(row, `""`, "")
	for row != "" {
		inner, quoted := strings.CutPrefix(strings.TrimLeft(row, " "), `"`)
		if quoted {
			_, after, closed := strings.Cut(inner, `"`)
			if row = strings.TrimLeft(after, " "); !closed || row != "" && !strings.HasPrefix(row, cut) {
				return closed
			}
		}
		var field string
		if field, row, _ = strings.Cut(row, cut); strings.Contains(field, `"`) {
			return true
		}
	}
	return false
}

// separator returns the byte of a delimiter.
func separator(delimiter string) byte {
	if delimiter == "tab" {
		return '\t'
	}
	return delimiter[0]
}

// fields splits a line; it handles quotes as far as detection needs.
func fields(row, delimiter string) []string {
	row = strings.TrimRight(row, "\r")
	if delimiter == "space" {
		return strings.Fields(row)
	}
	cut := separator(delimiter)
	var out []string
	quoted, from := false, 0
	for i := range len(row) {
		switch {
		case row[i] == '"':
			quoted = !quoted
		case row[i] == cut && !quoted:
			out, from = append(out, row[from:i]), i+1
		}
	}
	out = append(out, row[from:])
	for i, f := range out {
		out[i] = strings.Trim(strings.TrimSpace(f), `"`)
	}
	return out
}

// guessHeader reports whether the first line names the columns: it has no numbers, or a string
// above numbers.
func guessHeader(lines []string, delimiter string) bool {
	if len(lines) == 0 {
		return true
	}
	first := fields(lines[0], delimiter)
	if !slices.ContainsFunc(first, isNumber) {
		return true
	}
	for j, word := range first {
		if word == "" || isNumber(word) || slices.Contains(MissingStrings, word) {
			continue
		}
		numbers := 0
		for _, row := range lines[1:min(len(lines), 50)] {
			if f := fields(row, delimiter); len(f) == len(first) && isNumber(f[j]) {
				numbers++
			} else if len(f) == len(first) && f[j] != "" && !slices.Contains(MissingStrings, f[j]) {
				numbers = 0
				break
			}
		}
		if numbers > 0 {
			return true
		}
	}
	return false
}

// isNumber reports whether a field is a number in some notation.
func isNumber(field string) bool {
	if field == "" {
		return false
	}
	if _, err := strconv.ParseFloat(field, 64); err == nil {
		return true
	}
	return slices.ContainsFunc(Notations[1:], func(n Notation) bool { return n.Pattern().MatchString(field) })
}

// MissingStrings are common missing-value markers.
var MissingStrings = []string{"?", "NA", "N/A", "NULL", "null", "None", "NaN", "nan"}

// Notation is a format of numbers.
type Notation struct {
	Decimal, Thousands string
	Pattern            func() *regexp.Regexp // nil for numbers in Go syntax
}

// Notations are tried in this order: a number is in the first that suits all of its column.
var Notations = [...]Notation{
	{".", "none", nil},
	{",", ".", lazyRegexp(`^[-+]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][-+]?\d+)?$`)},
	{".", ",", lazyRegexp(`^[-+]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?([eE][-+]?\d+)?$`)},
	{".", "'", lazyRegexp(`^[-+]?(\d+|[1-9]\d{0,2}('\d{3})+)(\.\d+)?$`)},
	{".", "space", lazyRegexp(`^[-+]?(\d+|[1-9]\d{0,2}( \d{3})+)(\.\d+)?$`)},
}

// lazyRegexp returns a pattern that is compiled on first use.
func lazyRegexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Mark is the byte between thousands.
func (n Notation) Mark() byte {
	if n.Thousands == "space" {
		return ' '
	}
	return n.Thousands[0]
}
