package pipeline_test

import (
	"context"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestByOrigin checks that columns that share a relevance are listed by the column from which they were
// encoded, and others individually.
func TestByOrigin(t *testing.T) {
	r := pipeline.Relevance{Step: "ard", Columns: []string{"age", "job=a", "job=b", "title=x", "title=y", "town=u", "town=v"},
		Origins: []string{"", "job", "job", "title", "title", "town", "town"}, Values: []float64{1, 0.5, 0.2, 0, 0.3, 0, 0}}
	want := pipeline.Relevance{Step: "ard", Columns: []string{"age", "job=a", "job=b", "title", "town"},
		Values: []float64{1, 0.5, 0.2, 0.3, 0}}
	if got := r.ByOrigin(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestHashedOrigin checks that hashed columns of a single column keep it as their origin.
func TestHashedOrigin(t *testing.T) {
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "age"},
		{Name: "job", Kind: datasets.Categorical, Categories: []string{"a", "b", "c"}}}}
	hash := transformer.NewHash()
	hash.Features = 4
	spec := pipeline.NewColumns(pipeline.Group{Name: "h", Select: []string{"job"}, Steps: pipeline.Steps(hash)})
	fitted, err := spec.Fit(context.Background(), datasets.Set{X: mat.NewDense(3, 2, []float64{1, 0, 2, 1, 3, 2}), Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	out := fitted.(transformer.Describer).OutputSchema(schema)
	if len(out.Columns) != 4 {
		t.Fatalf("%d columns, want 4", len(out.Columns))
	}
	for _, c := range out.Columns {
		if c.EncodedFrom != "job" || c.EncodedKind != datasets.Categorical || c.Kind != datasets.Numeric {
			t.Errorf("%+v is not encoded from job", c)
		}
	}
}
