package svg

import (
	"encoding/xml"
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

// box is what a text or a plot takes up.
type box struct {
	what                     string
	left, top, right, bottom float64
}

// texts returns what the texts of a drawing take up.
func (d drawing) texts() (out []box) {
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

// apart fails where a text reaches beyond the edge, into another or into one of the boxes.
func (d drawing) apart(t *testing.T, boxes ...box) {
	t.Helper()
	texts := d.texts()
	all := append(texts, boxes...)
	for i, a := range texts {
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

// Texts have the length that they have room for: none of them reaches into another, a plot or beyond the edge.
func TestTextsOfLinesKeepApart(t *testing.T) {
	panel := func(title string) Panel {
		return Panel{title, []Line{{0, []float64{16, 4096}, []float64{3, 0.0002}}, {1, []float64{16, 4096}, []float64{1, 0.1}}}}
	}
	picture := LinesPicture(Lines{
		Title: "root mean square error of z(x)'z(y)", Across: "D, the number of features",
		Panels: [][]Panel{{panel("gaussian"), panel("rational_quadratic")}, {panel("laplacian")}},
		Styles: []Style{{"independent", "#1f5aa0", false, true}, {"a line whose name is long", "#d25f14", true, false}, {"one more that is long", "#888888", true, false}},
	})
	parsed := read(t, picture)
	var plots []box
	for _, r := range parsed.Rects[1:] { // the first is the ground
		plots = append(plots, box{"a plot", r.X, r.Y, r.X + r.Width, r.Y + r.Height})
	}
	if len(parsed.Texts) < 20 || len(plots) != 3 || len(parsed.Lines) != 6 {
		t.Fatalf("%d texts, %d plots, %d lines", len(parsed.Texts), len(plots), len(parsed.Lines))
	}
	parsed.apart(t, plots...)
	if !strings.Contains(picture, ">0.001<") || !strings.Contains(picture, ">1000<") {
		t.Error("marks are missing")
	}
}
