// Package conformal computes prediction intervals and sets with distribution-free coverage, for
// rows that are exchangeable with those of the calibration.
//
// Of n+1 exchangeable numbers the last is at most the k-th smallest of the others, k =
// ⌈level·(n+1)⌉, with a probability of at least level. [Rank] returns k, or an error if n is too
// small for the level, where only an unbounded interval has the coverage.
package conformal

import (
	"fmt"
	"math"
)

// Rank returns k = ⌈level·(n+1)⌉: the k-th smallest of n numbers is an upper bound of a new one
// with at least the probability level. It returns an error if k > n.
func Rank(n int, level float64) (k int, err error) {
	if err := Check(level); err != nil {
		return 0, err
	}
	const slack = 1e-9 // of a product that rounding moves off an integer
	k = max(1, int(math.Ceil(level*float64(n+1)-slack)))
	if k > n {
		return 0, fmt.Errorf("level %v takes %d rows with residuals or more, and there are %d", level, Least(level), n)
	}
	return k, nil
}

// Least returns the smallest n that a level has a rank in.
func Least(level float64) int {
	n := max(1, int(level/(1-level)))
	for math.Ceil(level*float64(n+1)-1e-9) > float64(n) {
		n++
	}
	return n
}

// Check reports a level that is none.
func Check(level float64) error {
	if level > 0 && level < 1 {
		return nil
	}
	return fmt.Errorf("level must be a number between 0 and 1, got %v", level)
}

// Select returns the k-th smallest of list, from 1, and puts list into another order. It costs about 3·len(list)
// comparisons. (Hoare, CACM 1961.)
func Select(list []float64, k int) float64 {
	lo, hi, at := 0, len(list)-1, k-1
	for lo < hi {
		pivot := median(list[lo], list[(lo+hi)/2], list[hi])
		i, j := lo, hi
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case at <= j:
			hi = j
		case at >= i:
			lo = i
		default:
			return list[at]
		}
	}
	return list[at]
}

func median(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// Jackknife contains the leave-one-out predictions of a model: for each row i of n the residual r_i
// = y_i − f₋ᵢ(x_i) of the model f₋ᵢ fitted to the other rows.
type Jackknife struct {
	Residuals    []float64
	rank         int
	lower, upper []float64 // workspace
}

// NewJackknife prepares for intervals at a level. It keeps residuals.
func NewJackknife(residuals []float64, level float64) (*Jackknife, error) {
	k, err := Rank(len(residuals), level)
	if err != nil {
		return nil, err
	}
	n := len(residuals)
	return &Jackknife{Residuals: residuals, rank: k, lower: make([]float64, n), upper: make([]float64, n)}, nil
}

// Plus returns the ends of the interval of the jackknife+ where f(x) is center and f₋ᵢ(x) = f(x) − l_i·r_i:
//
//	[(n+1−k)-th smallest of f₋ᵢ(x) − |r_i|,  k-th smallest of f₋ᵢ(x) + |r_i|]
//
// With k = ⌈(1−α)(n+1)⌉ a new target is in it with a probability of at least 1 − 2α, and nearly 1 − α where the
// model changes little with a row. (Barber, Candès, Ramdas & Tibshirani, Annals of Statistics 2021.)
func (j *Jackknife) Plus(center float64, l []float64) (lower, upper float64) {
	for i, r := range j.Residuals {
		without, off := center-l[i]*r, math.Abs(r)
		j.lower[i], j.upper[i] = without-off, without+off
	}
	n := len(j.Residuals)
	return Select(j.lower, n+1-j.rank), Select(j.upper, j.rank)
}
