package pipeline

import (
	_ "github.com/bochner-ml/bochner/estimator/anomaly" // its steps
	_ "github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/internal/spec/registry"
	"github.com/bochner-ml/bochner/model"
)

// The built-in steps with their names in experiment files.
func init() {
	registry.Add("pipeline", "columns", "separate steps for groups of columns; their outputs are concatenated",
		func() Columns { return NewColumns() }, &fittedColumns{})
	registry.Add("pipeline", "union", "concatenated outputs of several maps of the same rows",
		func() Union { return NewUnion() }, &fittedUnion{})
	registry.Add("pipeline", "steps", "steps one after the other, as one step",
		func() Chain { return NewChain() }, &FittedChain{})
	registry.Add[any]("pipeline", wholePipeline, "", nil, &FittedPipeline{})
	for _, pkg := range []string{"pipeline", "transformer", "estimator", "cluster", "anomaly", "meta"} {
		for _, s := range registry.Steps(pkg) {
			var err error
			if s.New == nil {
				err = model.RegisterKind(s.Name, s.Fitted)
			} else {
				err = Register(Entry(s))
			}
			if err != nil {
				panic(err) // the tables are invalid
			}
		}
	}
}
