package auto

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/internal/spec/specs"
)

// sample contains the rows of a search, the order in which rounds use them, and their folds.
type sample struct {
	options Options
	data    datasets.Set
	classes int // 0 for regression
	order   []int

	mu      sync.Mutex // guards divided
	divided map[int]*division

	// Rows from which representations are learned and that no fold tests on; nil if each fold uses
	// its own training rows.
	lessonRows []int
}

// division is some rows with their folds and the parts of the test rows that have a score each.
type division struct {
	data    datasets.Set
	folds   []datasets.Fold
	tests   []int   // test rows of one fold after the other
	starts  []int   // index of the first test row of each fold
	scores  [][]int // indices of the tests of each score, ascending
	times   int     // number of repetitions of cross-validation
	overlap float64 // test rows/training rows of a fold; 0 for a single fold
	counted float64 // number of distinct test rows, (Σw)²/Σw² of weights w
	cut     bool    // whether the folds have fewer training rows, see [run.estimateGain]
}

// rows returns the rows of score k.
func (d *division) rows(k int) []int {
	out := make([]int, len(d.scores[k]))
	for i, at := range d.scores[k] {
		out[i] = d.tests[at]
	}
	return out
}

// fold returns the fold of score k.
func (d *division) fold(k int) int { return min(k, len(d.folds)-1) }

// orderRows determines the order in which rounds use the rows: a round with n rows uses the first n. Groups stay
// together. Classes are stratified, except that the order begins with some rows of each class.
func (r *sample) orderRows() {
	const before = 10 // rows of each class at the beginning
	n := r.data.Rows()
	rng := rand.New(rand.NewPCG(r.seed("rows"), 1))
	r.order = rng.Perm(n)
	key := make([]float64, n)
	counts, seen := r.classCounts(), make([]int, r.classes)
	groups := map[int]float64{}
	for _, i := range r.order {
		switch {
		case r.data.Groups != nil && !r.options.TimeOrdered:
			if _, ok := groups[r.data.Groups[i]]; !ok {
				groups[r.data.Groups[i]] = float64(len(groups))
			}
			key[i] = groups[r.data.Groups[i]]
		case r.classes > 0:
			class := int(r.data.Y[i])
			if seen[class] >= before {
				key[i] = (float64(seen[class]) + 0.5) / float64(counts[class])
			}
			seen[class]++
		}
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
}

// first selects the first n rows of the order, in the order of the data.
func (r *sample) first(n int) datasets.Set {
	if n >= r.data.Rows() {
		return r.data
	}
	return r.data.Select(slices.Sorted(slices.Values(r.order[:n])))
}

// heldOutParts is the number of parts of the test rows of a single fold, so that the mean score has a standard error.
const heldOutParts = 5

// divide returns the division of the first n rows.
func (r *sample) divide(n int) (*division, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, r.data.Rows())
	if known := r.divided[n]; known != nil {
		return known, nil
	}
	d := &division{data: r.first(n), times: 1}
	var err error
	if d.folds, err = r.split(d.data); err != nil {
		return nil, err
	}
	if folds, times := foldsOf(n); len(d.folds) == folds*times {
		d.times = times
	}
	r.withoutLessons(d.folds, n)
	train, sum, squares, seen := 0, 0.0, 0.0, map[int]bool{}
	for _, f := range d.folds {
		d.starts = append(d.starts, len(d.tests))
		d.tests, train = append(d.tests, f.Test...), train+len(f.Train)
		d.scores = append(d.scores, indices(len(d.tests))[len(d.tests)-len(f.Test):])
	}
	for _, i := range d.tests {
		w := 1.0
		if d.data.Weights != nil {
			w = d.data.Weights[i]
		}
		if !seen[i] {
			seen[i], sum, squares = true, sum+w, squares+w*w
		}
	}
	if d.counted = sum * sum / squares; len(d.folds) > 1 {
		d.overlap = float64(len(d.tests)) / float64(train)
	} else {
		d.scores = make([][]int, heldOutParts)
		for i := range d.tests {
			d.scores[i%heldOutParts] = append(d.scores[i%heldOutParts], i)
		}
	}
	r.divided[n] = d
	return d, nil
}

