package newton

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/kern"
)

// pairs are directions s of conjugate gradients of one problem, and what the Hessian has made of them, y. Those of the last steps improve the
// preconditioner M of the next one, whose Hessian is much the same, by the rule of Broyden, Fletcher, Goldfarb and Shanno: as if
// M⁻¹ had been all that is known of the inverse before these pairs were seen. So where M is wrong, which one step has found out,
// the next one need not find out again.
// (Morales & Nocedal, SIAM J. Optim. 10, 2000; Nocedal & Wright, Numerical Optimization, algorithm 7.4.)
type pairs struct {
	list []pair
	used int     // of these, since others are of a run that has one preconditioner
	mass float64 // all curvatures of the rows where the Hessian is at
}

type pair struct {
	s, y []float64
	rho  float64 // 1/s'y
}

// mostPairs is how many are used, and of a run kept for the next one.
const mostPairs = 12

// PairNumbers is how many numbers the pairs of a problem of so many features are at most.
func PairNumbers(width int) int64 { return 2 * 2 * mostPairs * int64(width+1) }

// add notes a pair, for later steps.
func (a *pairs) add(s, y []float64) {
	curvature := kern.Dot(s, y)
	if !(curvature > 0) {
		return
	}
	if len(a.list) == a.used+mostPairs {
		a.list = slices.Delete(a.list, a.used, a.used+1)
	}
	a.list = append(a.list, pair{s, y, 1 / curvature})
}

// turn has pairs be used from now on, as many as are kept.
func (a *pairs) turn() {
	a.list = slices.Delete(a.list, 0, max(0, len(a.list)-mostPairs))
	a.used = len(a.list)
}

// move says what all curvatures of the rows are where the problem has moved to: pairs of another Hessian would mislead.
func (a *pairs) move(mass float64) {
	if !(math.Abs(mass-a.mass) <= apart*a.mass) {
		a.list, a.used = nil, 0
	}
	a.mass = mass
}

// before takes from v what the pairs know, which it returns for after: M⁻¹ is for what is left.
func (a *pairs) before(v []float64) []float64 {
	shares := make([]float64, a.used)
	for k := a.used - 1; k >= 0; k-- {
		p := &a.list[k]
		shares[k] = p.rho * kern.Dot(p.s, v)
		kern.Axpy(-shares[k], p.y, v)
	}
	return shares
}

// after adds it.
func (a *pairs) after(v, shares []float64) {
	for k, share := range shares {
		p := &a.list[k]
		kern.Axpy(share-p.rho*kern.Dot(p.y, v), p.s, v)
	}
}
