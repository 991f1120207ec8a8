package modelfile

import (
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/pipeline"
)

// Graph returns the computation of the model as operations that other programs can run. The inputs
// are the columns of the schema, in order, named x0, x1, … if they have no names. The outputs are
//
//	output          columns              of
//	label           1                    classes (code of the class, named by Classes), clusters (number of the cluster),
//	                                     anomalies (1 for an unusual row, else 0)
//	probabilities   one for each class   classifiers that know them, of two classes too; one for each label
//	scores          1 of two classes,    the other classifiers: of one column, positive for the second class;
//	                else one for each    one for each label
//	sets            one for each class   classifiers with sets: 1 for those of the set, else 0
//	anomaly_score   1                    anomalies
//	value           1                    regressions of one target
//	values          one for each target  regressions of several, several labels (1 for those of the row, else 0)
//	std             as the targets       regressions that know their standard deviation
//	lower, upper    as the targets       regressions with intervals: ends of the level of the fit, else of
//	                                     level 0.9
//
// All values are computed in float64, also for float32 pipelines. For rows that the model rejects,
// for example because of a missing value without imputation, the outputs are NaN or undefined. The
// error wraps a [graph.StepErrors] of all steps and models that cannot be exported.
func (m *Model) Graph() (*graph.Graph, error) {
	fitted := pipeline.Find(m.Predictor)
	if fitted == nil {
		return nil, fmt.Errorf("pipeline: %T is no fitted pipeline", m.Predictor)
	}
	g := graph.New(m.graphInputs(fitted.InputWidth()))
	output, err := estimator.Export(g, m.Predictor, g.Input())
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	for _, o := range outputs(taskOf(fitted), output) {
		if !o.Value.None() {
			g.Output(o.Name, o.Value)
		}
	}
	if has := estimator.OutputsOf(m.Predictor); has.Classes != nil || has.Labels != nil {
		g.SetClasses(append(has.Classes, has.Labels...))
	}
	if err := g.Err(); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return g, nil
}

// graphInputs returns the inputs of the graph.
func (m *Model) graphInputs(cols int) []graph.Input {
	missing := m.Schema.Missing
	if missing == nil {
		missing = []string{"NaN", "nan"} // as in Model.Encode
	}
	inputs := make([]graph.Input, cols)
	for j := range inputs {
		c := m.Schema.Column(j)
		if inputs[j].Name = m.Schema.Name(j); c.Kind == datasets.Categorical {
			inputs[j].Categorical, inputs[j].Categories, inputs[j].Missing = true, c.Categories, missing
		}
	}
	return inputs
}

// outputs returns the parts of a prediction with their names.
func outputs(task datasets.Task, output graph.Prediction) []graph.Output {
	var out []graph.Output
	switch {
	case task == datasets.Classification || task.Unsupervised():
		out = append(out, graph.Output{Name: "label", Value: output.Values})
	case output.Targets.None():
		out = append(out, graph.Output{Name: "value", Value: output.Values})
	default:
		out = append(out, graph.Output{Name: "values", Value: output.Targets})
	}
	out = append(out, graph.Output{Name: "probabilities", Value: output.Probabilities})
	if output.Probabilities.None() {
		out = append(out, graph.Output{Name: "scores", Value: output.Scores})
	}
	return append(out, graph.Output{Name: "sets", Value: output.Sets},
		graph.Output{Name: "anomaly_score", Value: output.Anomaly},
		graph.Output{Name: "std", Value: output.Std}, graph.Output{Name: "lower", Value: output.Lower},
		graph.Output{Name: "upper", Value: output.Upper})
}
