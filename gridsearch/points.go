package gridsearch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bochner-ml/bochner/param"
)

// axes are those of a grid with their values as the estimator shows them.
type axes [][]param.Setting

// point is a place in the grid: the number of a value on each axis.
type point []int

// size is the number of points of the grid, which may be more than any integer holds.
func (a axes) size() float64 {
	size := 1.0
	for _, values := range a {
		size *= float64(len(values))
	}
	return size
}

// all returns every point, the last axis fastest.
func (a axes) all() []point {
	return product(a.indices())
}

// indices returns those of the values of each axis.
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

// product returns the points with the given values on each axis, the last axis fastest.
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

// draw returns n different points in the order of the grid, each as likely as any other. Of a grid that
// could be tried as a whole they are the first of a permutation; in a larger one each is drawn axis by
// axis, and one that is there already is drawn again.
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

// sampleDistinct draws n different points and returns them in the order of the grid.
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

// samplePoints returns the points that the search tries, at most so many of them, and their number in all. Of
// a grid with more than that there is a part whose axes have fewer values, the first and the last of
// each among them; of other points, every so many.
func (s Search) samplePoints(a axes, most int) (some []point, total int, errs param.FieldErrors) {
	size := a.size()
	random := s.Random > 0 && float64(s.Random) < size
	switch {
	case random && s.Random > MaxCandidates:
		return nil, 0, param.FieldErrors{{Path: "random", Value: s.Random, Constraint: fmt.Sprintf("at most the %d candidates that a search takes", MaxCandidates)}}
	case random:
		return evenlySpaced(a.draw(s.Random, s.Seed), most), s.Random, nil
	case size > MaxCandidates:
		return nil, 0, param.FieldErrors{{Path: "grid", Problem: fmt.Sprintf("%.0f candidates, more than the %d that a search takes; random tries some of them", size, MaxCandidates)}}
	}
	if int(size) <= most {
		return a.all(), int(size), nil
	}
	return a.coarsen(most), int(size), nil
}

// evenlySpaced returns at most so many of the points, the first and the last among them, at equal distances.
func evenlySpaced(list []point, most int) []point {
	if len(list) <= most {
		return list
	}
	out := make([]point, most)
	for i := range out {
		out[i] = list[i*(len(list)-1)/max(most-1, 1)]
	}
	return out
}

// coarsen returns the points of a grid with at most so many, which has every axis at fewer values: the
// longest axis loses half of them until there are few enough.
func (a axes) coarsen(most int) []point {
	kept := a.indices()
	size := func() float64 {
		n := 1.0
		for _, list := range kept {
			n *= float64(len(list))
		}
		return n
	}
	for size() > float64(most) {
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
