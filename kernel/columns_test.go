package kernel

import "testing"

// TestString checks that a kernel of columns prints in the flow style of YAML, and that strings that are
// not plain keep their quotes.
func TestString(t *testing.T) {
	first, second := NewTerm(Gaussian, "job title, long", "3"), NewTerm(Laplacian, "rest")
	first.Gamma = FixedGamma(0.5)
	const want = `{product: [{columns: ["job title, long", "3"], gamma: 0.5, kernel: gaussian}, ` +
		`{columns: rest, gamma: scale, kernel: laplacian}]}`
	if got := Product(first, second).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Gaussian.String(); got != "gaussian" {
		t.Errorf("%s, want gaussian", got)
	}
}