const (
	minSharedLessons = 3000 // minimum number of rows for which representations are learned from separate rows
	maxLessons       = 6000 // maximum number of rows for representation learning
)

// lessonCount returns the number of rows for representation learning.
func (r *sample) lessonCount() int {
	if n := r.data.Rows(); n >= minSharedLessons {
		return min(2*n/5, maxLessons)
	}
	return maxLessons
}

// withoutLessons moves the rows for representation learning from the test rows of each fold to its
// training rows.
func (r *sample) withoutLessons(folds []datasets.Fold, n int) {
	rows := slices.Sorted(slices.Values(r.order[:n])) // in the order of part
	taken := func(i int) bool {
		_, found := slices.BinarySearch(r.lessonRows, rows[i])
		return found
	}
	for k, f := range folds {
		train := slices.Clone(f.Train)
		for _, i := range f.Test {
			if taken(i) {
				train = append(train, i)
			}
		}
		slices.Sort(train)
		folds[k] = datasets.Fold{Train: train, Test: slices.DeleteFunc(slices.Clone(f.Test), taken)}
	}
}

// foldsOf returns the number of folds and of repetitions: small data are split repeatedly, because
// their scores are noisy.
func foldsOf(rows int) (folds, times int) {
	switch {
	case rows < 60:
		return min(rows/2, 10), 5
	case rows < 250:
		return 5, 5
	case rows < 1000:
		return 5, 3
	case rows < 3000:
		return 5, 1
	}
	return 3, 1
}

// Large data are tested on a single held-out part, about heldOut rows but at most a quarter: its
// precision equals that of folds of fewer rows at the cost of one fit. Rounds on subsets use fewer.
const (
	heldOutFrom       = 10_000
	heldOutFromSubset = 6000
	heldOut           = 6000
)

