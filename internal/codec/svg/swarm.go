package svg

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Swarm is a picture of points by name, from the top down. Points of a line that would cover each other are moved apart
// vertically.
type Swarm struct {
	Title   string
	AltText string // description for screen readers; the title if empty
	XLabel  string
	Names   []string
	Values  [][]float64 // for each name
	Colors  [][]int     // of the values: indices of Colors
	Legend  []Series    // names and colors
}

// Sizes of a swarm.
const (
	swarmLine = 26.0
	dotSize   = 3.6
	samePaths = 50 // points whose colors are drawn one after the other
)

// SVG returns the picture, 340 wide.
func (s Swarm) SVG() string {
	const top, below = 34.0, 40.0
	left := 0.0
	var all []float64
	for k, name := range s.Names {
		left, all = max(left, textLength(name)), append(all, s.Values[k]...)
	}
	p := Plot{Series: s.Legend}
	f := plotArea{x: newScale(Axis{}, finiteValues(append(all, 0))), left: min(left, 120) + 14, top: top,
		right: plotWidth - 12, bottom: top + swarmLine*float64(len(s.Names))}
	legend := p.legend(8)
	height := f.bottom + below + line*float64(len(legend))
	var out strings.Builder
	openSVG(&out, "plot", plotWidth, height, cmp.Or(s.AltText, s.Title))
	text(&out, 8, 18, start, head, truncate(s.Title, (plotWidth-16)/bold))
	f.grid(&out)
	zero, _ := f.place(0, 0)
	fmt.Fprintf(&out, `<line class="frame" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#8b95a1"/>`, zero, f.top, zero,
		f.bottom)
	for k, name := range s.Names {
		y := f.top + swarmLine*(float64(k)+0.5)
		text(&out, f.left-6, y+4, end, plain, truncate(name, 120))
		points := f.apart(s.Values[k], y)
		for lo := 0; lo < len(points); lo += samePaths { // interleaved, so that no color covers another
			byColor := [len(Colors)][]point{}
			for i := lo; i < min(lo+samePaths, len(points)); i++ {
				byColor[s.Colors[k][i]] = append(byColor[s.Colors[k][i]], points[i])
			}
			for color, some := range byColor {
				dots(&out, color, dotSize, some)
			}
		}
	}
	text(&out, f.right, f.bottom+32, end, blue, truncate(s.XLabel, f.right-8))
	p.writeLegend(&out, legend, 8, f.bottom+below-4)
	return out.String() + "</svg>"
}

// apart places values on a line at y, those of the same place one above and one below the others.
func (f plotArea) apart(values []float64, y float64) []point {
	out, at := make([]point, len(values)), make([]int, len(values))
	count := map[int]int{} // points by place
	for i, v := range values {
		out[i].x = f.left + f.x.position(v)*(f.right-f.left)
		at[i] = int(math.Round(out[i].x / (dotSize / 2)))
		count[at[i]]++
	}
	most := 1
	for _, n := range count {
		most = max(most, n)
	}
	step := min(dotSize/2, (swarmLine-dotSize-2)/float64(most))
	met := map[int]int{}
	for i, place := range at {
		k := met[place]
		met[place]++
		off := float64((k+1)/2) * step
		if k%2 == 0 {
			off = -off
		}
		out[i].y = y + off
	}
	return out
}
