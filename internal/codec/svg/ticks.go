package svg

import (
	"math"
	"strconv"
)

// Axis is an axis of a plot.
type Axis struct {
	Name      string
	Log       bool
	Low, High float64  // minimum range; both 0 for the range of the values
	Labels    []string // category names at 0, 1, …; nil for numbers
}

// scale is an axis with its range and ticks.
type scale struct {
	Axis
	low, high float64 // of the values, or of their logarithms
	ticks     []float64
}

// newScale returns a scale over the values with a margin.
func newScale(a Axis, values []float64) scale {
	s := scale{Axis: a, low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range values {
		if at := s.transform(v); !math.IsNaN(at) && !math.IsInf(at, 0) {
			s.low, s.high = min(s.low, at), max(s.high, at)
		}
	}
	if a.Labels != nil {
		s.low, s.high = -0.5, float64(len(a.Labels))-0.5
		for k := range a.Labels {
			s.ticks = append(s.ticks, float64(k))
		}
		return s
	}
	if a.Low != 0 || a.High != 0 {
		s.low, s.high = min(s.low, s.transform(a.Low)), max(s.high, s.transform(a.High))
	}
	if !(s.low <= s.high) {
		s.low, s.high = 0, 1
	}
	if s.high-s.low <= 1e-9*max(math.Abs(s.low), math.Abs(s.high)) { // ticks need digits to differ in
		buffer := max(math.Abs(s.low)*0.1, 1e-9)
		if a.Log {
			buffer = 0.5
		}
		s.low, s.high = s.low-buffer, s.high+buffer
	}
	if a.Low == 0 && a.High == 0 {
		buffer := 0.04 * (s.high - s.low)
		s.low, s.high = s.low-buffer, s.high+buffer
	}
	if a.Log {
		s.ticks = logTicks(s.low, s.high)
	} else {
		s.ticks = ticks(s.low, s.high)
	}
	return s
}

// transform returns the position of a value on the axis.
func (s scale) transform(v float64) float64 {
	if s.Log {
		return math.Log10(v)
	}
	return v
}

// position returns the place of a value as a share of the axis.
func (s scale) position(v float64) float64 { return (s.transform(v) - s.low) / (s.high - s.low) }

// label returns the label of a tick.
func (s scale) label(tick float64) string {
	if s.Labels != nil {
		return s.Labels[int(tick)]
	}
	return formatTick(tick)
}

// formatTick writes a tick's value.
func formatTick(tick float64) string {
	if a := math.Abs(tick); a != 0 && (a >= 1e6 || a < 1e-4) {
		return strconv.FormatFloat(tick, 'g', 3, 64)
	}
	return strconv.FormatFloat(tick, 'f', -1, 64)
}

// ticks returns about four round numbers between low and high; none if the difference overflows.
func ticks(low, high float64) (out []float64) {
	if math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow10(int(math.Floor(math.Log10(high - low))))
	for _, part := range []float64{0.1, 0.2, 0.25, 0.5, 1} {
		if (high-low)/(step*part) <= 6 {
			step *= part
			break
		}
	}
	digits := math.Pow10(max(0, 2-int(math.Floor(math.Log10(step)))))
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		out = append(out, math.Round(k*step*digits)/digits+0) // + 0: no -0
	}
	return out
}

// logTicks returns powers of ten between two logarithms, and multiples by 2 and 5 if there are few.
func logTicks(low, high float64) (out []float64) {
	parts := []float64{1}
	switch {
	case high-low < 1.3:
		parts = []float64{1, 2, 5}
	case high-low < 2.2:
		parts = []float64{1, 3}
	}
	every := max(1, int(math.Ceil((high-low)/6)))
	for e := int(math.Floor(low)); float64(e) <= high; e++ {
		for _, p := range parts {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(p, 'f', -1, 64)+"e"+strconv.Itoa(e), 64)
			if l := math.Log10(v); l >= low-1e-9 && l <= high+1e-9 && e%every == 0 {
				out = append(out, v)
			}
		}
	}
	if len(out) < 2 { // within a factor of two
		for _, v := range ticks(math.Pow(10, low), math.Pow(10, high)) {
			if v > 0 {
				out = append(out, v)
			}
		}
	}
	return out
}
