package datasets

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Splitter divides rows into folds. Without shuffling the folds equal those of scikit-learn; with
// shuffling they depend only on the seed. Row numbers of a fold are ascending.
type Splitter interface {
	Split(data Set) ([]Fold, error)
}

// KFold is k-fold cross-validation. The test sets are runs of consecutive rows whose sizes differ
// by at most one; Shuffle permutes the rows first.
type KFold struct {
	Folds   int // ≥ 2
	Shuffle bool
	Seed    uint64
}

// StratifiedKFold is k-fold cross-validation in which every fold preserves the class proportions as
// nearly as possible.
type StratifiedKFold struct {
	Folds   int // ≥ 2 and at most the rows of the smallest class
	Shuffle bool
	Seed    uint64
}

// GroupKFold is k-fold cross-validation in which no group is in both the training and the test set
// of a fold. Groups are assigned by descending size to the smallest fold. Shuffle permutes groups
// of equal size.
type GroupKFold struct {
	Folds   int // ≥ 2 and at most the number of groups
	Shuffle bool
	Seed    uint64
}

// TimeSeriesSplit is cross-validation for rows in order of time. The test sets are Folds equal
// ranges at the end of the rows; the training set is all rows before the test set except the last
// Gap.
type TimeSeriesSplit struct {
	Folds int // ≥ 1
	Gap   int // ≥ 0
}

// Random streams, one for each purpose.
const (
	kfoldStream uint64 = iota + 1
	stratifiedStream
	groupStream
	trainTestStream
)

// Split returns s.Folds folds. It returns an error if there are fewer rows.
func (s KFold) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if err := checkFolds(s.Folds, n, "rows"); err != nil {
		return nil, err
	}
	order := ascending(n)
	if s.Shuffle {
		shuffle(order, rand.New(rand.NewPCG(s.Seed, kfoldStream)))
	}
	part := make([]int, n)
	at := 0
	for f := range s.Folds {
		size := n / s.Folds
		if f < n%s.Folds {
			size++
		}
		for _, i := range order[at : at+size] {
			part[i] = f
		}
		at += size
	}
	return folds(part, s.Folds), nil
}

// Split returns s.Folds folds. It returns an error if a class has fewer rows.
func (s StratifiedKFold) Split(data Set) ([]Fold, error) {
	classes, err := rowsByClass(data)
	if err != nil {
		return nil, err
	}
	if err := checkFolds(s.Folds, data.Rows(), "rows"); err != nil {
		return nil, err
	}
	for _, c := range classes {
		if len(c.rows) < s.Folds {
			return nil, fmt.Errorf("datasets: class %q must have at least %d rows for stratified folds, got %d; use fewer "+
				"folds or KFold", c.name, s.Folds, len(c.rows))
		}
	}
	var rng *rand.Rand
	if s.Shuffle {
		rng = rand.New(rand.NewPCG(s.Seed, stratifiedStream))
	}
	part := make([]int, data.Rows())
	first := 0 // first row of the class among all rows sorted by class
	for _, c := range classes {
		// As scikit-learn does: with all rows sorted by class, row r belongs to fold r mod Folds.
		// This sets the number of rows of the class in each fold.
		var dealt []int
		for f := range s.Folds {
			for r := first; r < first+len(c.rows); r++ {
				if r%s.Folds == f {
					dealt = append(dealt, f)
				}
			}
		}
		if rng != nil {
			shuffle(dealt, rng)
		}
		for k, i := range c.rows {
			part[i] = dealt[k]
		}
		first += len(c.rows)
	}
	return folds(part, s.Folds), nil
}

// Split returns s.Folds folds. It returns an error if there are fewer groups.
func (s GroupKFold) Split(data Set) ([]Fold, error) {
	groups, err := rowsByGroup(data)
	if err != nil {
		return nil, err
	}
	if err := checkFolds(s.Folds, len(groups), "groups"); err != nil {
		return nil, err
	}
	if s.Shuffle {
		shuffle(groups, rand.New(rand.NewPCG(s.Seed, groupStream)))
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return len(a) - len(b) })
	slices.Reverse(groups)
	part := make([]int, data.Rows())
	size := make([]int, s.Folds)
	for _, rows := range groups {
		f := slices.Index(size, slices.Min(size))
		size[f] += len(rows)
		for _, i := range rows {
			part[i] = f
		}
	}
	return folds(part, s.Folds), nil
}

