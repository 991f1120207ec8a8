package datasets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Splitter divides rows into folds. Without shuffling the folds are those of scikit-learn; with it
// they are the same for the same seed. The rows of a fold ascend.
type Splitter interface {
	Split(data Set) ([]Fold, error)
}

// KFold holds out each of Folds runs of consecutive rows in turn, which differ in length by one row
// at most. Shuffle puts the rows into random order first.
type KFold struct {
	Folds   int // ≥ 2
	Shuffle bool
	Seed    uint64
}

// StratifiedKFold is KFold within each class: every fold has the shares of classes that all rows
// have, as nearly as whole rows allow.
type StratifiedKFold struct {
	Folds   int // ≥ 2 and at most the rows of the smallest class
	Shuffle bool
	Seed    uint64
}

// GroupKFold holds out whole groups: no group is in both parts of a fold. The largest group not yet
// given goes to the fold with the fewest rows. Shuffle decides between groups of one size.
type GroupKFold struct {
	Folds   int // ≥ 2 and at most the number of groups
	Shuffle bool
	Seed    uint64
}

// TimeSeriesSplit holds out Folds equal runs at the end of the rows, which are in order of time, and
// trains on the rows before each of them, but for the last Gap ones.
type TimeSeriesSplit struct {
	Folds int // ≥ 1
	Gap   int // ≥ 0
}

// TrainTest is a single fold that holds out the share Test of the rows, rounded up: random rows with
// Shuffle, else the last ones. Stratify holds out that share of each class, Group that share of the
// groups.
type TrainTest struct {
	Test     float64 // between 0 and 1
	Stratify bool
	Group    bool
	Shuffle  bool
	Seed     uint64
}

// Streams of random numbers, one for each purpose.
const (
	kfoldStream uint64 = iota + 1
	stratifiedStream
	groupStream
	trainTestStream
)

// Split returns s.Folds folds, or an error where there are fewer rows.
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

// Split returns s.Folds folds, or an error that names a class with fewer rows.
func (s StratifiedKFold) Split(data Set) ([]Fold, error) {
	classes, err := classesOf(data)
	if err != nil {
		return nil, err
	}
	if err := checkFolds(s.Folds, data.Rows(), "rows"); err != nil {
		return nil, err
	}
	for _, c := range classes {
		if len(c.rows) < s.Folds {
			return nil, fmt.Errorf("datasets: class %q has %d rows, fewer than the %d stratified folds; take fewer folds, or plain ones", c.name, len(c.rows), s.Folds)
		}
	}
	var rng *rand.Rand
	if s.Shuffle {
		rng = rand.New(rand.NewPCG(s.Seed, stratifiedStream))
	}
	part := make([]int, data.Rows())
	first := 0 // of the class, with all rows in order of class
	for _, c := range classes {
		// Row r in order of class would go to fold r mod Folds; a class takes so many rows of each
		// fold, in order of fold.
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

// Split returns s.Folds folds, or an error where there are fewer groups.
func (s GroupKFold) Split(data Set) ([]Fold, error) {
	groups, err := groupsOf(data)
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

// Split returns s.Folds folds, or an error where there are too few rows for them.
func (s TimeSeriesSplit) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if s.Folds < 1 || s.Gap < 0 {
		return nil, fmt.Errorf("datasets: %d folds with a gap of %d, wanted at least 1 fold and no negative gap", s.Folds, s.Gap)
	}
	test := n / (s.Folds + 1)
	start := n - s.Folds*test
	if test == 0 || start-s.Gap <= 0 {
		return nil, fmt.Errorf("datasets: %d rows are too few for %d folds in order of time with a gap of %d", n, s.Folds, s.Gap)
	}
	rows := ascending(n)
	out := make([]Fold, s.Folds)
	for f := range out {
		lo := start + f*test
		out[f] = Fold{Train: rows[: lo-s.Gap : lo-s.Gap], Test: rows[lo : lo+test : lo+test]}
	}
	return out, nil
}

// Split returns one fold.
func (s TrainTest) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if !(s.Test > 0 && s.Test < 1) {
		return nil, fmt.Errorf("datasets: test share %v, wanted a number between 0 and 1", s.Test)
	}
	if s.Stratify && s.Group {
		return nil, fmt.Errorf("datasets: a split is stratified or by groups, not both")
	}
	units, err := s.units(data)
	if err != nil {
		return nil, err
	}
	part := make([]int, n) // fold 0 is the test rows
	for i := range part {
		part[i] = 1
	}
	rng := rand.New(rand.NewPCG(s.Seed, trainTestStream))
	held := 0
	for _, u := range units {
		if s.Shuffle {
			shuffle(u.members, rng)
		}
		for _, rows := range u.members[len(u.members)-u.test:] {
			held += len(rows)
			for _, i := range rows {
				part[i] = 0
			}
		}
	}
	if held == 0 || held == n {
		return nil, fmt.Errorf("datasets: %d rows are too few to hold out a share of %v", n, s.Test)
	}
	return folds(part, 2)[:1], nil
}

// Sets returns the two parts of data.
func (s TrainTest) Sets(data Set) (train, test Set, err error) {
	parts, err := s.Split(data)
	if err != nil {
		return Set{}, Set{}, err
	}
	return data.Select(parts[0].Train), data.Select(parts[0].Test), nil
}

// unit is what a share is held out of: all rows, a class, or all groups.
type unit struct {
	members [][]int // rows that stay together
	test    int     // how many members are held out
}

func (s TrainTest) units(data Set) ([]unit, error) {
	switch {
	case s.Group:
		groups, err := groupsOf(data)
		return []unit{{groups, int(math.Ceil(s.Test * float64(len(groups))))}}, err
	case s.Stratify:
		classes, err := classesOf(data)
		if err != nil {
			return nil, err
		}
		units := make([]unit, len(classes))
		for k, c := range classes {
			if len(c.rows) < 2 {
				return nil, fmt.Errorf("datasets: class %q has %d row, wanted at least 2 for a stratified split", c.name, len(c.rows))
			}
			units[k].members = single(c.rows)
		}
		apportion(units, int(math.Ceil(s.Test*float64(data.Rows()))), data.Rows())
		return units, nil
	}
	n := data.Rows()
	return []unit{{single(ascending(n)), int(math.Ceil(s.Test * float64(n)))}}, nil
}

// apportion shares test out among units in proportion to their size, by largest remainders.
func apportion(units []unit, test, rows int) {
	order := make([]int, len(units))
	remainder := make([]float64, len(units))
	left := test
	for k := range units {
		share := float64(len(units[k].members)) * float64(test) / float64(rows)
		units[k].test = int(share)
		remainder[k] = share - math.Floor(share)
		left -= units[k].test
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case remainder[a] > remainder[b]:
			return -1
		case remainder[a] < remainder[b]:
			return 1
		}
		return 0
	})
	for _, k := range order[:left] {
		units[k].test++
	}
}

