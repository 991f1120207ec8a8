package text

import (
	"math"
	"strconv"
)

// Number returns the float64 nearest to the decimal number in b, which may have a sign, a point and
// an exponent, and blanks around it. It reports false for anything else: "inf", "nan", hexadecimal
// numbers, and numbers too large for a float64.
//
// A mantissa below 2^53 times or over a power of ten up to 10^22 is one exact operation on exact
// operands, hence rightly rounded (W. D. Clinger, How to read floating point numbers accurately,
// 1990). The rest goes to strconv.
func Number(b []byte) (float64, bool) {
	b = Trim(b)
	mantissa, digits, exponent, negative, ok := scan(b)
	if !ok {
		return 0, false
	}
	if digits > 19 || mantissa > 1<<53 {
		return exact(b)
	}
	f := float64(mantissa)
	switch {
	case exponent == 0 || mantissa == 0:
	case exponent > 0 && exponent <= 22:
		f *= powers[exponent]
	case exponent < 0 && exponent >= -22:
		f /= powers[-exponent]
	default:
		return exact(b)
	}
	if negative {
		f = -f
	}
	return f, true
}

// scan splits b = ±mantissa·10^exponent. Digits counts those of the mantissa from the first that is
// not zero; above 19 of them mantissa is worthless.
func scan(b []byte) (mantissa uint64, digits, exponent int, negative, ok bool) {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	any := false
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		any = true
		mantissa = 10*mantissa + uint64(b[i]-'0')
		if mantissa > 0 || digits > 0 {
			digits++
		}
	}
	if i < len(b) && b[i] == '.' {
		i++
		from := i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = 10*mantissa + uint64(b[i]-'0')
			if mantissa > 0 || digits > 0 {
				digits++
			}
		}
		exponent = from - i
		any = any || i > from
	}
	if !any {
		return 0, 0, 0, false, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		power, ok := scanPower(b[i+1:])
		return mantissa, digits, exponent + power, negative, ok
	}
	return mantissa, digits, exponent, negative, i == len(b)
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

func exact(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
