package pipeline_test

import (
	"errors"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestCheckKinds checks that violated requirements are found from the schema alone, with the path
// of the step.
func TestCheckKinds(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{
		{Name: "age"}, {Name: "sex", Kind: datasets.Categorical, Categories: []string{"f", "m"}},
	}}
	group := func(name, term string, fitters ...transformer.Fitter) pipeline.Group {
		return pipeline.Group{Name: name, Select: []string{term}, Steps: pipeline.Steps(fitters...)}
	}
	passed := pipeline.NewColumns(group("n", "numeric", transformer.NewStandardize()))
	passed.Remainder = "passthrough"
	frequent := transformer.NewImpute()
	frequent.Strategy = "most_frequent"
	words := group("w", "categorical", frequent, transformer.NewOneHot())
	for name, c := range map[string]struct {
		steps []transformer.Fitter
		path  string // of the error; "" for none
	}{
		"nothing before": {nil, "ridge"},
		"a map":          {[]transformer.Fitter{transformer.NewRFF()}, "rff"},
		"numbers only":   {[]transformer.Fitter{pipeline.NewColumns(group("n", "numeric"))}, ""},
		"both encoded":   {[]transformer.Fitter{pipeline.NewColumns(group("n", "numeric"), words), transformer.NewRFF()}, ""},
		"not encoded": {[]transformer.Fitter{pipeline.NewColumns(group("n", "numeric"), group("w", "sex", frequent))},
			"ridge"},
		"passed on": {[]transformer.Fitter{passed, transformer.NewRFF()}, "rff"},
		"within a group": {[]transformer.Fitter{pipeline.NewColumns(group("all", "*", transformer.NewMinMax()))},
			"columns.all.minmax"},
		"a mean":           {[]transformer.Fitter{transformer.NewImpute()}, "impute"},
		"levels of both":   {[]transformer.Fitter{transformer.NewOneHot()}, "onehot"},
		"levels of maps":   {[]transformer.Fitter{pipeline.NewColumns(words), transformer.NewOrdinal()}, "ordinal"},
		"in landmarks":     {[]transformer.Fitter{transformer.NewNystroem()}, "nystroem"},
		"in a union":       {[]transformer.Fitter{pipeline.NewUnion(transformer.NewPCA())}, "union.pca"},
		"in a chain":       {[]transformer.Fitter{pipeline.NewChain(frequent, transformer.NewBinning())}, "steps.binning"},
		"no such column":   {[]transformer.Fitter{pipeline.NewColumns(group("n", "agee"))}, "columns.n"},
		"a step of others": {[]transformer.Fitter{mirror{}}, ""},
	} {
		err := pipeline.Steps(c.steps...).Then(estimator.NewRidge()).CheckKinds(schema)
		var problem param.FieldError
		switch {
		case c.path == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.path != "" && (!errors.As(err, &problem) || problem.Path != c.path):
			t.Errorf("%s: %v, want an error of %s", name, err, c.path)
		}
	}
	if err := pipeline.Steps(transformer.NewRFF()).Then(estimator.NewRidge()).CheckKinds(datasets.Schema{}); err != nil {
		t.Errorf("columns without kinds: %v", err)
	}
}
