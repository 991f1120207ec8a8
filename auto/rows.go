package auto

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/transformer"
)

// orderRows puts the rows in the order in which rounds take them: the first n are those of a round with n
// rows. Rows in the order of time come last first. Groups stay together. Of classes, the first rows have the shares that
// all rows have, but for the first few of each class, which come before.
func (r *run) orderRows() {
	n := r.data.Rows()
	r.order = make([]int, n)
	for i := range r.order {
		r.order[i] = i
	}
	rng := rand.New(rand.NewPCG(r.seed("rows"), 1))
	switch {
	case r.options.Timed:
		slices.Reverse(r.order)
	case r.data.Groups != nil:
		rank := map[int]int{}
		for _, g := range r.data.Groups {
			if _, ok := rank[g]; !ok {
				rank[g] = len(rank)
			}
		}
		turn := rng.Perm(len(rank))
		slices.SortStableFunc(r.order, func(a, b int) int {
			return turn[rank[r.data.Groups[a]]] - turn[rank[r.data.Groups[b]]]
		})
	default:
		rng.Shuffle(n, func(a, b int) { r.order[a], r.order[b] = r.order[b], r.order[a] })
		if r.classes > 0 {
			r.orderClasses()
		}
	}
}

// orderClasses spreads the rows of each class over an order that is random.
func (r *run) orderClasses() {
	const before = 10 // rows of each class
	size, seen := make([]int, r.classes), make([]int, r.classes)
	for _, y := range r.data.Y {
		size[int(y)]++
	}
	key := make([]float64, len(r.order))
	for _, i := range r.order {
		class := int(r.data.Y[i])
		if seen[class] >= before {
			key[i] = (float64(seen[class]) + 0.5) / float64(size[class])
		}
		seen[class]++
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
}

// part returns the first n rows of the order, as they stand in the data.
func (r *run) part(n int) datasets.Set {
	if n >= r.data.Rows() {
		return r.data
	}
	if r.taken.Rows() != n {
		r.taken = r.first(n)
	}
	return r.taken
}

// first selects the first n rows of the order.
func (r *run) first(n int) datasets.Set {
	return r.data.Select(slices.Sorted(slices.Values(r.order[:min(n, len(r.order))])))
}

// partAndFolds returns the first n rows with their folds.
func (r *run) partAndFolds(n int) (datasets.Set, []datasets.Fold, error) {
	r.rowsOf.Lock()
	defer r.rowsOf.Unlock()
	part := r.part(n)
	if known, ok := r.folds[part.Rows()]; ok {
		return part, known, nil
	}
	folds, err := r.split(part)
	if err != nil {
		return part, nil, err
	}
	r.withoutLessons(folds, part.Rows())
	if len(folds) == 1 {
		folds = inParts(folds[0])
	}
	r.folds[part.Rows()] = folds
	return part, folds, nil
}

// heldOutParts is how many parts the test rows of a single fold are divided into.
const heldOutParts = 5

// inParts returns a fold for each part of the test rows of one, all with the same training rows, so that there is a
// score of each part and an error of their mean. See [fewer] for how they are fitted at once.
func inParts(one datasets.Fold) []datasets.Fold {
	out := make([]datasets.Fold, heldOutParts)
	for k := range out {
		out[k].Train = one.Train
	}
	for i, row := range one.Test {
		f := &out[i%heldOutParts]
		f.Test = append(f.Test, row)
	}
	return out
}

const (
	learnedOnce = 3000 // rows from which on representations learn from rows of their own
	mostLessons = 6000
)

// lessonCount is how many rows representations learn from.
func (r *run) lessonCount() int {
	if n := r.data.Rows(); n >= learnedOnce {
		return min(2*n/5, mostLessons)
	}
	return mostLessons
}

// findLessons finds the rows that representations learn from, ascending: those that a step draws of all rows, so that
// the last fit learns the same again. None where the rows are few, or not alike: every fold then learns
// from its own.
func (r *run) findLessons() error {
	if r.data.Rows() < learnedOnce || r.options.Timed || r.data.Groups != nil {
		return nil
	}
	at := slices.IndexFunc(r.table, func(k recipe) bool { return k.learn.name != "" })
	if at < 0 {
		return nil
	}
	step, err := r.learner(r.table[at].representation, 0)
	if err != nil {
		return err
	}
	alike := datasets.Set{X: mat.NewDense(r.data.Rows(), 1, nil), Y: r.data.Y, Weights: r.data.Weights,
		Schema: datasets.Schema{Targets: r.data.Schema.Targets}} // what is drawn does not depend on the inputs
	r.lessonRows, err = step.(transformer.Sampler).Sample(context.Background(), alike.Source())
	return err
}

// withoutLessons lets no fold test on what representations learn from: these rows are training rows of every
// fold.
func (r *run) withoutLessons(folds []datasets.Fold, n int) {
	if r.lessonRows == nil {
		return
	}
	taken := make([]bool, r.data.Rows())
	for _, i := range r.lessonRows {
		taken[i] = true
	}
	rows := slices.Sorted(slices.Values(r.order[:n])) // as part has them
	for k, f := range folds {
		var test []int
		train := slices.Clone(f.Train)
		for _, i := range f.Test {
			if taken[rows[i]] {
				train = append(train, i)
			} else {
				test = append(test, i)
			}
		}
		slices.Sort(train)
		folds[k] = datasets.Fold{Train: train, Test: test}
	}
}

// foldsOf is how many folds rows are divided into, and how many times: few rows in several ways, for a score
// of few rows says little.
func foldsOf(rows int) (folds, times int) {
	switch {
	case rows < 60:
		return min(rows/2, 10), 5
	case rows < 250:
		return 5, 3
	case rows < 1000:
		return 8, 1
	case rows < 3000:
		return 5, 1
	}
	return 3, 1
}

// timesDivided is how many times so many rows are divided into folds.
func (r *run) timesDivided(rows int) int {
	if r.options.Timed {
		return 1
	}
	_, times := foldsOf(rows)
	return times
}

// Of so many rows only a part is tested on, about heldOut rows but no more than a quarter: that says as much as folds do of
// fewer rows, for one fit. Of a round that has not all rows yet, of fewer.
const (
	heldOutFrom   = 10_000
	sortedOutFrom = 6000
	heldOut       = 6000
)

// split divides rows into folds.
func (r *run) split(part datasets.Set) ([]datasets.Fold, error) {
	folds, times := foldsOf(part.Rows())
	from := heldOutFrom
	if part.Rows() < r.data.Rows() {
		from = sortedOutFrom
	}
	if part.Rows() >= from && !r.options.Timed && r.data.Groups == nil {
		all, err := r.splitter(max(part.Rows()/heldOut, 4), 0).Split(part)
		if err == nil {
			return all[:1], nil
		}
	}
	if part.Rows() < r.data.Rows() && part.Rows() >= 250 {
		folds, times = 3, 1 // a round that sorts out
	}
	if r.options.Timed {
		return datasets.TimeSeriesSplit{Folds: folds}.Split(part)
	}
	var out []datasets.Fold
	for k := range times {
		one, err := r.splitter(folds, uint64(k)).Split(part)
		if err != nil && r.classes > 0 && part.Groups == nil { // a class has too few rows to be in every fold
			one, err = datasets.KFold{Folds: folds, Shuffle: true, Seed: r.seed("folds") + uint64(k)}.Split(part)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

func (r *run) splitter(folds int, time uint64) datasets.Splitter {
	seed := r.seed("folds") + time
	switch {
	case r.data.Groups != nil:
		return datasets.GroupKFold{Folds: folds, Shuffle: true, Seed: seed}
	case r.classes > 0:
		return datasets.StratifiedKFold{Folds: folds, Shuffle: true, Seed: seed}
	}
	return datasets.KFold{Folds: folds, Shuffle: true, Seed: seed}
}
