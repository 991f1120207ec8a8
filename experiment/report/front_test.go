package report

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/svg"
)

var update = flag.Bool("update", false, "write docs/front.svg")

// TestFrontOfThreeSets checks that docs/front.svg shows the fronts of three runs of bochner auto --minutes 1
// --max-predict-time 1ms, whose costs are in testdata.
func TestFrontOfThreeSets(t *testing.T) {
	text, err := os.ReadFile("testdata/front.json")
	if err != nil {
		t.Fatal(err)
	}
	var runs []struct {
		Title string `json:"title"`
		result.Auto
	}
	if err := json.Unmarshal(text, &runs); err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	var row []svg.Plot
	for _, r := range runs {
		row = append(row, costPlot(r.Title, r.Auto))
	}
	const path = "../../docs/front.svg"
	want := svg.PlotGrid("Score and time of predictions of the candidates of bochner auto", [][]svg.Plot{row}) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not the picture of the runs, %v; go test ./experiment/report -run FrontOfThreeSets -update", path, err)
	}
}

// The front has a step at each candidate without a faster one that is as good, also for losses.
func TestCostPlot(t *testing.T) {
	cost := func(recipe string, micros, mean float64) result.AutoCost {
		return result.AutoCost{Recipe: recipe, Mean: mean, PredictSeconds: micros / 1e6}
	}
	a := result.Auto{Score: "r2", Recipe: "d", PredictSeconds: 16. / 1e6, Costs: []result.AutoCost{cost("d", 16, 0.9),
		cost("a", 1, 0.5), cost("worse", 8, 0.6), cost("b", 2, 0.7), cost("slower", 32, 0.9), cost("same", 2, 0.6)}}
	for _, loss := range []bool{false, true} {
		sign := 1.0
		if loss {
			a.Score, sign = "mean_squared_error", -1
			a.Costs = slices.Clone(a.Costs)
			for k := range a.Costs {
				a.Costs[k].Mean *= -1
			}
		}
		p := costPlot("front", a)
		scores := func(values ...float64) []float64 {
			for k := range values {
				values[k] *= sign
			}
			return values
		}
		want := []svg.Series{
			{Name: "other candidates", Dots: true, X: []float64{2, 8, 32}, Y: scores(0.6, 0.6, 0.9)},
			{Name: "front", Color: 1, Line: true, X: []float64{1, 2, 2, 16, 16}, Y: scores(0.5, 0.5, 0.7, 0.7, 0.9)},
			{Color: 1, Dots: true, X: []float64{1, 2}, Y: scores(0.5, 0.7)},
			{Name: "chosen", Color: 2, Dots: true, X: []float64{16}, Y: scores(0.9)},
		}
		if !reflect.DeepEqual(p.Series, want) {
			t.Errorf("%s: series %+v, want %+v", a.Score, p.Series, want)
		}
	}
	a.Costs = a.Costs[1:2]
	if p := costPlot("front", a); len(p.Series) != 2 {
		t.Errorf("of one candidate: %+v", p.Series)
	}
}