// Split returns s.Folds folds. It returns an error if there are too few rows.
func (s TimeSeriesSplit) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if s.Folds < 1 || s.Gap < 0 {
		return nil, fmt.Errorf("datasets: folds must be ≥ 1 and gap ≥ 0, got %d and %d", s.Folds, s.Gap)
	}
	test := n / (s.Folds + 1)
	start := n - s.Folds*test
	if test == 0 || start-s.Gap <= 0 {
		return nil, fmt.Errorf("datasets: too few rows (%d) for %d folds in order of time with a gap of %d", n, s.Folds,
			s.Gap)
	}
	rows := ascending(n)
	out := make([]Fold, s.Folds)
	for f := range out {
		lo := start + f*test
		out[f] = Fold{Train: rows[: lo-s.Gap : lo-s.Gap], Test: rows[lo : lo+test : lo+test]}
	}
	return out, nil
}

func checkFolds(folds, n int, what string) error {
	switch {
	case folds < 2:
		return fmt.Errorf("datasets: folds must be ≥ 2, got %d", folds)
	case n < folds:
		return fmt.Errorf("datasets: must have at least %d %s for %d folds, got %d", folds, what, folds, n)
	}
	return nil
}

// folds returns count folds; part[i] is the fold in which row i is a test row.
func folds(part []int, count int) []Fold {
	size := make([]int, count)
	for _, f := range part {
		size[f]++
	}
	out := make([]Fold, count)
	for f := range out {
		out[f].Test = make([]int, 0, size[f])
		out[f].Train = make([]int, 0, len(part)-size[f])
	}
	for i, own := range part {
		for f := range out {
			if f == own {
				out[f].Test = append(out[f].Test, i)
			} else {
				out[f].Train = append(out[f].Train, i)
			}
		}
	}
	return out
}

// classRows is the rows of a class.
type classRows struct {
	name string
	rows []int
}

// rowsByClass returns the classes in order of first appearance.
func rowsByClass(data Set) ([]classRows, error) {
	if data.Y == nil {
		return nil, fmt.Errorf("datasets: stratified folds require a target")
	}
	if len(data.Y) != data.Rows() {
		return nil, fmt.Errorf("datasets: Y must have %d rows as X, got %d", data.Rows(), len(data.Y))
	}
	var out []classRows
	number := map[float64]int{}
	names := data.Schema.Classes()
	for i, y := range data.Y {
		if math.IsNaN(y) {
			return nil, data.rowError(i, "", errors.New("target must not be NaN"))
		}
		k, ok := number[y]
		if !ok {
			k = len(out)
			number[y] = k
			name := fmt.Sprint(y)
			if c := int(y); c >= 0 && c < len(names) {
				name = names[c]
			}
			out = append(out, classRows{name: name})
		}
		out[k].rows = append(out[k].rows, i)
	}
	return out, nil
}

// rowsByGroup returns the rows of each group, in order of group number.
func rowsByGroup(data Set) ([][]int, error) {
	if data.Groups == nil {
		return nil, fmt.Errorf("datasets: folds by group require groups")
	}
	if len(data.Groups) != data.Rows() {
		return nil, fmt.Errorf("datasets: Groups must have %d rows as X, got %d", data.Rows(), len(data.Groups))
	}
	rows := map[int][]int{}
	var numbers []int
	for i, g := range data.Groups {
		if rows[g] == nil {
			numbers = append(numbers, g)
		}
		rows[g] = append(rows[g], i)
	}
	slices.Sort(numbers)
	out := make([][]int, len(numbers))
	for k, g := range numbers {
		out[k] = rows[g]
	}
	return out, nil
}

func ascending(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func shuffle[T any](list []T, rng *rand.Rand) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
