package shapley

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

const (
	maxBatchNumbers = 1 << 20 // of a batch of rows to predict
	blockHybrids    = 1 << 15 // approximate number of predictions of a round
	minFreedom      = 30      // minimum degrees of freedom of a standard error that ends sampling
)

// SampleOptions configures [Sample].
type SampleOptions struct {
	// Precision is the standard error at which the sampling of a row ends, relative to the standard deviation of the
	// output over the background.
	Precision float64
	MaxRounds int // at least 2
	Seed      uint64
}

// Sample estimates the values of the rows of X by antithetic permutation sampling. A round draws,
// for each background row, a permutation of the inputs that differ, and replaces them in this order
// and in the opposite one; the estimate is the mean change of the output. Every round includes
// every background row, so that the values of a row sum exactly to f(x) − base. Standard errors
// follow from the variance over rounds for the same background row: they are those of the drawn
// permutations for the given background, not of its choice. Sampling ends early only when they have
// minFreedom degrees of freedom: to stop at the first small one of few would bias them.
//
// Each row and round has its own random stream, so that the result does not depend on GOMAXPROCS.
// Cost: up to 2·(inputs − 1) predictions for each row, background row and round.
//
// Source: Mitchell, Cooper, Frank and Holmes, "Sampling permutations for Shapley value estimation",
// Journal of Machine Learning Research 23, 2022.
func Sample(ctx context.Context, f Function, X *mat.Dense, background Background, inputs Inputs,
	o SampleOptions) (Values, error) {
	atBackground, err := f(ctx, background.X)
	if err != nil {
		return Values{}, err
	}
	atRows, err := f(ctx, X)
	if err != nil {
		return Values{}, err
	}
	n, _ := X.Dims()
	count, outputs := atBackground.Dims()
	s := &sampler{f: f, X: X, background: background, inputs: inputs, o: o, outputs: outputs, atRows: atRows,
		atBackground: atBackground, out: newValues(n, inputs.Count, outputs)}
	s.out.Rows.Copy(atRows)
	squares := 0.0
	for _, w := range background.Weights {
		squares += w * w
	}
	s.effective = 1 / squares * (1 + 1e-9) // equal weights count in full despite rounding
	for range outputs {
		s.out.StdErrors = append(s.out.StdErrors, mat.NewDense(n, inputs.Count, nil))
	}
	for q := range outputs {
		for z, w := range background.Weights {
			s.out.Base[q] += w * atBackground.At(z, q)
		}
		variance := 0.0
		for z, w := range background.Weights {
			off := atBackground.At(z, q) - s.out.Base[q]
			variance += w * off * off
		}
		s.target = append(s.target, o.Precision*math.Sqrt(variance))
	}
	size := max(1, blockHybrids/max(1, 2*count*inputs.Count))
	for lo := 0; lo < n; lo += size {
		if err := s.block(ctx, lo, min(lo+size, n)); err != nil {
			return Values{}, err
		}
	}
	return s.out, nil
}

type sampler struct {
	f                    Function
	X                    *mat.Dense
	background           Background
	inputs               Inputs
	o                    SampleOptions
	outputs              int
	atRows, atBackground *mat.Dense
	target               []float64 // standard error for each output
	effective            float64   // number of background rows of equal weight with the same variance of a mean
	out                  Values
}

// path is a permutation of the inputs in which a row differs from a background row.
type path struct {
	row, z int
	order  []int
}

// moments are the mean and the sum of squared deviations of a value over rounds.
type moments struct{ mean, squares float64 }

func (m *moments) add(v float64, count int) {
	off := v - m.mean
	m.mean += off / float64(count)
	m.squares += off * (v - m.mean)
}

