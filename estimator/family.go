package estimator

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// FamilySweeper is an Estimator that can share work between settings whose features are related:
// leading columns of a few wide maps of the same rows, as random features of one seed are.
type FamilySweeper interface {
	Estimator
	// SweepFamily does for f.Settings what a [Sweeper] does for settings on the same features, and
	// returns the names of what was shared. All settings are specs of the receiver's own type.
	SweepFamily(ctx context.Context, f Family) (shared []string, err error)
	// InFamily reports whether settings like the receiver are any better off in a family.
	InFamily() bool
}

// Family is the settings of a sweep on related features of the same rows.
type Family struct {
	Data     datasets.Set // rows before they are mapped
	Folds    []datasets.Fold
	Maps     Maps
	Settings []FamilySetting
	// Memory bounds the bytes of sums that are kept at once; more rows than that have sums for are
	// mapped again for the maps that are left.
	Memory int64
	// Wanted reports whether a setting is to be fitted on a fold. Which ones are makes no difference
	// to the results of others. Nil for all.
	Wanted func(setting, fold int) bool
	// Alone fits one setting to one fold without sharing anything, for what cannot be shared.
	Alone func(ctx context.Context, setting, fold int) Held
	// Yield takes the results, as in [Sweeper].
	Yield func(setting, fold int, held Held) error
}

// FamilySetting is a spec and its features: Scale times the first Width columns of the map Map. Single
// says that the model will be fitted to features in single precision, so that where their rounding
// shows it is to be fitted alone.
type FamilySetting struct {
	Estimator
	Map, Width int
	Scale      float64
	Single     bool
}

// Maps are wide maps of rows that are made together, a tile of rows at a time.
type Maps interface {
	// Widths returns the number of features of each map.
	Widths() []int
	// Each calls yield with what some of the maps make of the rows of X. Z is used again after yield.
	Each(ctx context.Context, X mat.Matrix, which []int, yield func(which int, Z *mat.Dense) error) error
}

func (f Family) wants(setting, fold int) bool { return f.Wanted == nil || f.Wanted(setting, fold) }

// divide cuts the rows that folds train on into parts such that each fold trains on some of the parts,
// whose numbers are in trains. It fails where a fold trains on a row twice, or where there would be so
// many parts that every fold is as well done by itself.
func (f Family) divide() (parts, trains [][]int, ok bool) {
	last := -1 // folds may leave out any rows, so their number says nothing
	for _, fold := range f.Folds {
		for _, i := range fold.Train {
			last = max(last, i)
		}
	}
	keys := make([][]byte, last+1)
	for k, fold := range f.Folds {
		for _, i := range fold.Train {
			if keys[i] == nil {
				keys[i] = make([]byte, (len(f.Folds)+7)/8)
			}
			if keys[i][k/8]&(1<<(k%8)) != 0 {
				return nil, nil, false
			}
			keys[i][k/8] |= 1 << (k % 8)
		}
	}
	number := map[string]int{}
	trains = make([][]int, len(f.Folds))
	for i, key := range keys {
		if key == nil {
			continue
		}
		p, known := number[string(key)]
		if !known {
			if p = len(parts); p > 2*len(f.Folds)+2 {
				return nil, nil, false
			}
			number[string(key)] = p
			parts = append(parts, nil)
			for k := range f.Folds {
				if key[k/8]&(1<<(k%8)) != 0 {
					trains[k] = append(trains[k], p)
				}
			}
		}
		parts[p] = append(parts[p], i)
	}
	return parts, trains, true
}
