package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/bench/internal/page"
	"github.com/bochner-ml/bochner/internal/svg"
)

// places are those of the curves and of the specs on a page.
func places(file string) (curves, specs page.Place) {
	const command = "go run ./bench/curves"
	return page.Place{File: file, Command: command}, page.Place{File: file, Command: command + " -specs"}
}

// dated says above a text where and when it was measured.
func dated(text string) string {
	return fmt.Sprintf("%d threads, %s/%s, %s; %s.\n\n%s\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), time.Now().Format("2006-01-02 15:04"), text)
}

// table has a line for each estimator: where its curves begin, their exponents, and what plans say of all points.
func table(list []curves) string {
	var b strings.Builder
	b.WriteString("| estimator | n, D, k | s | MiB | n | D | d | k | candidates | cores | MiB with n | planned / measured: base, all |\n" + strings.Repeat("|---", 12) + "|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %d, %s, %d | %.2g | %.0f |", c.name, c.work.base.Rows, width(c.work), c.work.base.Outputs, c.base.Seconds, c.base.Peak)
		for _, axis := range axes {
			fmt.Fprintf(&b, " %s |", c.exponent(axis, func(m measured) float64 { return m.Seconds }))
		}
		least, most := c.ratios()
		fmt.Fprintf(&b, " %s | %.2f, %.2f–%.2f |\n", c.exponent("n", func(m measured) float64 { return m.Peak }), c.base.Planned/c.base.Seconds, least, most)
	}
	return b.String()
}

func width(w work) string {
	if w.narrow {
		return "–"
	}
	return fmt.Sprint(w.base.Width)
}

// exponent is how fast something grows along an axis, at its upper end; of cores it is how many times faster the most are.
func (c curves) exponent(axis string, of func(measured) float64) string {
	var x, y []float64
	for i, p := range c.points[axis] {
		x, y = append(x, p.value(axis)), append(y, of(c.times[axis][i]))
	}
	if len(y) > 1 && axis == "cores" {
		return fmt.Sprintf("%.2f×", y[0]/y[len(y)-1])
	}
	if e := slope(x, y); !math.IsNaN(e) && !math.IsInf(e, 0) {
		return fmt.Sprintf("%.1f", e)
	}
	return "–"
}

// ratios are the least and the most of what is planned, by what was measured, of fits that take longer than a moment.
func (c curves) ratios() (least, most float64) {
	const moment = 0.02
	least, most = math.Inf(1), 0
	for _, list := range c.times {
		for _, m := range list {
			if r := m.Planned / m.Seconds; m.Seconds >= moment {
				least, most = min(least, r), max(most, r)
			}
		}
	}
	return min(least, c.base.Planned/c.base.Seconds), max(most, c.base.Planned/c.base.Seconds)
}

// picture has a panel for each estimator, with the seconds against rows, widths, inputs, outputs and candidates; axes are
// logarithmic, and the same in all.
func picture(list []curves) string {
	const columns = 4
	l := svg.Lines{Title: "Seconds of a fit of each estimator, as one thing grows", Across: "times its least value"}
	for i, axis := range []string{"n", "D", "d", "k", "candidates"} {
		color := []string{"#2f6fb3", "#c7551b", "#2f855a", "#8a4fae", "#7b8694"}[i]
		l.Styles = append(l.Styles, svg.Style{Name: axis, Color: color, Dashed: axis == "candidates"})
	}
	for i, c := range list {
		panel := svg.Panel{Title: c.name}
		for style, axis := range l.Styles {
			line := svg.Line{Style: style}
			for k, p := range c.points[axis.Name] {
				line.X, line.Y = append(line.X, p.value(axis.Name)/c.points[axis.Name][0].value(axis.Name)), append(line.Y, c.times[axis.Name][k].Seconds)
			}
			if len(line.X) > 0 {
				panel.Lines = append(panel.Lines, line)
			}
		}
		if i%columns == 0 {
			l.Panels = append(l.Panels, nil)
		}
		l.Panels[i/columns] = append(l.Panels[i/columns], panel)
	}
	return svg.LinesPicture(l)
}
