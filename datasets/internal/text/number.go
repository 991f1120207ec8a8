package text

import (
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
	mantissa, digits, exponent, negative, ok := scan(b)
	if !ok {
		return 0, false
	}
	var f float64
	switch {
	case digits > 19:
		return parse(b)
	case exponent == 0 || mantissa == 0:
		f = float64(mantissa)
	case mantissa <= 1<<53 && exponent > 0 && exponent <= 22:
		f = float64(mantissa) * powers[exponent]
	case mantissa <= 1<<53 && exponent < 0 && exponent >= -22:
		f = float64(mantissa) / powers[-exponent]
	case exponent < 0 && exponent >= -19:
		f = divide(mantissa, wholePowers[-exponent])
	default:
		return parse(b)
	}
	if negative {
		f = -f
	}
	return f, true
}

// scan splits b = ±mantissa·10^exponent. With more than 19 digits mantissa is worthless.
func scan(b []byte) (mantissa uint64, digits, exponent int, negative, ok bool) {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	from := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = 10*mantissa + uint64(b[i]-'0')
	}
	digits = i - from
	if i < len(b) && b[i] == '.' {
		i++
		from = i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = 10*mantissa + uint64(b[i]-'0')
		}
		digits += i - from
		exponent = from - i
	}
	if i == len(b) || digits == 0 {
		return mantissa, digits, exponent, negative, digits > 0
	}
	if b[i]|0x20 != 'e' {
		return 0, 0, 0, false, false
	}
	power, ok := scanPower(b[i+1:])
	return mantissa, digits, exponent + power, negative, ok
}

// scanPower reads the digits behind an "e", with a sign or without.
func scanPower(b []byte) (power int, ok bool) {
	i, sign := 0, 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		i = 1
	}
	from := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		power = min(10*power+int(b[i]-'0'), 1<<30)
	}
	return sign * power, i > from && i == len(b)
}

// divide returns the float64 nearest to m/d; neither is 0.
//
// With the leading bits of both at the top, m·2^63/d has 63 or 64 bits, ten more than a float64
// keeps; whatever the division leaves over goes into the last of them, so that the conversion
// rounds as the exact quotient would.
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

func parse(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var wholePowers = [...]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}
