package gridsearch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// axes contains the values of each axis, as the parameters represent them.
type axes [][]param.Setting

// point is a grid point: the index of the value on each axis.
type point []int

// size returns the number of grid points, which may exceed the range of integers.
func (a axes) size() float64 {
	size := 1.0
	for _, values := range a {
		size *= float64(len(values))
	}
	return size
}

// all returns all points; the last axis varies fastest.
func (a axes) all() []point {
	return product(a.indices())
}

// indices returns the indices of the values of each axis.
func (a axes) indices() [][]int {
	out := make([][]int, len(a))
	for k, values := range a {
		out[k] = make([]int, len(values))
		for i := range values {
			out[k][i] = i
		}
	}
	return out
}

// product returns the Cartesian product of indices; the last axis varies fastest.
func product(values [][]int) []point {
	n := 1
	for _, list := range values {
		n *= len(list)
	}
	out, width := make([]point, n), len(values)
	digits := make([]int, n*width)
	for i := range out {
		p, rest := digits[i*width:(i+1)*width], i
		for k := width - 1; k >= 0; k-- {
			p[k] = values[k][rest%len(values[k])]
			rest /= len(values[k])
		}
		out[i] = p
	}
	return out
}

// draw returns n distinct points, uniformly without replacement, in grid order: for small grids the
// start of a random permutation, for large ones by rejection of duplicates.
func (a axes) draw(n int, seed uint64) []point {
	rng := rand.New(rand.NewPCG(seed, candidateStream))
	if size := a.size(); size <= MaxCandidates {
		list, all := rng.Perm(int(size))[:n], a.all()
		slices.Sort(list)
		out := make([]point, n)
		for k, i := range list {
			out[k] = all[i]
		}
		return out
	}
	return a.sampleDistinct(n, rng)
}

// sampleDistinct draws n distinct points and returns them in grid order.
func (a axes) sampleDistinct(n int, rng *rand.Rand) []point {
	seen := make(map[string]bool, n)
	out := make([]point, 0, n)
	for len(out) < n {
		p, key := make(point, len(a)), make([]byte, 0, 3*len(a))
		for k, values := range a {
			p[k] = rng.IntN(len(values))
			key = binary.AppendUvarint(key, uint64(p[k]))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, p)
		}
	}
	slices.SortFunc(out, slices.Compare[point])
	return out
}

// samplePoints returns at most maxPoints of the points of the search, and their total number. A larger
// grid is coarsened, with the first and last value of each axis; other points are evenly spaced.
func (s Search) samplePoints(a axes, maxPoints int) (some []point, total int, errs param.FieldErrors) {
	size := a.size()
	random := s.Random > 0 && float64(s.Random) < size
	switch {
	case random && s.Random > MaxCandidates:
		return nil, 0, param.FieldErrors{{Path: "random", Value: s.Random,
			Constraint: fmt.Sprintf("at most the %d candidates that a search takes", MaxCandidates)}}
	case random:
		return evenlySpaced(a.draw(s.Random, s.Seed), maxPoints), s.Random, nil
	case size > MaxCandidates:
		return nil, 0, param.FieldErrors{{Path: "grid",
			Problem: fmt.Sprintf("%.0f candidates, more than the %d that a search takes; random tries some of them", size,
				MaxCandidates)}}
	}
	if int(size) <= maxPoints {
		return a.all(), int(size), nil
	}
	return a.coarsen(maxPoints), int(size), nil
}

// evenlySpaced returns at most maxPoints of the points, evenly spaced, with the first and the last.
func evenlySpaced(list []point, maxPoints int) []point {
	if len(list) <= maxPoints {
		return list
	}
	out := make([]point, maxPoints)
	for i := range out {
		out[i] = list[i*(len(list)-1)/max(maxPoints-1, 1)]
	}
	return out
}

// coarsen returns the points of a coarser grid of at most maxPoints points: it halves the longest axis
// until the size suffices.
func (a axes) coarsen(maxPoints int) []point {
	kept := a.indices()
	size := func() float64 {
		n := 1.0
		for _, list := range kept {
			n *= float64(len(list))
		}
		return n
	}
	for size() > float64(maxPoints) {
		longest := 0
		for k := range kept {
			if len(kept[k]) > len(kept[longest]) {
				longest = k
			}
		}
		list := kept[longest]
		fewer := (len(list) + 1) / 2
		out := []int{list[len(list)-1]}
		for i := range fewer - 1 {
			out = append(out, list[i*(len(list)-1)/(fewer-1)])
		}
		slices.Sort(out)
		kept[longest] = out
	}
	return product(kept)
}
