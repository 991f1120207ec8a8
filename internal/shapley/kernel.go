package shapley

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// lanes is the number of terms that are processed together.
const lanes = len(kern.Block{})

// workspace holds the intermediate results for one pair of rows and some terms.
type workspace struct {
	*kern.LeaveOneOut
	rules
}

func newWorkspace(inputs int) workspace {
	return workspace{kern.NewLeaveOneOut(inputs), newRules(inputs)}
}

// cosines computes, for the changed inputs l in ascending order,
//
//	sin(θ_l/2)·∫ Π_{m≠l} (cos(θ_m/2) + i·s·sin(θ_m/2)) ds/2 over [−1, 1]
//
// with the sines and cosines of h_l/2 of all inputs for two rows, x and z.
func (w workspace) cosines(changed []int, x, z []kern.BlockPair) {
	squares, sum, largest := w.RotationFactors(changed, x, z)
	worstSquares, worstSines := 0.0, 0.0
	for k := range lanes {
		if squares[k] > worstSquares {
			worstSquares = squares[k]
		}
		if sines := math.Abs(sum[k]) + largest[k]; sines > worstSines {
			worstSines = sines
		}
	}
	w.Rotations(w.of(w.even, rotationNodes(len(changed), worstSquares, worstSines)))
}

// products computes, for the changed inputs l in ascending order,
//
//	(p_l − q_l)/2·∫ Π_{m≠l} (q_m + t·(p_m − q_m)) dt over [0, 1]
//
// with the factors p and q of two rows.
func (w workspace) products(changed []int, p, q []kern.Block) {
	w.ProductFactors(changed, p, q)
	nodes := (len(changed) + 1) / 2
	if nodes > fewNodes {
		ratios := w.SumRatios()
		nodes = productNodes(len(changed), slices.Max(ratios[:]))
	}
	w.Products(w.of(w.full, nodes))
}

// fewNodes is a number of nodes that costs less than SumRatios.
const fewNodes = 7

// common returns the product of the factors of the inputs that are not among the changed ones.
func common(changed []int, p []kern.Block) kern.Block {
	var out kern.Block
	for k := range out {
		out[k] = 1
	}
	if len(changed) == len(p) {
		return out
	}
	for input := range p {
		if len(changed) > 0 && changed[0] == input {
			changed = changed[1:]
			continue
		}
		for k := range out {
			out[k] *= p[input][k]
		}
	}
	return out
}
