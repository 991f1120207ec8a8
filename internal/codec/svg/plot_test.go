package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// drawing is a picture read back.
type drawing struct {
	Width  float64 `xml:"width,attr"`
	Height float64 `xml:"height,attr"`
	Label  string  `xml:"aria-label,attr"`
	Rects  []struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
	} `xml:"rect"`
	Texts []struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Anchor string  `xml:"text-anchor,attr"`
		Length float64 `xml:"textLength,attr"`
		Text   string  `xml:",chardata"`
	} `xml:"text"`
	Lines []struct {
		Points string `xml:"points,attr"`
	} `xml:"polyline"`
	Circles []struct{} `xml:"circle"`
}

// box is the bounding box of a text or a plot.
type box struct {
	what                     string
	left, top, right, bottom float64
}

// strs returns the boxes of the labels of a drawing.
func (d drawing) strs() (out []box) {
	for _, x := range d.Texts {
		left := x.X - map[string]float64{"middle": x.Length / 2, "end": x.Length}[x.Anchor]
		out = append(out, box{x.Text, left, x.Y - 10, left + x.Length, x.Y + 3})
	}
	return out
}

func read(t *testing.T, picture string) (d drawing) {
	t.Helper()
	if err := xml.Unmarshal([]byte(picture), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// apart fails if a text exceeds the picture, or overlaps another or one of the boxes.
func (d drawing) apart(t *testing.T, boxes ...box) {
	t.Helper()
	strs := d.strs()
	all := append(strs, boxes...)
	for i, a := range strs {
		if a.left < 0 || a.top < 0 || a.right > d.Width || a.bottom > d.Height {
			t.Errorf("%q reaches beyond the edge", a.what)
		}
		for _, b := range all[i+1:] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%q reaches into %q", a.what, b.what)
			}
		}
	}
}

// TestTextsOfPlotsKeepApart checks that the labels of plots do not overlap and are inside the
// picture, for all strings and numbers.
func TestTextsOfPlotsKeepApart(t *testing.T) {
	long := "a name that is much longer than any picture that contains it, whatever its size"
	for name, ends := range map[string][2]float64{"shares": {0, 1}, "large": {-3e7, 2e9}, "small": {1e-9, 3e-8},
		"one value": {5, 5}, "near": {1.0001, 1.0002}} {
		for _, log := range []bool{false, true} {
			if log && ends[0] <= 0 {
				continue
			}
			x := []float64{ends[0], (ends[0] + ends[1]) / 2, ends[1]}
			p := Plot{Title: long, X: Axis{Name: long, Log: log}, Y: Axis{Name: long, Log: log}, Series: []Series{
				{Name: "mean", X: x, Y: x, Low: x, High: x, Line: true, Dots: true}, {Name: long, Color: 1, X: x, Y: x, Dots: true},
				{Name: "other", Color: Reference, X: x, Y: x, Line: true, Dashed: true}}}
			d := read(t, p.SVG())
			t.Run(fmt.Sprint(name, " log ", log), func(t *testing.T) {
				d.apart(t)
				if len(d.Circles) != 6 || len(d.Texts) < 8 || d.Label != long {
					t.Errorf("%d dots, %d text elements, label %q", len(d.Circles), len(d.Texts), d.Label)
				}
			})
		}
	}
	levels := Plot{Title: "levels", X: Axis{Labels: []string{"one", long, "two", long, long}},
		Series: []Series{{X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 2, math.NaN(), 2, 0}, Dots: true}}}
	d := read(t, levels.SVG())
	d.apart(t)
	if len(d.Circles) != 4 {
		t.Errorf("%d dots of 4", len(d.Circles))
	}
	bars := Bars{Title: long, XLabel: long, Names: []string{"a", long, "<&>"}, Values: []float64{0.2, -0.1, 0},
		Errors: []float64{0.01, 0.02, 0}, Labels: []string{"0.2 ± 0.01", "−0.1", "0"}}
	read(t, bars.SVG()).apart(t)
	waterfall := Bars{Title: long, XLabel: long, Names: []string{"from", "a", long, "to"},
		Starts: []float64{-3, -3, -2, -2.5},
		Values: []float64{0, 1, -0.5, 0}, Labels: []string{"−3", "+1", "−0.5", "−2.5"}}
	read(t, waterfall.SVG()).apart(t)
	swarm := Swarm{Title: long, XLabel: long, Names: []string{"a", long},
		Values: [][]float64{{1, 1, 1, -2}, {0, 0, 0, 5e6}},
		Colors: [][]int{{0, 1, 2, 3}, {5, 6, 7, 8}}, Legend: []Series{{Name: "low", Color: Gradient}, {Name: long, Color: 1}}}
	read(t, swarm.SVG()).apart(t)
	read(t, Bars{Title: "nothing matters", Names: []string{"a"}, Values: []float64{0},
		Labels: []string{"0"}}.SVG()).apart(t)
}

