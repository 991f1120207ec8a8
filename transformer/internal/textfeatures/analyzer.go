package textfeatures

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Analyzer divides a text into terms, n-grams of words or characters. It is immutable.
type Analyzer struct {
	kind       string
	minN, maxN int
	lowercase  bool
	stopWords  map[string]bool
}

// scan is the workspace of an Analyzer for one text at a time.
type scan struct {
	text  []byte  // normalized: words, each followed by a space; or characters
	marks []int32 // where words begin and end in text; or where characters begin
}

// terms calls yield with every term of a text, as often as it occurs. The term is valid until yield returns.
func (a *Analyzer) terms(s *scan, text string, yield func(term []byte)) {
	switch a.kind {
	case "word":
		a.words(s, text)
		tokens := len(s.marks) / 2
		for n := a.minN; n <= min(a.maxN, tokens); n++ {
			for i := range tokens - n + 1 {
				yield(s.text[s.marks[2*i]:s.marks[2*(i+n)-1]])
			}
		}
	case "char":
		a.characters(s, text)
		for n := a.minN; n <= min(a.maxN, len(s.marks)-1); n++ {
			s.windows(n, yield)
		}
	case "char_wb":
		a.paddedWords(s, text, yield)
	}
}

// windows calls yield with every n consecutive characters.
func (s *scan) windows(n int, yield func(term []byte)) {
	for i := range len(s.marks) - n {
		yield(s.text[s.marks[i]:s.marks[i+n]])
	}
}

// words finds the words of a text: at least two letters, digits or underscores in a row, as the regular expression
// (?u)\b\w\w+\b of scikit-learn.
func (a *Analyzer) words(s *scan, text string) {
	s.text, s.marks = s.text[:0], s.marks[:0]
	start, length := 0, 0
	end := func() {
		if length >= 2 && !a.stopWords[string(s.text[start:])] {
			s.marks = append(s.marks, int32(start), int32(len(s.text)))
			s.text = append(s.text, ' ')
		} else {
			s.text = s.text[:start]
		}
		start, length = len(s.text), 0
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch {
			case asciiClass[c]&wordClass == 0:
				if length > 0 {
					end()
				}
			case a.lowercase:
				s.text, length = append(s.text, asciiLower[c]), length+1
			default:
				s.text, length = append(s.text, c), length+1
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		lower, more := r, rune(0)
		if a.lowercase {
			lower, more = lowerRune(text, i, r)
		}
		i += size
		if isWord(lower) {
			s.text, length = utf8.AppendRune(s.text, lower), length+1
		} else if length > 0 {
			end()
		}
		if more != 0 && length > 0 { // a mark, which is no part of a word
			end()
		}
	}
	if length > 0 {
		end()
	}
}

// characters normalizes a text: runs of two or more blanks become a space.
func (a *Analyzer) characters(s *scan, text string) {
	s.text, s.marks = s.text[:0], s.marks[:0]
	blanks := 0
	for i, r := range text {
		if !isBlank(r) {
			blanks = 0
			a.add(s, text, i, r)
			continue
		}
		switch blanks++; blanks {
		case 1:
			a.add(s, text, i, r)
		case 2:
			s.text = append(s.text[:s.marks[len(s.marks)-1]], ' ')
		}
	}
	s.marks = append(s.marks, int32(len(s.text)))
}

// paddedWords calls yield with the n-grams of the characters of each word between two spaces. A word that is shorter
// than n counts once.
func (a *Analyzer) paddedWords(s *scan, text string, yield func(term []byte)) {
	begin := func() { s.text, s.marks = append(s.text[:0], ' '), append(s.marks[:0], 0) }
	end := func() {
		s.marks = append(s.marks, int32(len(s.text)), int32(len(s.text)+1))
		s.text = append(s.text, ' ')
		length := len(s.marks) - 1
		for n := a.minN; n <= a.maxN; n++ {
			if n >= length {
				yield(s.text)
				break
			}
			s.windows(n, yield)
		}
		begin()
	}
	begin()
	for i, r := range text {
		if !isBlank(r) {
			a.add(s, text, i, r)
		} else if len(s.text) > 1 {
			end()
		}
	}
	if len(s.text) > 1 {
		end()
	}
}

// add appends the character r at byte i of a text.
func (a *Analyzer) add(s *scan, text string, i int, r rune) {
	s.marks = append(s.marks, int32(len(s.text)))
	switch {
	case !a.lowercase:
		s.text = utf8.AppendRune(s.text, r)
	case r < utf8.RuneSelf:
		s.text = append(s.text, asciiLower[r])
	default:
		lower, more := lowerRune(text, i, r)
		if s.text = utf8.AppendRune(s.text, lower); more != 0 {
			s.marks = append(s.marks, int32(len(s.text)))
			s.text = utf8.AppendRune(s.text, more)
		}
	}
}

// Classes of ASCII characters.
const (
	wordClass = 1 << iota
	blankClass
)

var asciiClass, asciiLower = func() (class, lower [utf8.RuneSelf]byte) {
	for c := range class {
		lower[c] = byte(unicode.ToLower(rune(c)))
		if c == '_' || '0' <= c && c <= '9' || 'a' <= lower[c] && lower[c] <= 'z' {
			class[c] = wordClass
		}
		if '\t' <= c && c <= '\r' || '\x1c' <= c && c <= ' ' {
			class[c] = blankClass
		}
	}
	return class, lower
}()

// isWord reports whether r is a character of a word, \w of Python.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiClass[r]&wordClass != 0
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// isBlank reports whether r is \s of Python.
func isBlank(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiClass[r]&blankClass != 0
	}
	return unicode.IsSpace(r)
}

// lowerRune returns the lower case of the character r at byte i of a text: in one case, İ, two characters, and of Σ the
// one for the end of a word where it is there.
func lowerRune(text string, i int, r rune) (lower, more rune) {
	switch r {
	case 'İ':
		return 'i', '\u0307'
	case 'Σ':
		if endsWord(text, i) {
			return 'ς', 0
		}
	}
	return unicode.ToLower(r), 0
}

// endsWord reports whether the letter Σ at byte i follows a letter with case, and none follows it: the condition
// Final_Sigma of the Unicode standard, section 3.13.
func endsWord(text string, i int) bool {
	for before := i; ; {
		r, size := utf8.DecodeLastRuneInString(text[:before])
		if size == 0 || !ignoresCase(r) {
			if size == 0 || !hasCase(r) {
				return false
			}
			break
		}
		before -= size
	}
	for _, r := range text[i+len("Σ"):] {
		if !ignoresCase(r) {
			return !hasCase(r)
		}
	}
	return true
}

func hasCase(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

func ignoresCase(r rune) bool {
	const punctuation = ".:'·\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
	return strings.ContainsRune(punctuation, r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
