package experiment

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
	one "github.com/bochner-ml/bochner/pipeline/testdata/one/steps"
	two "github.com/bochner-ml/bochner/pipeline/testdata/two/steps"
	"github.com/bochner-ml/bochner/transformer"
)

// TestJournalKnowsTheSteps checks that a search does not resume from the journal of other steps
// with equal names and parameters: steps of another package, or groups of other columns.
func TestJournalKnowsTheSteps(t *testing.T) {
	data, _, err := builtin.Load("iris")
	if err != nil {
		t.Fatal(err)
	}
	group := func(column string) transformer.Fitter {
		return pipeline.NewColumns(pipeline.Group{Name: "g", Select: []string{column},
			Steps: pipeline.Steps(transformer.NewStandardize())})
	}
	for name, c := range map[string]struct{ first, second transformer.Fitter }{
		"namesakes": {one.Log{}, two.Log{}},
		"columns":   {group(data.Schema.Name(0)), group(data.Schema.Name(2))},
	} {
		journal := filepath.Join(t.TempDir(), "journal")
		run := func(step transformer.Fitter) (*gridsearch.Result, error) {
			p := pipeline.Pipeline{Steps: []pipeline.Step{{Name: "s", Fitter: step}}, Estimator: estimator.NewLogistic()}
			s := gridsearch.NewSearch(p, gridsearch.Axis{Path: "logistic.C", Values: []any{0.1, 1.0}})
			s.Splitter, s.Journal = datasets.KFold{Folds: 2, Shuffle: true}, journal
			return s.Run(context.Background(), data)
		}
		if _, err := run(c.first); err != nil {
			t.Fatal(err)
		}
		if r, err := run(c.second); err == nil || !strings.Contains(err.Error(),
			"another search, which differs in estimator") {
			t.Errorf("%s: the journal was taken up, %v, %v", name, r, err)
		}
		if r, err := run(c.first); err != nil || r.Resumed != 4 {
			t.Errorf("%s: the journal of the same search was not taken up (%v)", name, err)
		}
	}
}