// Points of a line at the same place are apart, and within the line.
func TestSwarmKeepsPointsApart(t *testing.T) {
	f := plotArea{x: newScale(Axis{}, []float64{0, 1}), left: 100, right: 300}
	seen := map[point]bool{}
	for _, p := range f.apart(slices.Repeat([]float64{0.5}, 30), 50) {
		if seen[p] || math.Abs(p.y-50) > swarmLine/2 || p.x != 200 {
			t.Errorf("a point at %v", p)
		}
		seen[p] = true
	}
}

// Points have the correct positions.
func TestPlotPlaces(t *testing.T) {
	p := Plot{X: Axis{Low: 0, High: 10}, Y: Axis{Log: true, Low: 1, High: 100},
		Series: []Series{{X: []float64{0, 5, 10}, Y: []float64{1, 10, 100}, Line: true}}}
	picture := p.SVG()
	_, path, _ := strings.Cut(picture, `stroke-linejoin="round" d="`)
	var x, y [3]float64
	if _, err := fmt.Sscanf(path, "M%f %fL%f %fL%f %f", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]); err != nil {
		t.Fatal(err, path[:60])
	}
	if math.Abs(x[1]-(x[0]+x[2])/2) > 0.11 || math.Abs(y[1]-(y[0]+y[2])/2) > 0.11 || !(x[2]-x[0] > 200) ||
		!(y[0]-y[2] > 100) {
		t.Errorf("the points are at %v, %v", x, y)
	}
}

// Marks are round numbers between the ends, a few of them.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0, 1, "[0 0.2 0.4 0.6 0.8 1]"}, {-0.04, 1.04, "[0 0.2 0.4 0.6 0.8 1]"}, {3, 17, "[5 7.5 10 12.5 15]"},
		{0.92, 0.961, "[0.92 0.93 0.94 0.95 0.96]"}, {-3e7, 2e9, "[0 5e+08 1e+09 1.5e+09 2e+09]"}} {
		if got := fmt.Sprint(ticks(c.low, c.high)); got != c.want {
			t.Errorf("from %v to %v: %v, want %v", c.low, c.high, got, c.want)
		}
	}
	if got := fmt.Sprint(logTicks(-3, 2)); got != "[0.001 0.01 0.1 1 10 100]" {
		t.Errorf("powers of ten: %v", got)
	}
	if got := fmt.Sprint(logTicks(0, 1)); got != "[1 2 5 10]" {
		t.Errorf("one decade: %v", got)
	}
}

// Plots of a grid are arranged in rows as tall as their tallest plot.
func TestGrid(t *testing.T) {
	p := Plot{Title: "one", Series: []Series{{X: []float64{0, 1}, Y: []float64{0, 1}, Dots: true}}}
	var d struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Plots  []struct {
			X       float64    `xml:"x,attr"`
			Y       float64    `xml:"y,attr"`
			Height  float64    `xml:"height,attr"`
			Circles []struct{} `xml:"circle"`
		} `xml:"svg"`
	}
	if err := xml.Unmarshal([]byte(PlotGrid("all", [][]Plot{{p, p, p}, {p}})), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Plots) != 4 || d.Width != 3*plotWidth || d.Plots[2].X != 2*plotWidth || d.Plots[3].X != 0 ||
		d.Plots[3].Y != d.Plots[0].Y+d.Plots[0].Height || d.Height != d.Plots[3].Y+d.Plots[3].Height ||
		len(d.Plots[3].Circles) != 2 {
		t.Errorf("%+v", d)
	}
}
