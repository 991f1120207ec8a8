package datasets_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/golden"
)

// TestSplitsOfScikitLearn compares folds without shuffling with those of scikit-learn.
func TestSplitsOfScikitLearn(t *testing.T) {
	var in struct {
		N      int
		Y      []float64
		Groups []int
	}
	var want struct{ Kfold5, Stratified5, Group3, Timeseries4 [][]int }
	golden.Load(t, "splits", &in, &want)
	set := datasets.Set{X: mat.NewDense(in.N, 1, nil), Y: in.Y, Groups: in.Groups}
	for _, c := range []struct {
		name string
		s    datasets.Splitter
		want [][]int
	}{
		{"kfold", datasets.KFold{Folds: 5}, want.Kfold5},
		{"stratified", datasets.StratifiedKFold{Folds: 5}, want.Stratified5},
		{"time", datasets.TimeSeriesSplit{Folds: 4}, want.Timeseries4},
	} {
		folds, err := c.s.Split(set)
		if err != nil {
			t.Fatal(err)
		}
		if len(folds) != len(c.want) {
			t.Fatalf("%s: %d folds, want %d", c.name, len(folds), len(c.want))
		}
		for f := range folds {
			if !slices.Equal(folds[f].Test, c.want[f]) {
				t.Errorf("%s: fold %d holds out %v, want %v", c.name, f, folds[f].Test, c.want[f])
			}
		}
	}
	folds, err := datasets.GroupKFold{Folds: 3}.Split(set)
	if err != nil {
		t.Fatal(err)
	}
	for f := range folds {
		var groups []int
		for _, i := range folds[f].Test {
			groups = append(groups, in.Groups[i])
		}
		slices.Sort(groups)
		if groups = slices.Compact(groups); !slices.Equal(groups, want.Group3[f]) {
			t.Errorf("group: fold %d holds out groups %v, want %v", f, groups, want.Group3[f])
		}
	}
}

// anySet returns rows with unequal classes and groups.
func anySet(n int) datasets.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	set := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n), Groups: make([]int, n)}
	for i := range n {
		set.Y[i] = float64(min(rng.IntN(6), 2))
		set.Groups[i] = rng.IntN(9) * 10
	}
	return set
}

var splitters = []datasets.Splitter{
	datasets.KFold{Folds: 4},
	datasets.KFold{Folds: 4, Shuffle: true, Seed: 1},
	datasets.StratifiedKFold{Folds: 4},
	datasets.StratifiedKFold{Folds: 4, Shuffle: true, Seed: 1},
	datasets.GroupKFold{Folds: 4},
	datasets.GroupKFold{Folds: 4, Shuffle: true, Seed: 1},
	datasets.TimeSeriesSplit{Folds: 4},
	datasets.TimeSeriesSplit{Folds: 4, Gap: 3},
	datasets.TrainTest{Test: .25},
	datasets.TrainTest{Test: .25, Shuffle: true, Seed: 1},
	datasets.TrainTest{Test: .25, Stratify: true},
	datasets.TrainTest{Test: .25, Stratify: true, Shuffle: true, Seed: 1},
	datasets.TrainTest{Test: .25, Group: true},
	datasets.TrainTest{Test: .25, Group: true, Shuffle: true, Seed: 1},
}

// TestFoldInvariants checks that rows are ascending, training and test rows are disjoint, k folds test
// every row once, and repeated calls agree.
func TestFoldInvariants(t *testing.T) {
	set := anySet(121)
	for _, s := range splitters {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			folds, err := s.Split(set)
			if err != nil {
				t.Fatal(err)
			}
			held := make([]int, set.Rows())
			for _, f := range folds {
				in := make([]int, set.Rows())
				for _, rows := range [][]int{f.Train, f.Test} {
					if !slices.IsSorted(rows) || len(rows) == 0 {
						t.Fatalf("rows %v", rows)
					}
					for _, i := range rows {
						in[i]++
					}
				}
				for _, i := range f.Test {
					held[i]++
				}
				if slices.Max(in) != 1 {
					t.Error("a row is in both parts, or twice in one")
				}
			}
			switch s.(type) {
			case datasets.KFold, datasets.StratifiedKFold, datasets.GroupKFold:
				if slices.Min(held) != 1 || slices.Max(held) != 1 {
					t.Errorf("rows are held out %v times", held)
				}
			}
			again, _ := s.Split(set)
			for f := range folds {
				if !slices.Equal(folds[f].Test, again[f].Test) || !slices.Equal(folds[f].Train, again[f].Train) {
					t.Error("two calls disagree")
				}
			}
		})
	}
}

