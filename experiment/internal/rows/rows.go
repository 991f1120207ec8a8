// Package rows opens the data that the document of an experiment names: which reader, which roles of the
// columns, which test rows, in memory or block by block.
//
//	parts, err := rows.Open(ctx, spec)
//
// Rows that can be read just once, and the way in which files are written that nobody describes, are
// looked at here, too.
package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/param"
)

// Parts are the training and the test rows of an experiment.
type Parts struct {
	Train, Test datasets.Source // Test is nil where there are none
	Numbers     []int           // of the test rows in the file they come from; nil for all in order
	Task        datasets.Task
	Streamed    bool // whether the rows stay in the file
	Warnings    []string
}

// Open opens what the spec names: built-in data, or a file and perhaps another one, or queries to a database that
// [Connect] has begun to ask.
func Open(ctx context.Context, spec document.Spec) (*Parts, error) {
	p := &Parts{Task: datasets.Regression}
	spec.Data.Task = cmp.Or(string(spec.Task()), "auto")
	file := File{Data: spec.Data, hold: keeps(spec)}
	from, testFrom := spec.Data.Where()
	var err error
	if spec.Data.Dataset != "" {
		p.Train, p.Test, err = file.builtin(ctx)
	} else {
		err = p.openTrain(ctx, file, from, len(testFrom) > 0)
	}
	if err != nil {
		return nil, ErrorOf(ctx, spec, "data.train", err)
	}
	if len(p.Train.Schema().Classes()) > 0 {
		p.Task = datasets.Classification
	}
	if spec.Task().Targetless() {
		p.Task = spec.Task()
	}
	if schema := p.Train.Schema(); p.Task == datasets.Anomaly && len(testFrom) > 0 && len(schema.Targets) > 0 && len(schema.Classes()) == 1 {
		return nil, param.Faults{spec.Fault("data.target", param.Fault{
			Problem: fmt.Sprintf("column %s has one value only, %s: which values of the rows to test on are anomalies?", schema.Targets[0].Name, schema.Classes()[0]),
			Hint:    "data.positive names them, though the rows to train on have none"})}
	}
	if len(testFrom) > 0 {
		_, cols := p.Train.Dims()
		like := Likeness{Schema: p.Train.Schema(), Cols: cols, Scored: true}
		if p.Test, err = file.WrittenAs(testFrom).OpenLike(ctx, testFrom, like); err != nil {
			return nil, ErrorOf(ctx, spec, "data.test", err)
		}
	}
	if p.Task.Targetless() {
		p.scored()
	}
	return p, nil
}

// scored leaves out a target that cannot score what is found without it.
func (p *Parts) scored() {
	schema := p.Train.Schema()
	if len(schema.Targets) == 0 || len(schema.Classes()) > 1 {
		return
	}
	why := "is the same in every row"
	if schema.Targets[0].Kind == datasets.Numeric {
		why = "is a quantity"
	}
	p.Warnings = append(p.Warnings, fmt.Sprintf("the target, %s, %s: it scores nothing", schema.Targets[0].Name, why))
	p.Train = datasets.WithoutTargets(p.Train)
	if p.Test != nil {
		p.Test = datasets.WithoutTargets(p.Test)
	}
}

// builtin opens a built-in set and its test part, if it has one.
func (f File) builtin(ctx context.Context) (train, test datasets.Source, err error) {
	roles := f.roles(nil)
	trainSet, testSet, err := builtin.Read(ctx, f.Dataset, roles)
	if err != nil {
		return nil, nil, err
	}
	if testSet.Rows() > 0 && f.Split.Test == 0 {
		test = testSet.Source()
	}
	return trainSet.Source(), test, nil
}

// openTrain opens the training rows. A target of few whole numbers becomes one of classes, if the
// spec does not say otherwise.
func (p *Parts) openTrain(ctx context.Context, f File, from document.Paths, tested bool) error {
	if k := f.Known; k != nil {
		var err error
		p.Train, err = f.OpenLike(ctx, from, Likeness{Schema: k.Schema, Cols: k.Cols, Scored: true})
		return err
	}
	names, err := f.Header(ctx, from)
	if err != nil {
		return err
	}
	roles := f.roles(names)
	if tested { // by rows which may have more columns to drop
		roles.Drop = slices.DeleteFunc(slices.Clone(roles.Drop), func(name string) bool { return !Among(names, name) })
	}
	if len(roles.Target) > len(f.Target) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("data.target is not given: the last column, %s, is taken", roles.Target[0]))
	}
	p.Train, err = f.Open(ctx, from, roles)
	if err != nil || f.Task != "auto" {
		return err
	}
	if schema := p.Train.Schema(); len(schema.Classes()) > 0 {
		return CheckClasses(schema.Targets[0].Name, schema.Classes())
	}
	classes, err := fewWholeNumbers(ctx, p.Train)
	if err != nil || classes == 0 {
		return err
	}
	roles.Task = datasets.Classification
	p.Warnings = append(p.Warnings, fmt.Sprintf("data.task is not given: the target has %d different values, all whole numbers, and is taken for classes; task: regression says otherwise", classes))
	p.Train, err = f.Open(ctx, from, roles)
	return err
}

// MaxInferred is how many whole numbers are still taken for classes.
const MaxInferred = 10

// errEnough ends a pass that has seen enough.
var errEnough = errors.New("enough")

// fewWholeNumbers returns how many different values the target has, 0 where they are many or no
// whole numbers.
func fewWholeNumbers(ctx context.Context, source datasets.Source) (int, error) {
	seen := map[float64]bool{}
	err := datasets.WithoutInputs(source).Blocks(ctx, func(block datasets.Set) error {
		if block.Targets != nil {
			return errEnough
		}
		for _, y := range block.Y {
			if seen[y] {
				continue
			}
			if seen[y] = true; y != math.Trunc(y) || len(seen) > MaxInferred {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return 0, nil
	}
	return len(seen), err
}
