package datasets

import "testing"

// Other work goes at a pace of its own, and what one core does alone takes as many times longer as there are cores.
func TestSecondsOfWork(t *testing.T) {
	pace := Pace{Products: 10, Others: 5, Cores: 3}
	for _, c := range []struct {
		work Cost
		want float64
	}{
		{Cost{Flops: 100}, 10},
		{Cost{Flops: 100, Others: 30}, 7 + 6},
		{Cost{Flops: 100, Others: 30, Alone: 20}, 7 + 2 + 12},
		{Cost{Flops: 100, Alone: 20}, 8 + 12},
	} {
		if got := pace.Seconds(c.work); got != c.want {
			t.Errorf("%+v: %v s, wanted %v", c.work, got, c.want)
		}
	}
}

// More readings are more of the iterated work, whether of products or others, and no more of the rest.
func TestOftenerMultipliesIteratedWork(t *testing.T) {
	work := Cost{Flops: 100, Others: 40, Alone: 10, Iterated: 60, Read: 7, Bytes: 5}
	if got, want := work.Oftener(3), (Cost{Flops: 220, Others: 120, Alone: 30, Iterated: 180, Read: 21, Bytes: 5}); got != want {
		t.Errorf("%+v, wanted %+v", got, want)
	}
	work.Iterated = 20 // all of it others
	if got := work.Oftener(2); got.Flops != 120 || got.Others != 60 || got.Alone != 20 {
		t.Errorf("%+v", got)
	}
	if got := (Cost{Flops: 5}).Oftener(9); got.Flops != 5 {
		t.Errorf("%+v of what is read once", got)
	}
	if got := work.Times(2); got.Flops != 200 || got.Others != 80 || got.Alone != 20 || got.Iterated != 40 || got.Read != 7 || got.Bytes != 5 {
		t.Errorf("twice is %+v", got)
	}
}
