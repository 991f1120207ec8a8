package jsonfloat

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	Mean float64 `json:"mean"`
}

type outer struct {
	Name   string
	Scores map[string]float64 `json:"scores"`
	List   []float64          `json:"list,omitempty"`
	Parts  map[string]inner   `json:"parts"`
	Inner  *inner             `json:"inner"`
	Any    map[string]any     `json:"any"`
	inner
}

// TestMarshal checks that infinite numbers and NaN become null and are read back as NaN, that the
// value is not modified, and that all other numbers keep their bits.
func TestMarshal(t *testing.T) {
	fresh := func() outer {
		return outer{Name: "x", Scores: map[string]float64{"a.b": math.Inf(1), "c": 0.1}, List: []float64{1, math.NaN(), 2},
			Parts: map[string]inner{"p": {math.Inf(-1)}}, Inner: &inner{math.Inf(1)},
			Any: map[string]any{"v": math.Inf(1), "w": "x"}, inner: inner{math.NaN()}}
	}
	v := fresh()
	text, lost, err := Marshal(v)
	if err != nil || len(lost) != 6 || !strings.Contains(string(text), `"a.b": null`) {
		t.Fatalf("%s\n%q %v", text, lost, err)
	}
	if !math.IsInf(v.Scores["a.b"], 1) || !math.IsInf(v.Inner.Mean, 1) || !math.IsInf(v.Any["v"].(float64), 1) ||
		!math.IsInf(v.Parts["p"].Mean, -1) || v.List[1] == v.List[1] {
		t.Errorf("the value has changed: %+v", v)
	}
	if got := Paths(lost); !strings.Contains(got, "scores.a.b") || !strings.HasSuffix(got, " and 1 more") {
		t.Error(got)
	}
	var back outer
	if err := Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]float64{"a map": back.Scores["a.b"], "a list": back.List[1],
		"a struct of a map": back.Parts["p"].Mean, "a pointer": back.Inner.Mean, "an embedded struct": back.Mean} {
		if x == x {
			t.Errorf("%s: %v, want NaN", what, x)
		}
	}
	if back.Scores["c"] != 0.1 || back.List[2] != 2 || back.Name != "x" {
		t.Errorf("%+v", back)
	}
	plain := outer{Name: "y", Scores: map[string]float64{"a": 1}}
	text, lost, err = Marshal(plain)
	back = outer{}
	if err == nil {
		err = Unmarshal(text, &back)
	}
	if err != nil || lost != nil || !reflect.DeepEqual(back, plain) {
		t.Errorf("%+v, %q, %v", back, lost, err)
	}
}
