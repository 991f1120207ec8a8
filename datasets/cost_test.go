package datasets

import "testing"

// The work of two adds up, and one memory serves both.
func TestCostWith(t *testing.T) {
	one, other := Cost{Flops: 5, Bytes: 7, Width: 3}, Cost{Flops: 2, Bytes: 9, Width: 4}
	if got, want := one.With(other), (Cost{Flops: 7, Bytes: 9, Width: 3}); got != want {
		t.Errorf("%+v, wanted %+v", got, want)
	}
	if got, want := one.Times(3), (Cost{Flops: 15, Bytes: 7, Width: 3}); got != want {
		t.Errorf("%+v, wanted %+v", got, want)
	}
}
