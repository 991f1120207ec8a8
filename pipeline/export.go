package pipeline

import (
	"fmt"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/pipeline/internal/rows"
)

// Export adds the output of the steps for the rows to g, in double precision also for float32
// pipelines. The error is a [graph.StepErrors] of all steps that cannot be exported.
func (c *FittedChain) Export(g *graph.Graph, in graph.Value) (graph.Value, error) {
	var errs []error
	for _, s := range c.steps {
		out, err := exportStep(g, s, in)
		errs, in = append(errs, err), out
	}
	return in, graph.Join(errs...)
}

// Export adds the concatenated outputs of all parts to g.
func (c *concatenation) Export(g *graph.Graph, in graph.Value) (graph.Value, error) {
	var errs []error
	var outs []graph.Value
	for _, p := range c.parts {
		if p.Width == 0 {
			continue
		}
		own := in
		if p.index != nil {
			own = g.Columns(in, p.index)
		}
		out, err := exportStep(g, &p.Step, own)
		if p.scale != 1 {
			out = g.Mul(out, g.Scalar(p.scale))
		}
		errs, outs = append(errs, err), append(outs, out)
	}
	return g.Concat(outs...), graph.Join(errs...)
}

// exportStep adds the output of a step to g. If the step cannot be exported, placeholder columns
// stand for its output, so that errors of later steps are reported too.
func exportStep(g *graph.Graph, s *rows.Step, in graph.Value) (graph.Value, error) {
	if g.Err() != nil { // error of an earlier step
		return in, nil
	}
	out, err := in, fmt.Errorf("%T cannot be exported: it has no method Export", s.Fitted)
	if e, ok := s.Fitted.(graph.StepExporter); ok {
		out, err = e.Export(g, in)
	}
	if err == nil {
		err = g.Err()
	}
	if err == nil && g.Width(out) != s.Width {
		err = fmt.Errorf("%d columns come out of its Export, %d of the step", g.Width(out), s.Width)
	}
	if err != nil {
		out = g.Columns(in, make([]int, max(s.Width, 1)))
	}
	return out, graph.WithPath(s.Name, err)
}

// ExportModel adds the predictions of the pipeline for the rows to g. The error is a
// [graph.StepErrors] of all steps and models that cannot be exported.
func (p *FittedPipeline) ExportModel(g *graph.Graph, rows graph.Value) (graph.Prediction, error) {
	if w := g.Width(rows); w != p.chain.cols {
		return graph.Prediction{}, fmt.Errorf("%d columns at fit, %d now", p.chain.cols, w)
	}
	features, err := p.chain.Export(g, rows)
	if g.Err() != nil {
		return graph.Prediction{}, err
	}
	out, problem := estimator.Export(g, p.model, features)
	if err = graph.Join(err, graph.WithPath(p.name, problem)); err != nil {
		return graph.Prediction{}, err
	}
	return out, nil
}
