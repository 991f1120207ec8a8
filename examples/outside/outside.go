// Package outside is a separate module, as a third party would write it: it imports public packages
// only. It has one custom type of each kind:
//
//	[Polynomial]  random features of the polynomial kernel, a feature family
//	[Blend]       a composite step that adds up the features of its parts
//	[Expectile]   regression by several passes over the rows
//	[Trimmed]     a meta-estimator
//	[Neighbors]   regression whose fits share distances in a search
//
// After [Register] they support everything that built-in types do: experiment files, grid paths,
// shared work in a search, passes, and model files. The tests run the same conformance suites.
package outside

import (
	"errors"

	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
)

// Register registers the types under their names in documents and model files. Call it once.
func Register() error {
	return errors.Join(
		pipeline.Register(pipeline.Entry{
			Name: "polynomial", Doc: "random features of the polynomial kernel",
			New:    func() any { return NewPolynomial() },
			Fitted: func() model.Stateful { return &FittedPolynomial{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "blend", Doc: "adds up the features of maps of one width",
			New:    func() any { return NewBlend() },
			Fitted: func() model.Stateful { return &FittedBlend{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "expectile", Doc: "linear regression of an expectile",
			New:    func() any { return NewExpectile() },
			Fitted: func() model.Stateful { return &FittedExpectile{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "trimmed", Doc: "fits a model again without the rows that it is most wrong about",
			New:    func() any { return NewTrimmed() },
			Fitted: func() model.Stateful { return &FittedTrimmed{} },
		}),
		pipeline.Register(pipeline.Entry{
			Name: "neighbors", Doc: "k-nearest-neighbor regression",
			New:    func() any { return Neighbors{K: 5} },
			Fitted: func() model.Stateful { return &FittedNeighbors{} },
		}),
	)
}
