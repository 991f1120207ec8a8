package datasets

import "testing"

// The work of two adds up, and one memory serves both.
func TestCostWith(t *testing.T) {
	one, other := Cost{Flops: 5, Bytes: 7, OutputWidth: 3}, Cost{Flops: 2, Bytes: 9, OutputWidth: 4}
	if got, want := one.Add(other), (Cost{Flops: 7, Bytes: 9, OutputWidth: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := one.Scale(3), (Cost{Flops: 15, Bytes: 7, OutputWidth: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