// split divides rows into folds.
func (r *sample) split(part datasets.Set) ([]datasets.Fold, error) {
	folds, times := foldsOf(part.Rows())
	from := heldOutFrom
	if part.Rows() < r.data.Rows() {
		from = heldOutFromSubset
	}
	if part.Rows() >= from && !r.options.TimeOrdered && r.data.Groups == nil {
		all, err := r.splitter(max(part.Rows()/heldOut, 4), 0).Split(part)
		if err == nil {
			return all[:1], nil
		}
	}
	if part.Rows() < r.data.Rows() && part.Rows() >= 250 {
		folds, times = 3, 1 // approximate scores suffice to eliminate recipes
	}
	if r.options.TimeOrdered {
		return datasets.TimeSeriesSplit{Folds: folds}.Split(part)
	}
	var out []datasets.Fold
	for k := range times {
		one, err := r.splitOnce(part, folds, uint64(k))
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// splitOnce divides rows into folds once.
func (r *sample) splitOnce(part datasets.Set, folds int, time uint64) ([]datasets.Fold, error) {
	out, err := r.splitter(folds, time).Split(part)
	if err != nil && r.classes > 0 && part.Groups == nil { // a class has fewer rows than folds
		out, err = datasets.KFold{Folds: folds, Shuffle: true, Seed: r.seed("folds") + time}.Split(part)
	}
	return out, err
}

func (r *sample) splitter(folds int, time uint64) datasets.Splitter {
	seed := r.seed("folds") + time
	switch {
	case r.data.Groups != nil:
		return datasets.GroupKFold{Folds: folds, Shuffle: true, Seed: seed}
	case r.classes > 0:
		return datasets.StratifiedKFold{Folds: folds, Shuffle: true, Seed: seed}
	}
	return datasets.KFold{Folds: folds, Shuffle: true, Seed: seed}
}

// classCounts returns the number of rows of each class.
func (r *sample) classCounts() []int {
	counts := make([]int, r.classes)
	if r.classes > 0 {
		for _, y := range r.data.Y {
			counts[int(y)]++
		}
	}
	return counts
}

// interpolates reports whether the target of a row is close to that of the previous row, as in time
// series, so that folds of shuffled rows interpolate. It uses von Neumann's ratio, which is 1 in
// expectation for a random order.
func (r *sample) interpolates() bool {
	const maxRatio, rows = 0.1, 50
	y := r.data.Y
	if r.options.TimeOrdered || r.classes > 0 || len(y) < rows {
		return false
	}
	variance, steps := stat.Variance(y, nil), 0.0
	for i, v := range y[1:] {
		steps += (v - y[i]) * (v - y[i])
	}
	return steps < 2*maxRatio*variance*float64(len(y)-1)
}

// checkRows returns an error if no model can be learned or selected from the rows.
func (r *sample) checkRows() error {
	const minRows = 20 // for model selection
	switch n := r.data.Rows(); {
	case r.data.Y == nil && r.data.Targets == nil:
		return errors.New("the rows have no targets")
	case r.data.Targets != nil:
		return errors.New("must have one target, got several; search for each, or take a pipeline for several")
	case n < minRows:
		return fmt.Errorf("model selection requires at least %[2]d rows with a target, got %[1]d; add rows, or fit one "+
			"pipeline without a search", n, minRows)
	case r.data.Cols() == 0:
		return errors.New("the rows have no inputs")
	}
	first := r.data.Y[0]
	if !slices.ContainsFunc(r.data.Y, func(y float64) bool { return y != first }) {
		return errors.New("the target is the same in every row: there is nothing to learn; name another target")
	}
	single := 0
	for _, n := range r.classCounts() {
		if n == 1 {
			single++
		}
	}
	if 2*single > len(r.data.Y) {
		return fmt.Errorf("%d of %d rows are the only ones of their class, which cannot be learned from one row; "+
			"take regression for a numeric target, or merge rare classes", single, len(r.data.Y))
	}
	return nil
}

// orderedRepresentations returns the representations in the order in which they are tried. Unscaled columns come
// first if all columns are alike, such as pixels, and are omitted otherwise.
func (r *sample) orderedRepresentations() []representation {
	last := len(representations) - 1
	others := slices.DeleteFunc(slices.Clone(representations[:last]), func(p representation) bool { return !r.encodes(p) })
	if r.columnsAlike() {
		return append(slices.Clone(representations[last:]), others...)
	}
	return others
}

// columnsAlike reports whether most columns, and at least 16, have about the same minimum and range, and none a much
// larger one.
func (r *sample) columnsAlike() bool {
	const columns, share, within = 16, 0.6, 0.1
	_, d := r.data.X.Dims()
	if d < columns || isSparse(r.data) {
		return false
	}
	low, high := make([]float64, d), make([]float64, d)
	for j := range d {
		values := mat.Col(nil, j, r.data.X)
		low[j], high[j] = slices.Min(values), slices.Max(values)
	}
	slices.Sort(low)
	slices.Sort(high)
	least, most := low[0], high[d-1]
	alike := int(share*float64(d)) - 1
	return low[alike]-least <= within*(most-least) && most-high[d-1-alike] <= within*(most-least)
}

// tails returns the transforms that a search tries for a target that is at least 0 with a long upper tail, and "" for
// none.
func (r *sample) tails() []string {
	sorted := slices.Sorted(slices.Values(r.data.Y))
	transform := preprocessing.TargetTransform(len(sorted), func(i int) float64 { return sorted[i] })
	if r.classes > 0 || transform == "" {
		return nil
	}
	return []string{"", transform, transform + limitedSuffix, "sqrt"}
}

// counts reports whether the target is counts: integers from 0 on, of which half are small.
func (r *sample) counts() bool {
	const small = 100
	sorted := slices.Sorted(slices.Values(r.data.Y))
	fraction := func(y float64) bool { return y != math.Trunc(y) }
	return r.classes == 0 && sorted[0] >= 0 && sorted[len(sorted)/2] < small && !slices.ContainsFunc(sorted, fraction)
}

// seed returns the seed of a purpose. All maps have the same one, so that maps of a family are
// nested.
func (r *sample) seed(purpose string) uint64 {
	return specs.DeriveSeed(r.options.Seed, "auto."+purpose)
}
