package plot

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestMatrices(t *testing.T) {
	got, err := png.Decode(bytes.NewReader(Matrices(0, 1, mat.NewDense(2, 2, []float64{0, 1, 0.5, 2})).PNG()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ x, y, shade int }{{border, border, 255}, {border + minPixels - 1, border, 0},
		{border, border + minPixels - 1, 127}, {border + minPixels - 1, border + minPixels - 1, 0}} {
		if r, _, _, _ := got.At(want.x, want.y).RGBA(); int(r>>8) != want.shade {
			t.Errorf("pixel %d, %d is %d, want %d", want.x, want.y, r>>8, want.shade)
		}
	}
}

func TestPlot(t *testing.T) {
	picture := New("a < b").Curve("one", []float64{0, 1, 2}, []float64{0, 1, 4}).Points([]float64{0, 1},
		[]float64{3, 3}, []float64{0, 1}).SVG()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(picture, "<circle") != 2 || !strings.Contains(picture, "a &lt; b") ||
		!strings.Contains(picture, ">one<") {
		t.Error(picture)
	}
}

// Ticks are round, within the range, and neither too few nor too many.
func TestTicks(t *testing.T) {
	for _, r := range [][2]float64{{0, 1}, {-2.06, 2.07}, {1, 3.3}, {0.001, 0.0042}, {-1e6, 9e6}, {5, 5.999}} {
		got := ticks(r[0], r[1])
		if len(got) < 3 || len(got) > 11 || got[0] < r[0] || got[len(got)-1] > r[1] {
			t.Errorf("%v: ticks %v", r, got)
		}
	}
	if got := ticks(-2.06, 2.07); !slices.Equal(got, []float64{-2, -1, 0, 1, 2}) {
		t.Errorf("ticks %v", got)
	}
}
