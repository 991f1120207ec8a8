package evidence

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Constants of the coordinate search.
const (
	searchFactor = 3.0 // of s^p and of the ratio
	maxRepeats   = 4   // of an improving step
)

// Search runs a coordinate search over the groups of Product and the ratio: it tries the factors 0, 1/3
// and 3 of each s_g^p, and 1/3 and 3 of the ratio, repeats the better of the latter two while it lowers
// J, and ends after the given number of sweeps or a sweep without a change. A scale becomes 0 unless it
// lowers J by more than ½·log n, as in the Bayesian information criterion; a scale of 0 is tried again
// at its initial value. At least one remains above 0. The search ends as [Exact.Minimize] does.
func (e Exact) Search(ctx context.Context, start Point, sweeps int) (Result, error) {
	o := newExact(e)
	point, lower, upper := e.region(start)
	s := newSearch(o, point)
	s.lower, s.upper, s.initial = lower, upper, slices.Clone(point)
	var err error
	if s.best, err = s.try(ctx, 0, point[0]); err != nil {
		return Result{}, err
	}
	out := Result{}
	for changed := true; changed && out.Steps < sweeps; out.Steps++ {
		changed = false
		for j := range point {
			moved, err := s.coordinate(ctx, j)
			if err != nil {
				return Result{}, err
			}
			changed = changed || moved
		}
	}
	if err := s.prune(ctx); err != nil {
		return Result{}, err
	}
	last := len(point) - 1
	out.Value, out.AtMinNoise = s.best, lower[last] < upper[last] && point[last] <= lower[last]
	return out, o.finish(ctx, point, &out)
}

// search is the state of a coordinate search.
type search struct {
	*exact
	point, initial, lower, upper []float64
	best                         float64 // J at the point
	parsimony                    float64 // decrease of J that a nonzero scale must bring
}

func newSearch(o *exact, point []float64) *search {
	return &search{exact: o, point: point, parsimony: math.Log(float64(o.n)) / 2}
}

// prune sets scales to 0 that do not lower J by more than ½·log n, those of small mean distances first.
func (s *search) prune(ctx context.Context) error {
	p := s.Product
	weights, order := p.weights(s.point), make([]int, len(p.groups))
	for g, d := range p.groups {
		weights[g], order[g] = weights[g]*d.center, g
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	for _, g := range order {
		if err := s.drop(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// drop sets the scale of a group to 0 unless it lowers J by more than ½·log n.
func (s *search) drop(ctx context.Context, g int) error {
	others := 0
	for k, u := range s.point[:len(s.point)-1] {
		if k != g && !math.IsInf(u, -1) {
			others++
		}
	}
	if math.IsInf(s.point[g], -1) || others == 0 {
		return nil
	}
	value, err := s.try(ctx, g, math.Inf(-1))
	if err == nil && value <= s.best+s.parsimony {
		s.best, s.point[g] = value, math.Inf(-1)
	}
	return err
}

// try returns J with another value of coordinate j.
func (s *search) try(ctx context.Context, j int, u float64) (float64, error) {
	before := s.point[j]
	s.point[j] = u
	value, ok, err := s.value(ctx, s.point)
	s.point[j] = before
	if !ok || value-value != 0 {
		value = math.Inf(1)
	}
	return value, err
}

// coordinate moves coordinate j and reports whether it has changed.
func (s *search) coordinate(ctx context.Context, j int) (bool, error) {
	before, isScale := s.point[j], j < len(s.point)-1
	if math.IsInf(before, -1) {
		value, err := s.try(ctx, j, s.initial[j])
		if err == nil && value < s.best-s.parsimony {
			s.best, s.point[j] = value, s.initial[j]
		}
		return s.point[j] != before, err
	}
	step := math.Log(searchFactor)
	if isScale {
		step /= s.Product.power(j)
	}
	for _, step := range []float64{-step, step} {
		for range maxRepeats {
			u := min(max(s.point[j]+step, s.lower[j]), s.upper[j])
			if u == s.point[j] {
				break
			}
			value, err := s.try(ctx, j, u)
			if err != nil {
				return false, err
			}
			if !(value < s.best-minDecrease) {
				break
			}
			s.best, s.point[j] = value, u
		}
		if s.point[j] != before {
			break
		}
	}
	if isScale {
		if err := s.drop(ctx, j); err != nil {
			return false, err
		}
	}
	return s.point[j] != before, nil
}