// TestShares checks that stratified folds have the proportions of the classes up to one row, and
// that groups are not split.
func TestShares(t *testing.T) {
	set := anySet(121)
	total := make([]float64, 3)
	for _, y := range set.Y {
		total[int(y)]++
	}
	for _, s := range splitters {
		folds, err := s.Split(set)
		if err != nil {
			t.Fatal(err)
		}
		single, _ := s.(datasets.TrainTest)
		_, stratified := s.(datasets.StratifiedKFold)
		_, grouped := s.(datasets.GroupKFold)
		for _, f := range folds {
			if stratified || single.Stratify {
				counts := make([]float64, 3)
				for _, i := range f.Test {
					counts[int(set.Y[i])]++
				}
				for c := range counts {
					if share := total[c] / 4; math.Abs(counts[c]-share) > 1 {
						t.Errorf("%+v: %v rows of class %d, want about %v", s, counts[c], c, share)
					}
				}
			}
			if grouped || single.Group {
				for _, i := range f.Train {
					for _, k := range f.Test {
						if set.Groups[i] == set.Groups[k] {
							t.Fatalf("%+v: group %d is in both parts", s, set.Groups[i])
						}
					}
				}
			}
		}
	}
}

// TestSeeds checks that folds depend on the seed, and that all rows are equally likely to be test
// rows.
func TestSeeds(t *testing.T) {
	set := anySet(60)
	held := make([]float64, 60)
	const seeds = 2000
	for seed := range uint64(seeds) {
		folds, err := datasets.TrainTest{Test: .25, Shuffle: true, Seed: seed}.Split(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range folds[0].Test {
			held[i]++
		}
	}
	sd := math.Sqrt(seeds * .25 * .75)
	for i, h := range held {
		if math.Abs(h-seeds*.25) > 4.5*sd {
			t.Errorf("row %d was held out %v times of %d, want %v ± %.0f", i, h, seeds, seeds*.25, sd)
		}
	}
}

func TestSplitErrors(t *testing.T) {
	set := anySet(10)
	named := set
	named.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}}
	named.Y = []float64{0, 0, 0, 0, 0, 2, 2, 2, 2, 1}
	bare := datasets.Set{X: set.X}
	few := datasets.Set{X: set.X, Groups: []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2}}
	for _, c := range []struct {
		s    datasets.Splitter
		set  datasets.Set
		want string
	}{
		{datasets.KFold{Folds: 1}, set, "datasets: folds must be ≥ 2, got 1"},
		{datasets.KFold{Folds: 11}, set, "datasets: must have at least 11 rows for 11 folds, got 10"},
		{datasets.StratifiedKFold{Folds: 2}, named,
			`datasets: class "b" must have at least 2 rows for stratified folds, got 1; use fewer folds or KFold`},
		{datasets.StratifiedKFold{Folds: 2}, bare, "datasets: stratified folds require a target"},
		{datasets.StratifiedKFold{Folds: 0}, set, "datasets: folds must be ≥ 2, got 0"},
		{datasets.GroupKFold{Folds: 2}, bare, "datasets: folds by group require groups"},
		{datasets.GroupKFold{Folds: 3}, few, "datasets: must have at least 3 groups for 3 folds, got 2"},
		{datasets.TimeSeriesSplit{Folds: 10}, set,
			"datasets: too few rows (10) for 10 folds in order of time with a gap of 0"},
		{datasets.TimeSeriesSplit{Folds: 2, Gap: 4}, set,
			"datasets: too few rows (10) for 2 folds in order of time with a gap of 4"},
		{datasets.TimeSeriesSplit{}, set, "datasets: folds must be ≥ 1 and gap ≥ 0, got 0 and 0"},
		{datasets.TrainTest{}, set, "datasets: test share must be between 0 and 1, got 0"},
		{datasets.TrainTest{Test: math.NaN()}, set, "datasets: test share must be between 0 and 1, got NaN"},
		{datasets.TrainTest{Test: .95}, set, "datasets: cannot select a test share of 0.95 from 10 rows"},
		{datasets.TrainTest{Test: .5, Stratify: true, Group: true}, set,
			"datasets: a split cannot be both stratified and by groups"},
		{datasets.TrainTest{Test: .5, Stratify: true}, named,
			`datasets: class "b" must have at least 2 rows for a stratified split, got 1`},
		{datasets.TrainTest{Test: .5, Group: true}, bare, "datasets: folds by group require groups"},
	} {
		if _, err := c.s.Split(c.set); err == nil || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %s", c.s, err, c.want)
		}
	}
}

func ExampleKFold() {
	set := datasets.Set{X: mat.NewDense(5, 1, nil)}
	folds, err := datasets.KFold{Folds: 2}.Split(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range folds {
		fmt.Println("train", f.Train, "test", f.Test)
	}
	// Output:
	// train [3 4] test [0 1 2]
	// train [0 1 2] test [3 4]
}

func ExampleTrainTest() {
	set := datasets.Set{X: mat.NewDense(8, 1, nil), Y: []float64{0, 0, 0, 0, 0, 0, 1, 1}}
	train, test, err := datasets.TrainTest{Test: 0.25, Stratify: true, Shuffle: true, Seed: 1}.Sets(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(train.Y, test.Y)
	// Output: [0 0 0 0 0 1] [0 1]
}
