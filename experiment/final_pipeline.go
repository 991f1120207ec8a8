package experiment

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
)

// streamedRows is the maximum memory for mapped rows in a streamed fit, in bytes.
const streamedRows = 64 << 20

// finalPipeline returns the pipeline fitted to all training rows, with intervals if the experiment
// has them. A streamed fit caches few mapped rows and recomputes the others.
func finalPipeline(spec Spec, p pipeline.Pipeline, shape datasets.Shape, streamed bool) pipeline.Pipeline {
	if streamed {
		p.Memory = streamedRows
	}
	return spec.Fitted(p, shape)
}

// finalOf returns the function that replaces the best candidate of a search for the refit, nil for
// none.
func finalOf(spec Spec, shape datasets.Shape, streamed bool) func(best estimator.Estimator) estimator.Estimator {
	if spec.Intervals == nil {
		return nil
	}
	return func(best estimator.Estimator) estimator.Estimator {
		return finalPipeline(spec, best.(pipeline.Pipeline), shape, streamed)
	}
}