// block estimates the values of rows lo to hi−1.
func (s *sampler) block(ctx context.Context, lo, hi int) error {
	count := len(s.background.Weights)
	size := count * s.inputs.Count * s.outputs // of a row
	all := make([]moments, (hi-lo)*size)
	var active []int
	for i := lo; i < hi; i++ {
		active = append(active, i)
	}
	for round := 1; round <= s.o.MaxRounds && len(active) > 0; round++ {
		var paths []path
		for _, i := range active {
			rng := rand.New(rand.NewPCG(s.o.Seed, uint64(i)<<20|uint64(round)))
			for z := range count {
				order := s.inputs.Changed(nil, s.X.RawRowView(i), s.background.X.RawRowView(z))
				rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
				paths = append(paths, path{i, z, order})
			}
		}
		predicted, err := s.predict(ctx, paths)
		if err != nil {
			return err
		}
		for _, p := range paths {
			predicted = s.add(all[(p.row-lo)*size+p.z*s.inputs.Count*s.outputs:], p, predicted, round)
		}
		rest := active[:0]
		for _, i := range active {
			if !s.finish(all[(i-lo)*size:][:size], i, round) {
				rest = append(rest, i)
			}
		}
		active = rest
	}
	return nil
}

// predict returns the outputs along the paths, without their ends.
func (s *sampler) predict(ctx context.Context, paths []path) ([]float64, error) {
	_, d := s.X.Dims()
	var out, rows []float64
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if err := ctxerr.Check(ctx); err != nil {
			return err
		}
		found, err := s.f(ctx, mat.NewDense(len(rows)/d, d, rows))
		if err != nil {
			return err
		}
		for i := range len(rows) / d {
			out = append(out, found.RawRowView(i)...)
		}
		rows = rows[:0]
		return nil
	}
	columns := make([][]int, s.inputs.Count)
	for j, input := range s.inputs.Of {
		columns[input] = append(columns[input], j)
	}
	row := make([]float64, d)
	for _, p := range paths {
		for _, backwards := range []bool{false, true} {
			copy(row, s.background.X.RawRowView(p.z))
			for k := range len(p.order) - 1 {
				input := p.order[k]
				if backwards {
					input = p.order[len(p.order)-1-k]
				}
				for _, j := range columns[input] {
					row[j] = s.X.At(p.row, j)
				}
				if rows = append(rows, row...); len(rows)+d > maxBatchNumbers {
					if err := flush(); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return out, flush()
}

// add adds the values of a path to the moments, inputs × outputs, and returns the remaining
// predictions.
func (s *sampler) add(to []moments, p path, predicted []float64, round int) []float64 {
	values := make([]float64, s.inputs.Count*s.outputs)
	for _, backwards := range []bool{false, true} {
		previous := s.atBackground.RawRowView(p.z)
		for k := range p.order {
			input, current := p.order[k], s.atRows.RawRowView(p.row)
			if backwards {
				input = p.order[len(p.order)-1-k]
			}
			if k < len(p.order)-1 {
				current, predicted = predicted[:s.outputs], predicted[s.outputs:]
			}
			for q, v := range current {
				values[input*s.outputs+q] += (v - previous[q]) / 2
			}
			previous = current
		}
	}
	for k, v := range values {
		to[k].add(v, round)
	}
	return predicted
}

// finish sets the values and standard errors of row i, and reports whether they are precise enough.
func (s *sampler) finish(all []moments, i, round int) bool {
	precise := round > 1 && float64(round-1)*s.effective >= minFreedom
	for q := range s.outputs {
		for j := range s.inputs.Count {
			sum, variance := 0.0, 0.0
			for z, w := range s.background.Weights {
				m := all[(z*s.inputs.Count+j)*s.outputs+q]
				sum += w * m.mean
				variance += w * w * m.squares / float64(round*max(1, round-1))
			}
			s.out.Inputs[q].Set(i, j, sum)
			s.out.StdErrors[q].Set(i, j, math.Sqrt(variance))
			precise = precise && math.Sqrt(variance) <= s.target[q]
		}
	}
	return precise
}
