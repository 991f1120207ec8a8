package datasets

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// TrainTest is a split into one training and one test set. Test is the share of test rows, rounded
// up. The test rows are random with Shuffle, else the last ones. Stratify applies the share to each
// class, Group to the groups.
type TrainTest struct {
	Test     float64 // between 0 and 1
	Stratify bool
	Group    bool
	Shuffle  bool
	Seed     uint64
}

// Split returns one fold.
func (s TrainTest) Split(data Set) ([]Fold, error) {
	n := data.Rows()
	if !(s.Test > 0 && s.Test < 1) {
		return nil, fmt.Errorf("datasets: test share must be between 0 and 1, got %v", s.Test)
	}
	if s.Stratify && s.Group {
		return nil, fmt.Errorf("datasets: a split cannot be both stratified and by groups")
	}
	pools, err := s.pools(data)
	if err != nil {
		return nil, err
	}
	part := make([]int, n) // fold 0 is the test set
	for i := range part {
		part[i] = 1
	}
	rng := rand.New(rand.NewPCG(s.Seed, trainTestStream))
	tested := 0
	for _, p := range pools {
		if s.Shuffle {
			shuffle(p.members, rng)
		}
		for _, rows := range p.members[len(p.members)-p.test:] {
			tested += len(rows)
			for _, i := range rows {
				part[i] = 0
			}
		}
	}
	if tested == 0 || tested == n {
		return nil, fmt.Errorf("datasets: cannot select a test share of %[2]v from %[1]d rows", n, s.Test)
	}
	return folds(part, 2)[:1], nil
}

// Sets returns the training and the test set.
func (s TrainTest) Sets(data Set) (train, test Set, err error) {
	parts, err := s.Split(data)
	if err != nil {
		return Set{}, Set{}, err
	}
	return data.Select(parts[0].Train), data.Select(parts[0].Test), nil
}

// samplingPool is a set of members from which a share is selected for the test set: all rows, the
// rows of a class, or all groups.
type samplingPool struct {
	members [][]int // rows that are not separated
	test    int     // number of members of the test set
}

func (s TrainTest) pools(data Set) ([]samplingPool, error) {
	switch {
	case s.Group:
		groups, err := rowsByGroup(data)
		return []samplingPool{{groups, int(math.Ceil(s.Test * float64(len(groups))))}}, err
	case s.Stratify:
		classes, err := rowsByClass(data)
		if err != nil {
			return nil, err
		}
		pools := make([]samplingPool, len(classes))
		for k, c := range classes {
			if len(c.rows) < 2 {
				return nil, fmt.Errorf("datasets: class %q must have at least 2 rows for a stratified split, got %d", c.name,
					len(c.rows))
			}
			pools[k].members = singletons(c.rows)
		}
		apportion(pools, int(math.Ceil(s.Test*float64(data.Rows()))), data.Rows())
		return pools, nil
	}
	n := data.Rows()
	return []samplingPool{{singletons(ascending(n)), int(math.Ceil(s.Test * float64(n)))}}, nil
}

// apportion distributes test rows among pools in proportion to their sizes, by largest remainders;
// ties go to the smaller share.
func apportion(pools []samplingPool, test, rows int) {
	order := make([]int, len(pools))
	remainder := make([]float64, len(pools))
	left := test
	for k := range pools {
		share := float64(len(pools[k].members)) * float64(test) / float64(rows)
		pools[k].test = int(share)
		remainder[k] = share - math.Floor(share)
		left -= pools[k].test
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(remainder[b], remainder[a]), pools[a].test-pools[b].test)
	})
	for _, k := range order[:left] {
		pools[k].test++
	}
}

func singletons(rows []int) [][]int {
	out := make([][]int, len(rows))
	for k := range rows {
		out[k] = rows[k : k+1 : k+1]
	}
	return out
}
