package graph_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/graph"
)

func TestJoinNamesSteps(t *testing.T) {
	hashes, strange := errors.New("hashes"), errors.New("strange")
	inner := graph.Join(graph.WithPath("binning", hashes), nil, graph.WithPath("odd", strange))
	err := graph.Join(graph.WithPath("columns", graph.WithPath("numeric", inner)), graph.WithPath("ridge", nil), hashes)
	want := "step columns.numeric.binning: it cannot be exported: hashes; step columns.numeric.odd: it cannot be " +
		"exported: strange"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	err = graph.Join(graph.WithPath("first", inner), graph.WithPath("second", inner), graph.WithPath("third", hashes))
	want = "steps first.binning, second.binning and third: they cannot be exported: hashes; steps first.odd and " +
		"second.odd: they cannot be exported: strange"
	if err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if !errors.Is(err, strange) {
		t.Error("errors.Is does not find the reason of a step")
	}
	if graph.Join(nil, nil) != nil || graph.WithPath("a", nil) != nil {
		t.Error("nil errors are joined to an error")
	}
}

func TestPredictionsFromScoresAndTargets(t *testing.T) {
	g := graph.New(make([]graph.Input, 3))
	first := g.Columns(g.Input(), []int{0})
	several, one := g.Regression(g.Input()), g.Regression(first)
	if several.PointPredictions() != several.Targets || one.PointPredictions() != one.Values || !one.Targets.None() {
		t.Error("point predictions must be the targets of several, the values of one")
	}
	two, three := g.ClassFromScores(first), g.ClassFromScores(g.Input())
	for name, v := range map[string]graph.Value{"first": several.Values, "two": two.Values, "three": three.Values,
		"of two": g.Logistic(two.Scores), "of three": g.Logistic(three.Scores)} {
		g.Output(name, v)
	}
	out, err := g.Run(mat.NewDense(3, 3, []float64{-1, 0, 2, 0, 0, 0, 3, 1, 3}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"first": {-1, 0, 3}, "two": {0, 0, 1}, "three": {2, 0, 0}} {
		if got := out[name].RawMatrix().Data; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if p := out["of two"]; math.Abs(p.At(2, 1)-1/(1+math.Exp(-3))) > 1e-15 || math.Abs(p.At(2, 0)+p.At(2, 1)-1) > 1e-15 {
		t.Errorf("probabilities %v", mat.Formatted(p))
	}
	if p := out["of three"]; math.Abs(p.At(1, 2)-1.0/3) > 1e-15 {
		t.Errorf("probabilities %v", mat.Formatted(p))
	}
}
