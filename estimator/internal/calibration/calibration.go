// Package calibration fits maps from classifier scores to probabilities. A nil list of weights
// stands for ones; rows of weight 0 are ignored.
package calibration

import (
	"cmp"
	"math"
	"slices"
)

// Sigmoid returns a and b of 1/(1 + exp(a·score + b)), the probability of a positive row, that
// maximize the likelihood of Platt's smoothed targets: (N₊+1)/(N₊+2) for positive rows and 1/(N₋+2)
// for negative ones, where N is their weight. It uses Newton's method with a line search. (Platt
// 1999; Lin, Lin & Weng, Machine Learning 2007.)
func Sigmoid(score []float64, positive []bool, weights []float64) (a, b float64) {
	return newSmoothed(score, positive, weights).solve()
}

func (s *smoothed) solve() (a, b float64) {
	a, b = 0, math.Log((s.others+1)/(s.positives+1))
	value := s.value(a, b)
	for range 200 {
		ga, gb, haa, hab, hbb := s.derivatives(a, b)
		if math.Abs(ga)*s.size+math.Abs(gb) <= 1e-13*(s.positives+s.others) {
			break
		}
		haa, hbb = haa*(1+1e-12)+math.SmallestNonzeroFloat64, hbb*(1+1e-12)+math.SmallestNonzeroFloat64
		determinant := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/determinant, -(haa*gb-hab*ga)/determinant
		slope := ga*da + gb*db
		if !(slope < 0) || math.IsInf(slope, 0) {
			break
		}
		if -slope <= 1e-12*value { // so close that a full step is accurate up to rounding, which a line search cannot resolve
			return a + da, b + db
		}
		step := 1.0
		for ; step > 1e-12; step /= 2 {
			if next := s.value(a+step*da, b+step*db); next <= value+1e-4*step*slope {
				value = next
				break
			}
		}
		if step <= 1e-12 {
			break
		}
		a, b = a+step*da, b+step*db
	}
	return a, b
}

// smoothed are scores with Platt's targets.
type smoothed struct {
	score, target, weight []float64
	positives, others     float64
	size                  float64 // of the largest score
	passes                int     // number of passes to compute the likelihood
}

func newSmoothed(score []float64, positive []bool, weights []float64) *smoothed {
	s := &smoothed{}
	for i, v := range score {
		w := weightOf(weights, i)
		if w == 0 {
			continue
		}
		if s.score, s.weight = append(s.score, v), append(s.weight, w); positive[i] {
			s.positives += w
		} else {
			s.others += w
		}
		s.target = append(s.target, 0)
		s.size = max(s.size, math.Abs(v))
		if positive[i] {
			s.target[len(s.target)-1] = 1
		}
	}
	for i, t := range s.target {
		if t == 1 {
			s.target[i] = (s.positives + 1) / (s.positives + 2)
		} else {
			s.target[i] = 1 / (s.others + 2)
		}
	}
	return s
}

// value is the negative log likelihood.
func (s *smoothed) value(a, b float64) (sum float64) {
	s.passes++
	for i, v := range s.score {
		f := a*v + b // p = 1/(1 + exp(f))
		if f >= 0 {
			sum += s.weight[i] * (s.target[i]*f + math.Log1p(math.Exp(-f)))
		} else {
			sum += s.weight[i] * ((s.target[i]-1)*f + math.Log1p(math.Exp(f)))
		}
	}
	return sum
}

func (s *smoothed) derivatives(a, b float64) (ga, gb, haa, hab, hbb float64) {
	for i, v := range s.score {
		p, q := Logistic(-(a*v + b)), Logistic(a*v+b)
		d, h := s.weight[i]*(s.target[i]-p), s.weight[i]*p*q
		ga, gb = ga+d*v, gb+d
		haa, hab, hbb = haa+h*v*v, hab+h*v, hbb+h
	}
	return ga, gb, haa, hab, hbb
}

