package text

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Number returns the float64 nearest to the decimal number in b, which may have a sign, a point and
// an exponent, and blanks around it. It reports false for anything else: "inf", "nan", hexadecimal
// numbers, and numbers too large for a float64.
//
// A mantissa up to 2^53 times or over a power of ten up to 10^22 is one exact operation on exact
// operands, hence rightly rounded (W. D. Clinger, How to read floating point numbers accurately,
// 1990). A longer mantissa, of up to 19 digits, over a power up to 10^19 is one division of
// integers. The rest goes to strconv.
func Number(b []byte) (float64, bool) {
	b = Trim(b)
	if f, n := Leading(b); n == len(b) && n > 0 {
		return f, true
	}
	return parse(b)
}

// Leading returns the number at the beginning of b, as [Number] parses it, and its length in bytes.
// Both are 0 if b does not begin with a number, or if its value needs more than two roundings.
func Leading(b []byte) (f float64, n int) {
	i := 0
	var sign uint64
	if len(b) > 0 {
		if b[0] == '-' {
			sign = 1 << 63
		}
		if (b[0]-'+')&^2 == 0 { // or a plus
			i = 1
		}
	}
	if i+25 > len(b) {
		return parseShort(b, i, sign)
	}
	// Up to eight digits before the point and sixteen after it are parsed eight at a time.
	mantissa, whole := parseEight(b, i)
	i += whole
	fraction, point := 0, 0
	if b[i] == '.' {
		point = 1
		var more uint64
		more, fraction = parseEight(b, i+1)
		mantissa = mantissa*eighths[fraction&15] + more
		if fraction == 8 {
			more, next := parseEight(b, i+9)
			mantissa = mantissa*eighths[next&15] + more
			fraction += next
		}
		i += 1 + fraction
	}
	switch {
	case whole == 8:
		return parseShort(b, i-whole-point-fraction, sign)
	case fraction == 16:
		end := 0
		mantissa, end = digits(mantissa, b, i)
		fraction += end - i
		return parseScaled(b, end, mantissa, whole+fraction, -fraction, sign)
	case b[i]|0x20 == 'e', mantissa > 1<<53, whole+fraction == 0:
		return parseScaled(b, i, mantissa, whole+fraction, -fraction, sign)
	case fraction == 0:
		f = float64(int64(mantissa))
	default:
		f = float64(int64(mantissa)) / powers[fraction]
	}
	return math.Float64frombits(math.Float64bits(f) | sign), i
}

// parseEight returns the value and the number of the leading digits of b[i:], at most eight. b must
// have at least eight bytes from i on.
func parseEight(b []byte, i int) (v uint64, n int) {
	// Digits become 0 to 9. The first other byte ends the number; the bytes from there on are
	// shifted out.
	word := binary.LittleEndian.Uint64(b[i:i+8]) ^ 0x3030303030303030
	n = bits.TrailingZeros64((word+0x7676767676767676|word)&0x8080808080808080) >> 3
	word <<= 64 - 8*n
	// Neighbors are joined to pairs, pairs to fours, fours to all.
	word = word*10 + word>>8
	return (word&0x000000ff000000ff*(100+1000000<<32) + word>>16&0x000000ff000000ff*(1+10000<<32)) >> 32, n
}

// eighths are the powers of ten up to the eighth.
var eighths = [16]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// parseShort is Leading for a number after its sign, digit by digit.
func parseShort(b []byte, i int, sign uint64) (f float64, n int) {
	from := i
	mantissa, i := digits(0, b, i)
	count, exponent := i-from, 0
	if i < len(b) && b[i] == '.' {
		from = i + 1
		mantissa, i = digits(mantissa, b, from)
		exponent = from - i
		count -= exponent
	}
	return parseScaled(b, i, mantissa, count, exponent, sign)
}

// parseScaled is Leading for a number whose mantissa of count digits ends at b[i]; exponent is its
// decimal exponent.
func parseScaled(b []byte, i int, mantissa uint64, count, exponent int, sign uint64) (f float64, n int) {
	if count == 0 || count > 19 {
		return 0, 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		power, end := scanPower(b, i+1)
		if end == 0 {
			return 0, 0
		}
		exponent, i = exponent+power, end
	}
	switch {
	case exponent == 0 || mantissa == 0:
		f = float64(mantissa)
	case mantissa <= 1<<53 && exponent < 0 && exponent >= -22:
		f = float64(int64(mantissa)) / powers[-exponent]
	case mantissa <= 1<<53 && exponent > 0 && exponent <= 22:
		f = float64(int64(mantissa)) * powers[exponent]
	case exponent < 0 && exponent >= -19:
		f = divide(mantissa, wholePowers[-exponent])
	default:
		return 0, 0
	}
	return math.Float64frombits(math.Float64bits(f) | sign), i
}

// digits appends the digits at b[i:] to a mantissa, and returns where they end. Of more than 19 in all the
// mantissa is worthless.
func digits(mantissa uint64, b []byte, i int) (uint64, int) {
	for i+8 <= len(b) {
		v, n := parseEight(b, i)
		mantissa = mantissa*eighths[n&15] + v
		if i += n; n < 8 {
			return mantissa, i
		}
	}
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = 10*mantissa + uint64(b[i]-'0')
	}
	return mantissa, i
}

// scanPower parses an exponent after "e", with an optional sign, and returns its end, 0 if there
// are no digits.
func scanPower(b []byte, i int) (power, end int) {
	sign := 1
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		if b[i] == '-' {
			sign = -1
		}
		i++
	}
	from := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		power = min(10*power+int(b[i]-'0'), 1<<30)
	}
	if i == from {
		return 0, 0
	}
	return sign * power, i
}

// divide returns the float64 nearest to m/d; neither is 0.
//
// With the leading bits of both at the top, m·2^63/d has 63 or 64 bits, ten more than a float64; a
// nonzero remainder sets the last bit, so that the conversion rounds like the exact quotient.
func divide(m, d uint64) float64 {
	up, down := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
	m, d = m<<up, d<<down
	q, r := bits.Div64(m>>1, m<<63, d)
	if r != 0 {
		q |= 1
	}
	scale := uint64(1023 - 63 + down - up)
	return float64(q) * math.Float64frombits(scale<<52)
}

// parse parses decimal numbers with strconv, which also accepts other formats.
func parse(b []byte) (float64, bool) {
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c|0x20 != 'e' && c != '-' && c != '+' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var wholePowers = [...]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}
