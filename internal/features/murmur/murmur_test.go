package murmur

import "testing"

// TestSum32 compares with sklearn.utils.murmurhash3_32 with seed 0.
func TestSum32(t *testing.T) {
	for text, want := range map[string]int32{"": 0, "a": 1009084850, "colour=red": 511943297, "Übergröße": -1531263234,
		"abcd": 1139631978, "hello, world!": -327098478} {
		if got := int32(Sum32(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		if Sum32([]byte(text)) != Sum32(text) {
			t.Errorf("%q: bytes differ from the string", text)
		}
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		hash   int32
		column int
		sign   float64
	}{{0, 0, 1}, {9, 2, 1}, {-9, 2, -1}, {-1 << 31, 2, -1}} {
		if column, sign := Column(uint32(c.hash), 7); column != c.column || sign != c.sign {
			t.Errorf("%d: column %d, sign %v, want %d, %v", c.hash, column, sign, c.column, c.sign)
		}
	}
}
