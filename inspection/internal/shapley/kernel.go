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
// with the sines and cosines of h_l/2 of all inputs for two rows, x and z, and likewise for pairs.
func (w workspace) cosines(changed []int, x, z []kern.BlockPair, pairs bool) {
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
	nodes := w.of(w.even, rotationNodes(len(changed), worstSquares, worstSines))
	w.Rotations(nodes)
	if pairs {
		w.RotationPairs(nodes)
	}
}

// products computes, for the changed inputs l in ascending order,
//
//	(p_l − q_l)/2·∫ Π_{m≠l} (q_m + t·(p_m − q_m)) dt over [0, 1]
//
// with the factors p and q of two rows, and likewise for pairs.
func (w workspace) products(changed []int, p, q []kern.Block, pairs bool) {
	w.ProductFactors(changed, p, q)
	count := (len(changed) + 1) / 2
	if count > minRatioNodes {
		ratios := w.SumRatios()
		count = productNodes(len(changed), slices.Max(ratios[:]))
	}
	nodes := w.of(w.full, count)
	w.Products(nodes)
	if pairs {
		w.ProductPairs(nodes)
	}
}

// minRatioNodes is the number of nodes above which SumRatios is faster.
const minRatioNodes = 7

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
