package pipeline

import "github.com/bochner-ml/bochner/param"

// With returns the pipeline with other values of some parameters, like the generic [param.With]:
//
//	wider, err := p.With(param.Setting{Path: "rff.features", Value: 2000})
func (p Pipeline) With(settings ...param.Setting) (Pipeline, error) {
	return param.Replace(p, settings...)
}
