package svg

import (
	"encoding/xml"
	"strings"
	"testing"
)

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
	var parsed struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Rects  []struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
		} `xml:"rect"`
		Texts []struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Length float64 `xml:"textLength,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"text"`
		Lines []struct {
			Points string `xml:"points,attr"`
		} `xml:"polyline"`
	}
	if err := xml.Unmarshal([]byte(picture), &parsed); err != nil {
		t.Fatal(err)
	}
	type box struct {
		what                     string
		left, top, right, bottom float64
	}
	var boxes []box
	for _, x := range parsed.Texts {
		boxes = append(boxes, box{x.Text, x.X, x.Y - 10, x.X + x.Length, x.Y + 3})
	}
	texts := len(boxes)
	for _, r := range parsed.Rects[1:] { // the first is the ground
		boxes = append(boxes, box{"a plot", r.X, r.Y, r.X + r.Width, r.Y + r.Height})
	}
	if texts < 20 || len(boxes) != texts+3 || len(parsed.Lines) != 6 {
		t.Fatalf("%d texts, %d plots, %d lines", texts, len(boxes)-texts, len(parsed.Lines))
	}
	for i, a := range boxes[:texts] {
		if a.left < 0 || a.top < 0 || a.right > parsed.Width || a.bottom > parsed.Height {
			t.Errorf("%q reaches beyond the edge", a.what)
		}
		for _, b := range boxes[i+1:] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%q reaches into %q", a.what, b.what)
			}
		}
	}
	if !strings.Contains(picture, ">0.001<") || !strings.Contains(picture, ">1000<") {
		t.Error("marks are missing")
	}
}
