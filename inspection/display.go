package inspection

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/svg"
)

// shownInputs is how many inputs a picture has.
const shownInputs = 15

// SVG returns the inputs that matter most as a picture, which a notebook shows by itself: a bar for each, with its
// standard error.
func (r Result) SVG() string {
	b := svg.Bars{Title: "What matters", Across: strings.ReplaceAll(r.Score, "_", " ") + " gets worse by"}
	var said []string
	for k, in := range r.Inputs[:min(len(r.Inputs), shownInputs)] {
		b.Names, b.Values, b.Spread = append(b.Names, in.Name), append(b.Values, in.Mean), append(b.Spread, in.StdError)
		b.Labels = append(b.Labels, digits(in.Mean, 3))
		if k < 5 {
			said = append(said, in.Name+" "+digits(in.Mean, 3))
		}
	}
	b.Says = "What matters most: " + strings.Join(said, ", ")
	return b.SVG()
}

// SVG returns the effect as a picture, which a notebook shows by itself: a line over numbers, a bar for each level.
func (e Effect) SVG() string { return Effects{e}.SVG() }

// Effects are those of one input, on several classes or targets.
type Effects []Effect

// SVG returns the effects in one picture.
func (list Effects) SVG() string {
	if len(list) == 0 {
		return svg.Plot{Title: "No effect"}.SVG()
	}
	list = list[:min(len(list), svg.Reference)]
	first := list[0]
	if first.Levels != nil {
		return list.bars()
	}
	p := svg.Plot{Title: "Effect of " + first.Input, X: svg.Axis{Name: first.Input}, Y: svg.Axis{Name: "mean " + first.Of}}
	if name := cmp.Or(first.Class, first.Target); len(list) == 1 && name != "" {
		p.Y.Name += " of " + name
	}
	for k, e := range list {
		s := svg.Series{Color: k, X: e.Values, Y: e.Mean, Line: true, Dots: len(e.Values) <= 12}
		if len(list) > 1 {
			s.Name = cmp.Or(e.Class, e.Target)
		}
		p.Series = append(p.Series, s)
	}
	p.Says = list.says()
	return p.SVG()
}

// bars has one for each level, of several classes one below the other.
func (list Effects) bars() string {
	first := list[0]
	b := svg.Bars{Title: "Effect of " + first.Input, Across: "mean " + first.Of, Says: list.says()}
	if name := cmp.Or(first.Class, first.Target); len(list) == 1 && name != "" {
		b.Across += " of " + name
	}
	for i, level := range first.Levels {
		for _, e := range list {
			name := level
			if len(list) > 1 {
				name += " · " + cmp.Or(e.Class, e.Target)
			}
			b.Names, b.Values, b.Labels = append(b.Names, name), append(b.Values, e.Mean[i]), append(b.Labels, digits(e.Mean[i], 3))
		}
	}
	return b.SVG()
}

// says is the picture in words.
func (list Effects) says() string {
	var said []string
	for _, e := range list {
		said = append(said, fmt.Sprintf("%s from %s to %s", cmp.Or(e.Class, e.Target, e.Of), digits(slices.Min(e.Mean), 4), digits(slices.Max(e.Mean), 4)))
	}
	return "Effect of " + list[0].Input + ": " + strings.Join(said, "; ")
}

// digits writes a number as a picture has room for it.
func digits(v float64, n int) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', n, 64), "-", "−", 1)
}
