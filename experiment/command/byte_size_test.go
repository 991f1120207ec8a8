package command

import "testing"

// Sizes have units of 1,000 or, with an i, of 1,024.
func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{"10MB": 10_000_000, "512KiB": 1 << 19, "1.5k": 1500, "77": 77, "2 GB": 2e9} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "-1", "0", "ten", "5XB", "1e30", "NaN"} {
		if err := new(byteSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q has no error", text)
		}
	}
}
