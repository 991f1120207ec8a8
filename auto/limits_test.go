package auto_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// length counts bytes.
type length int64

func (n *length) Write(p []byte) (int, error) { *n += length(len(p)); return len(p), nil }

// bytesOf returns the size of the model file.
func bytesOf(t *testing.T, r *auto.Result) int64 {
	t.Helper()
	file, err := modelfile.New(r.Model)
	if err != nil {
		t.Fatal(err)
	}
	var n length
	if err := file.Write(&n); err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

// The selected model meets the limits: its map is narrower, or it is a simpler one. The leaderboard has the costs.
func TestLimits(t *testing.T) {
	rows := waves(1600, 3, 1)
	free := bytesOf(t, fit(t, rows, counted(40)))
	for _, limit := range []int64{free / 2, 6000} {
		o := counted(40)
		o.MaxSize, o.MaxPredictTime = limit, time.Second
		result := fit(t, rows, o)
		size := bytesOf(t, result)
		if size > limit || result.Chosen.Bytes != float64(size) {
			t.Errorf("%d bytes, %g on the leaderboard, the limit is %d, without one it is %d",
				size, result.Chosen.Bytes, limit, free)
		}
		if s := result.Chosen.PredictSeconds; !(s > 0 && s < 1) {
			t.Errorf("%g s per row", s)
		}
		measured := 0
		for _, e := range result.Leaderboard {
			if e.Bytes > 0 && e.PredictSeconds > 0 {
				measured++
			}
		}
		if measured < 2 {
			t.Errorf("%d candidates have costs: %+v", measured, result.Leaderboard)
		}
		predicted, err := result.Model.Predict(context.Background(), rows.X)
		if err != nil {
			t.Fatal(err)
		}
		if r2 := score(rows.Y, predicted, 0); limit == free/2 && r2 < 0.8 {
			t.Errorf("%s of %d features is too simple: %g; %d bytes without limit, %+v",
				result.Chosen.Recipe, result.Chosen.Size, r2, free, result.Leaderboard[:4])
		}
	}
}

// Limits that no model meets are an error with the closest one.
func TestLimitsErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*auto.Options)
		want   string
	}{
		{func(o *auto.Options) { o.MaxSize = 1000 },
			"no model meets the limits: the closest is zscores linear ridge with "},
		{func(o *auto.Options) { o.MaxPredictTime = 1 }, "raise MaxPredictTime or MaxSize"},
		{func(o *auto.Options) { o.MaxSize = -1 }, "max_size: must be a number of bytes ≥ 0"},
		{func(o *auto.Options) { o.MaxPredictTime = -1 }, "max_predict_time: must be a time ≥ 0"},
	} {
		o := counted(20)
		c.change(&o)
		if _, err := auto.Fit(context.Background(), waves(200, 3, 1), o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