// Logistic is 1/(1 + exp(−v)).
func Logistic(v float64) float64 {
	if v >= 0 {
		return 1 / (1 + math.Exp(-v))
	}
	e := math.Exp(v)
	return e / (1 + e)
}

// Isotonic returns the isotonic regression of the positive fraction on the score by the
// pool-adjacent-violators algorithm (Ayer et al. 1955): values at ascending knots, between which
// [monotone.Interpolate] interpolates linearly.
func Isotonic(score []float64, positive []bool, weights []float64) (knots, values []float64) {
	blocks := pooled(grouped(score, positive, weights))
	for _, b := range blocks {
		knots, values = append(knots, b.first), append(values, b.mean)
		if b.last != b.first {
			knots, values = append(knots, b.last), append(values, b.mean)
		}
	}
	return knots, values
}

// block is scores that have one value.
type block struct{ first, last, mean, weight float64 }

// grouped returns a block for each distinct score, ascending.
func grouped(score []float64, positive []bool, weights []float64) (out []block) {
	order := make([]int, 0, len(score))
	for i := range score {
		if weightOf(weights, i) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(score[i], score[j]) })
	for _, i := range order {
		if len(out) == 0 || out[len(out)-1].first != score[i] {
			out = append(out, block{first: score[i], last: score[i]})
		}
		b := &out[len(out)-1]
		w, y := weightOf(weights, i), 0.0
		if positive[i] {
			y = 1
		}
		b.weight += w
		b.mean += (y - b.mean) * w / b.weight
	}
	return out
}

// pooled joins neighbors until their values rise.
func pooled(blocks []block) (out []block) {
	for _, b := range blocks {
		for len(out) > 0 && out[len(out)-1].mean >= b.mean {
			last := out[len(out)-1]
			out = out[:len(out)-1]
			sum := last.weight + b.weight
			b = block{first: last.first, last: b.last, mean: last.mean + (b.mean-last.mean)*b.weight/sum, weight: sum}
		}
		out = append(out, b)
	}
	return out
}

// Temperature returns the factor β ≥ 0 on scores, rows × classes, by which softmax(β·scores) has the least
// log loss: Newton's method, kept within bounds, for a convex function of one number. (Guo et al., ICML
// 2017, where 1/β is the temperature.)
func Temperature(scores []float64, classes int, class []int, weights []float64) (beta float64) {
	size := 0.0
	for i := range class {
		row := scores[i*classes : (i+1)*classes]
		if weightOf(weights, i) > 0 {
			size = max(size, slices.Max(row)-slices.Min(row))
		}
	}
	if size == 0 {
		return 1
	}
	low, high := 0.0, 1e6/size // separable scores have an infinite optimum
	beta = min(1, high/2)
	for range 200 {
		slope, curve := temperatureSlope(scores, classes, class, weights, beta)
		if slope > 0 {
			high = beta
		} else {
			low = beta
		}
		next := beta - slope/curve
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-beta) <= 1e-14*beta || next == beta {
			return next
		}
		beta = next
	}
	return beta
}

// temperatureSlope returns the first two derivatives of the log loss by β.
func temperatureSlope(scores []float64, classes int, class []int, weights []float64, beta float64) (slope,
	curve float64) {
	for i, c := range class {
		w := weightOf(weights, i)
		if w == 0 {
			continue
		}
		row := scores[i*classes : (i+1)*classes]
		largest, sum, mean, square := slices.Max(row), 0.0, 0.0, 0.0
		for _, v := range row {
			p := math.Exp(beta * (v - largest))
			sum, mean, square = sum+p, mean+p*(v-largest), square+p*(v-largest)*(v-largest)
		}
		mean, square = mean/sum, square/sum
		slope += w * (mean - (row[c] - largest))
		curve += w * (square - mean*mean)
	}
	return slope, curve
}

// Softmax writes softmax(β·row) to dst.
func Softmax(dst, row []float64, beta float64) {
	largest, sum := slices.Max(row), 0.0
	for j, v := range row {
		dst[j] = math.Exp(beta * (v - largest))
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
}

func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}
