package pipeline

import "github.com/bochner-ml/bochner/param"

// With returns the pipeline with other values of some parameters, like [param.With]:
//
//	wider, err := p.With(param.Setting{Path: "rff.features", Value: 2000})
func (p Pipeline) With(settings ...param.Setting) (Pipeline, error) {
	set, err := param.With(p, settings...)
	out, _ := set.(Pipeline) // zero if err is not nil
	return out, err
}
