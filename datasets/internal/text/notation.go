package text

// Notation is how numbers are written. The zero value is a decimal point and nothing between
// thousands.
type Notation struct {
	Decimal   byte // '.' or ','; 0 is '.'
	Thousands byte // between groups of three digits; 0 for nothing
}

// Number is the function Number for numbers in this notation. A mark between thousands may be left
// out, but not stand anywhere else, nor behind a group that begins with zero: 0.123 is no 123.
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

// plain appends b as it is written with a decimal point and nothing between thousands.
func (n Notation) plain(dst, b []byte) ([]byte, bool) {
	digits, marks := 0, 0 // since the sign or the last mark; marks so far
	whole := true         // whether this is before the decimal mark
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
