// Package outside is a separate module, as a third party would write it: it imports public packages
// only. It has one part of each kind:
//
//	[Polynomial]  random features of the polynomial kernel, a feature family
//	[Blend]       a step that holds other steps, and adds their features up
//	[Expectile]   regression by several passes over the rows
//	[Trimmed]     an estimator that wraps another one
//
// After [Register] they have all that the parts of Bochner itself have: experiment files, grid paths, shared
// work in a search, passes, and model files. The tests hold them to the same laws.
package outside

import (
	"errors"

	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
)

// Register gives the parts their names in documents and model files. It is to be called once.
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
	)
}
