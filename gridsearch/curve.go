package gridsearch

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// CurvePoint is the best result for one value of a numeric axis.
type CurvePoint struct {
	Value    float64
	Best     int     // index of the best candidate with this value
	Mean     float64 // its mean score
	StdError float64 // standard error of the mean over the folds; NaN with one fold
}

// Curve returns the best score for each value of a numeric axis, in ascending order: for
// "rff.features", the score against D. Values whose candidates all failed are omitted.
func (r *Result) Curve(path string) ([]CurvePoint, error) {
	var out []CurvePoint
	var paths []string
	for i, c := range r.Candidates {
		paths = paths[:0]
		for _, s := range c.Settings {
			paths = append(paths, s.Path)
			if s.Path != path {
				continue
			}
			v, ok := number(s.Value)
			if !ok {
				return nil, fmt.Errorf("gridsearch: %s must have numeric values, got %s", path, formatValue(s.Value))
			}
			if c.Failed == "" {
				out = r.addPoint(out, CurvePoint{Value: v, Best: i, Mean: c.Mean,
					StdError: c.Std / math.Sqrt(float64(len(c.Folds)-1))})
			}
		}
		if !slices.Contains(paths, path) {
			return nil, fmt.Errorf("gridsearch: axis must be one of %[2]s, got %[1]s", path, strings.Join(paths, ", "))
		}
	}
	slices.SortFunc(out, func(a, b CurvePoint) int {
		if a.Value < b.Value {
			return -1
		}
		return 1
	})
	return out, nil
}

// addPoint adds a point, or replaces a worse one of the same value.
func (r *Result) addPoint(points []CurvePoint, p CurvePoint) []CurvePoint {
	for k := range points {
		if points[k].Value == p.Value {
			if r.better(p.Mean, points[k].Mean) {
				points[k] = p
			}
			return points
		}
	}
	return append(points, p)
}

func (r *Result) better(a, b float64) bool {
	if r.GreaterIsBetter {
		return a > b
	}
	return a < b
}

// Plateau returns the first point of a curve from which on all means are within one standard error
// of the best. ok is false if only the last point is, so that larger values may improve the score,
// and for fewer than two points.
func (r *Result) Plateau(curve []CurvePoint) (point CurvePoint, ok bool) {
	if len(curve) < 2 {
		return point, false
	}
	best := curve[0]
	for _, p := range curve {
		if r.better(p.Mean, best.Mean) {
			best = p
		}
	}
	slack := best.StdError
	if slack-slack != 0 {
		slack = 0
	}
	limit := best.Mean + slack
	if r.GreaterIsBetter {
		limit = best.Mean - slack
	}
	at := len(curve) - 1
	if r.better(limit, curve[at].Mean) { // the largest value is worse
		return best, true
	}
	for at > 0 && !r.better(limit, curve[at-1].Mean) {
		at--
	}
	return curve[at], at < len(curve)-1
}