func single(rows []int) [][]int {
	out := make([][]int, len(rows))
	for k := range rows {
		out[k] = rows[k : k+1 : k+1]
	}
	return out
}

func checkFolds(folds, n int, what string) error {
	switch {
	case folds < 2:
		return fmt.Errorf("datasets: %d folds, wanted at least 2", folds)
	case n < folds:
		return fmt.Errorf("datasets: %d %s are fewer than the %d folds", n, what, folds)
	}
	return nil
}

// folds returns the folds that hold out the rows i with part[i] = 0, 1, ….
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

// class is the rows of one class.
type class struct {
	name string
	rows []int
}

// classesOf returns the classes that occur, in order of first appearance.
func classesOf(data Set) ([]class, error) {
	if data.Y == nil {
		return nil, fmt.Errorf("datasets: stratified folds need a target")
	}
	if len(data.Y) != data.Rows() {
		return nil, fmt.Errorf("datasets: X has %d rows, Y has %d", data.Rows(), len(data.Y))
	}
	var out []class
	number := map[float64]int{}
	names := data.Schema.Classes()
	for i, y := range data.Y {
		if math.IsNaN(y) {
			return nil, fmt.Errorf("datasets: row %d: target is NaN", i)
		}
		k, ok := number[y]
		if !ok {
			k = len(out)
			number[y] = k
			name := fmt.Sprint(y)
			if c := int(y); c >= 0 && c < len(names) {
				name = names[c]
			}
			out = append(out, class{name: name})
		}
		out[k].rows = append(out[k].rows, i)
	}
	return out, nil
}

// groupsOf returns the rows of each group, in order of group number.
func groupsOf(data Set) ([][]int, error) {
	if data.Groups == nil {
		return nil, fmt.Errorf("datasets: folds by group need groups")
	}
	if len(data.Groups) != data.Rows() {
		return nil, fmt.Errorf("datasets: X has %d rows, Groups has %d", data.Rows(), len(data.Groups))
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
