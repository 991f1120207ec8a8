package text

// Notation is a format of numbers. The zero value is a decimal point without a thousands separator.
type Notation struct {
	Decimal   byte // '.' or ','; 0 is '.'
	Thousands byte // thousands separator; 0 for none
}

// Number parses a number in this notation as [Number] does. Thousands separators are optional, but
// must separate groups of three digits, the first of which must not start with zero: 0.123 is not
// 123.
func (n Notation) Number(b []byte) (float64, bool) {
	if n.Thousands == 0 && (n.Decimal == 0 || n.Decimal == '.') {
		return Number(b)
	}
	var buffer [48]byte
	plain, ok := n.plain(buffer[:0], Trim(b))
	if !ok {
		return 0, false
	}
	return Number(plain)
}

// plain appends b with a decimal point and without thousands separators; it reports false if
// separators are misplaced.
func (n Notation) plain(dst, b []byte) ([]byte, bool) {
	digits, marks := 0, 0 // digits since the sign or the last separator; separators so far
	whole := true         // whether before the decimal mark
	for _, c := range b {
		digit := c-'0' <= 9
		switch {
		case whole && c == n.Thousands && n.Thousands != 0:
			if digits == 0 || digits > 3 || marks > 0 && digits != 3 || marks == 0 && dst[len(dst)-digits] == '0' {
				return nil, false
			}
			digits = 0
			marks++
			continue
		case digit:
			digits++
		case c == '-' || c == '+':
		default:
			if whole && marks > 0 && digits != 3 {
				return nil, false
			}
			whole = false
			if c == n.Decimal {
				c = '.'
			} else if c == '.' && n.Decimal != 0 {
				return nil, false
			}
		}
		dst = append(dst, c)
	}
	return dst, !(whole && marks > 0 && digits != 3)
}
