package evidence

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Constants of the coordinate search.
const (
	searchFactor = 3.0 // of s^p and of the ratio
	maxRepeats   = 4   // of an improving step
)

// Search runs a coordinate search over the scales of Product and the ratio: it tries the factors 0, 1/3
// and 3 of each s_g^p, and 1/3 and 3 of the ratio, repeats the better of the latter two while it lowers
// J, and ends after the given number of sweeps or a sweep without a change. A scale becomes 0 unless it
// lowers J by more than ½·log n, as in the Bayesian information criterion; a scale of 0 is tried again
// at its initial value. At least one remains above 0. The search ends as [Exact.Minimize] does.
//
// With enough rows all sweeps but the last use the first half of the rows, at an eighth of the cost.
// With at least as many held-out rows as rows, only the errors of the former count: leave-one-out
// errors cost n³ more.
func (e Exact) Search(ctx context.Context, start Point, sweeps int) (Result, error) {
	point, lower, upper := e.region(start)
	initial, steps := slices.Clone(point), 0
	if half := e.head(e.Product.n / 2); half.Product.n >= minSearchRows && sweeps > 1 {
		s := search{exact: newExact(half), point: point, initial: initial, lower: lower, upper: upper}
		if err := s.sweep(ctx, sweeps-1, &steps); err != nil {
			return Result{}, err
		}
		sweeps = 1
	}
	s := search{exact: newExact(e), point: point, initial: initial, lower: lower, upper: upper}
	if err := s.sweep(ctx, sweeps, &steps); err != nil {
		return Result{}, err
	}
	if err := s.prune(ctx); err != nil {
		return Result{}, err
	}
	last := len(point) - 1
	out := Result{Value: s.best, Steps: steps, AtMinNoise: lower[last] < upper[last] && point[last] <= lower[last]}
	return out, s.finish(ctx, point, &out)
}

// minSearchRows is the minimum number of rows of the first sweeps.
const minSearchRows = 500

// head returns the problem of the first n rows.
func (e Exact) head(n int) Exact {
	e.Product = e.Product.head(n)
	e.Y = e.Y.Slice(0, n, 0, e.Y.RawMatrix().Cols).(*mat.Dense)
	return e
}

// search is the state of a coordinate search.
type search struct {
	*exact
	point, initial, lower, upper []float64
	best                         float64 // J at the point
	parsimony                    float64 // decrease of J that a nonzero scale must bring
}

// sweep makes at most the given number of sweeps, which it adds to steps, and ends after one without a change.
func (s *search) sweep(ctx context.Context, sweeps int, steps *int) (err error) {
	s.parsimony = math.Log(float64(s.n)) / 2
	if s.best, err = s.try(ctx, 0, s.point[0]); err != nil {
		return err
	}
	for changed := true; changed && sweeps > 0; sweeps-- {
		changed = false
		for j := range s.point {
			moved, err := s.coordinate(ctx, j)
			if err != nil {
				return err
			}
			changed = changed || moved
		}
		*steps++
	}
	return nil
}

// prune sets scales to 0 that do not lower J by more than ½·log n, those of small mean distances first.
func (s *search) prune(ctx context.Context) error {
	p := s.Product
	powers := p.powers(s.point)
	weights, order := make([]float64, len(p.scales)), make([]int, len(p.scales))
	for k, g := range p.scales {
		weights[k], order[k] = powers[g]*p.groups[g].center, k
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
		step /= s.Product.power(s.Product.scales[j])
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
