package picture

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestMatrices(t *testing.T) {
	got, err := png.Decode(bytes.NewReader(Matrices(0, 1, mat.NewDense(2, 2, []float64{0, 1, 0.5, 2})).PNG()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ x, y, shade int }{{border, border, 255}, {border + side - 1, border, 0}, {border, border + side - 1, 127}, {border + side - 1, border + side - 1, 0}} {
		if r, _, _, _ := got.At(want.x, want.y).RGBA(); int(r>>8) != want.shade {
			t.Errorf("pixel %d, %d is %d, want %d", want.x, want.y, r>>8, want.shade)
		}
	}
}

func TestPlot(t *testing.T) {
	picture := NewPlot("a < b").Curve("one", []float64{0, 1, 2}, []float64{0, 1, 4}).Points([]float64{0, 1}, []float64{3, 3}, []float64{0, 1}).SVG()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(picture, "<circle") != 2 || !strings.Contains(picture, "a &lt; b") || !strings.Contains(picture, ">one<") {
		t.Error(picture)
	}
}
