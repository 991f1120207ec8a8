package experiment

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
)

// sniffBytes is how much of a file is looked at to tell how it is written.
const sniffBytes = 1 << 16

// sniff fills in how a file is written, as far as its first lines tell: the format where the ending
// does not, what separates fields, whether there is a header, and what stands for missing values.
func (s *Data) sniff(path string) error {
	lines, err := firstLines(path)
	if err != nil {
		return err
	}
	format := formatOf(path)
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
	if len(lines) > 0 && slices.ContainsFunc(fields(lines[0], delimiter), isNumber) {
		s.CSV.Header = Header{Given: false}
	}
	s.CSV.Missing = guessMissing(lines, delimiter)
	return nil
}

// firstLines returns the first whole lines of a file that are not empty, gzip'd or not.
func firstLines(path string) ([]string, error) {
	if _, err := datasets.Stat(path); err != nil {
		return nil, fmt.Errorf("experiment: %w", tell(err))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", tell(err))
	}
	defer file.Close()
	buffered := bufio.NewReader(file)
	var r io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(buffered); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", path, err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, sniffBytes))
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, reason(err))
	}
	rows := strings.Split(string(text), "\n")
	if len(text) == sniffBytes && len(rows) > 1 {
		rows = rows[:len(rows)-1] // the last one is cut
	}
	return slices.DeleteFunc(rows, func(row string) bool { return strings.TrimSpace(row) == "" }), nil
}

// pairLine is a line of svmlight: a label and pairs.
var pairLine = regexp.MustCompile(`^[-+0-9.eE]+( +\d+:[-+0-9.eE]+)+ *(#.*)?\r?$`)

func guessFormat(lines []string) string {
	switch {
	case len(lines) > 0 && pairLine.MatchString(lines[0]):
		return "svmlight"
	case slices.ContainsFunc(lines, func(row string) bool { return strings.HasPrefix(strings.ToLower(row), "@relation") }):
		return "arff"
	}
	return "csv"
}

// guessComment returns the mark that the first line begins with and the last one does not, "" where
// it begins as rows do.
func guessComment(lines []string) string {
	for _, mark := range []string{"#", "%", "|"} {
		if len(lines) > 1 && strings.HasPrefix(lines[0], mark) && !strings.HasPrefix(lines[len(lines)-1], mark) {
			return mark
		}
	}
	return ""
}

// guessDelimiter returns what divides the lines into the same number of fields, and several. The
// usual one is preferred.
func guessDelimiter(lines []string, usual string) string {
	for _, d := range []string{usual, ",", ";", "tab", "|", "space"} {
		n := 0
		for i, row := range lines[:min(len(lines), 50)] {
			k := len(fields(row, d))
			if i == 0 {
				n = k
			}
			if k != n {
				n = 0
				break
			}
		}
		if n > 1 {
			return d
		}
	}
	return usual
}

// fields divides a line, quotes respected as far as a look needs.
func fields(row, delimiter string) []string {
	row = strings.TrimRight(row, "\r")
	cut := []rune(delimiter)[0]
	switch delimiter {
	case "space":
		return strings.Fields(row)
	case "tab":
		cut = '\t'
	}
	quoted := false
	return strings.FieldsFunc(strings.ReplaceAll(row, string(cut)+string(cut), string(cut)+" "+string(cut)), func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == cut && !quoted
	})
}

func isNumber(field string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
	return err == nil
}

// guessMissing lists the words for a missing value that occur.
func guessMissing(lines []string, delimiter string) Texts {
	var out Texts
	for _, row := range lines {
		for _, f := range fields(row, delimiter) {
			f = strings.TrimSpace(f)
			if slices.Contains([]string{"?", "NA", "N/A", "NULL", "null", "None"}, f) && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}
