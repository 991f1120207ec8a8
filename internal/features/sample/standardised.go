package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/matrices"
)

// widestDense is the maximum number of entries for which sparse rows are converted to dense ones.
const widestDense = 1 << 24

// Standardized returns rows with columns of standard deviation 1 and, if they are dense, mean 0;
// columns of a group have total variance 1. It also returns the divisors of the columns, 0 for a
// constant column.
func Standardized(ctx context.Context, X mat.Matrix, group []int, schema datasets.Schema) (mat.Matrix, []float64,
	error) {
	n, d := X.Dims()
	m, isSparse := X.(*matrices.CSR)
	if isSparse && n*d <= widestDense {
		X, isSparse = m.Dense(), false
	}
	moments, deviation, err := deviations(X, group, schema)
	if err != nil {
		return nil, nil, err
	}
	unit := func(j int, v float64) float64 {
		if deviation[j] == 0 {
			return 0
		}
		return v / deviation[j]
	}
	if isSparse {
		out, err := design.MapEntries(ctx, m, unit)
		return out, deviation, err
	}
	out := mat.NewDense(n, d, nil)
	for i := range n {
		for j, v := range X.(*mat.Dense).RawRowView(i) {
			out.Set(i, j, unit(j, v-moments.Mean[j]))
		}
	}
	return out, deviation, nil
}

// Deviations returns the divisors of the columns of [Standardized], without a copy of X.
func Deviations(X mat.Matrix, group []int, schema datasets.Schema) ([]float64, error) {
	_, deviation, err := deviations(X, group, schema)
	return deviation, err
}

func deviations(X mat.Matrix, group []int, schema datasets.Schema) (*design.Moments, []float64, error) {
	_, d := X.Dims()
	moments, deviation, variance := design.NewMoments(d), make([]float64, d), make([]float64, d)
	moments.Compute(X)
	for j := range d {
		v := moments.Deviation(j)
		variance[group[j]] += v * v
	}
	for j := range d {
		if moments.Deviation(j) > 0 {
			deviation[j] = math.Sqrt(variance[group[j]])
		}
		if !finite(variance[group[j]]) || deviation[j] > 0 && !finite(1/deviation[j]) {
			return nil, nil, fmt.Errorf("column %s: its range overflows", schema.Name(j))
		}
	}
	if !slices.ContainsFunc(deviation, func(v float64) bool { return v > 0 }) {
		return nil, nil, errors.New("every input is constant: there is nothing to learn scales from")
	}
	return moments, deviation, nil
}

func finite(v float64) bool { return v-v == 0 }
