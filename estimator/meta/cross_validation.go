package meta

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// crossValidation defines how out-of-fold predictions are computed.
type crossValidation struct {
	folds   int // 0 for leave-one-out if that is exact, else five; or noFolds
	classes int // of a classification, 0 for a regression
	shuffle bool
	seed    uint64
}

// noFolds is the number of folds if no out-of-fold scores are needed.
const noFolds = -1

// count returns the number of folds, except for leave-one-out.
func (v crossValidation) count() int {
	if v.folds == 0 {
		return 5
	}
	return max(v.folds, 0)
}

// split returns folds of some rows of data, by group if there are groups. Each class with at least
// two rows is in every training set. Rows of weight 0 are in no fold, and the only row of a class
// is in no test set.
func (v crossValidation) split(data datasets.Set, rows []int) ([]datasets.Fold, error) {
	if v.folds == noFolds {
		return nil, nil
	}
	count := v.count()
	rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return data.Weights != nil && data.Weights[i] == 0 })
	if len(rows) < count {
		return nil, fmt.Errorf("%d rows are fewer than the %d folds", len(rows), count)
	}
	part := make([]int, len(rows))
	switch {
	case data.Groups != nil:
		own := datasets.Set{X: mat.NewDense(len(rows), 1, nil)}
		for _, i := range rows {
			own.Groups = append(own.Groups, data.Groups[i])
		}
		folds, err := datasets.GroupKFold{Folds: count}.Split(own)
		if err != nil {
			return nil, err
		}
		assign(part, folds)
	case v.classes > 0:
		dealByClass(part, data.Y, rows, count)
	default:
		folds, err := datasets.KFold{Folds: count, Shuffle: v.shuffle,
			Seed: v.seed}.Split(datasets.Set{X: mat.NewDense(len(rows), 1, nil)})
		if err != nil {
			return nil, err
		}
		assign(part, folds)
	}
	return v.folded(data, rows, part, count), nil
}

func assign(part []int, folds []datasets.Fold) {
	for f, fold := range folds {
		for _, i := range fold.Test {
			part[i] = f
		}
	}
}

// dealByClass assigns rows to folds as datasets.StratifiedKFold and scikit-learn do, but also
// supports classes with fewer rows than folds.
func dealByClass(part []int, y []float64, rows []int, count int) {
	var order []float64 // classes as they appear
	of := map[float64][]int{}
	for k, i := range rows {
		if of[y[i]] == nil {
			order = append(order, y[i])
		}
		of[y[i]] = append(of[y[i]], k)
	}
	first := 0 // of the class, with all rows in order of class
	for _, class := range order {
		k := 0
		for f := range count {
			for r := first; r < first+len(of[class]); r++ {
				if r%count == f {
					part[of[class][k]] = f
					k++
				}
			}
		}
		first += k
	}
}

// folded returns the folds, given the part of each row.
func (v crossValidation) folded(data datasets.Set, rows, part []int, count int) []datasets.Fold {
	folds := make([]datasets.Fold, count)
	for f := range folds {
		seen := map[float64]bool{}
		for k, i := range rows {
			if part[k] != f {
				folds[f].Train = append(folds[f].Train, i)
				if v.classes > 0 {
					seen[data.Y[i]] = true
				}
			}
		}
		for k, i := range rows {
			if part[k] == f && (v.classes == 0 || seen[data.Y[i]]) {
				folds[f].Test = append(folds[f].Test, i)
			}
		}
	}
	return slices.DeleteFunc(folds, func(f datasets.Fold) bool { return len(f.Test) == 0 || len(f.Train) == 0 })
}

// evenFolds returns folds of equal size, for cost estimates.
func evenFolds(rows []int, count int) []datasets.Fold {
	out := make([]datasets.Fold, count)
	for f := range out {
		lo, hi := f*len(rows)/count, (f+1)*len(rows)/count
		out[f] = datasets.Fold{Test: rows[lo:hi], Train: slices.Concat(rows[:lo], rows[hi:])}
	}
	return out
}
