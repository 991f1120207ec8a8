package profile

import (
	"math"
	"strings"
	"unicode"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/features/murmur"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// wordBuckets is the number of hashes of words. Words that share one count as the same word.
const wordBuckets = 1 << 16

// eachWord calls yield with the hash of each word of a text in lower case, or of each label of a list of labels.
func eachWord(format datasets.Format, text string, yield func(bucket uint32)) {
	if format.Delimiter != "" {
		for _, label := range format.Labels(text) {
			yield(murmur.Sum32(label) % wordBuckets)
		}
		return
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		yield(murmur.Sum32(word) % wordBuckets)
	}
}

// addTexts adds the text columns of rows to their counters.
func addTexts[C counter](columns []C, rows *textrows.Matrix) {
	n, _ := rows.Dims()
	for _, j := range rows.TextColumns() {
		for i := 0; i < n && j < len(columns); i++ {
			if text, ok := rows.Text(i, j); ok {
				columns[j].addText(text)
			}
		}
	}
}

// addText counts the words of a training row.
func (t *columnSums) addText(text string) {
	eachWord(t.format, text, func(b uint32) { t.words[b]++ })
}

// describeWords stores which words occur, and the expected fraction of other words in new rows: that of the words that
// occur once (Good, "The population frequencies of species and the estimation of population parameters", Biometrika 40,
// 1953).
func (t *columnSums) describeWords(out *Column) {
	if t.words == nil {
		return
	}
	out.Words = make([]byte, wordBuckets/8)
	once, all := 0, 0
	for b, n := range t.words {
		all += n
		if n > 0 {
			out.Words[b/8] |= 1 << (b % 8)
		}
		if n == 1 {
			once++
		}
	}
	out.Unknown = fraction(once, all)
}

// addText adds the fraction of the words of a row that do not occur in the training rows.
func (b *histogram) addText(text string) {
	if b.column.Words == nil {
		return
	}
	unknown, all := 0, 0
	eachWord(b.format, text, func(bucket uint32) {
		all++
		if b.column.Words[bucket/8]>>(bucket%8)&1 == 0 {
			unknown++
		}
	})
	if all > 0 {
		u := fraction(unknown, all)
		b.textRows, b.unknown, b.unknownSquares = b.textRows+1, b.unknown+u, b.unknownSquares+u*u
	}
}

// wordDrift returns the mean fraction of unknown words in a row, and whether it exceeds the expected one by 10 % and by
// four standard errors.
func (b *histogram) wordDrift() (unknown float64, significant bool) {
	if b.textRows < minRows {
		return 0, false
	}
	n := float64(b.textRows)
	unknown = b.unknown / n
	deviation := math.Sqrt(max(b.unknownSquares/n-unknown*unknown, 0) / n)
	return unknown, unknown-b.column.Unknown > max(0.1, 4*deviation)
}
