package pipeline_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// TestPassesGiveTheBitsOfFitSource checks that pipelines fitted in passes predict the same bits as
// FitSource on the same blocks.
func TestPassesGiveTheBitsOfFitSource(t *testing.T) {
	single := pipeline.Steps(encoder(), fourier(30)).Then(estimator.NewRidge())
	single.Precision = pipeline.Float32
	whitened := transformer.NewPCA()
	whitened.Whiten = true
	side := pipeline.NewUnion(transformer.NewRobust(), fourier(10))
	few := transformer.NewBinning() // of inputs that a step encodes
	few.Gamma, few.Grids, few.Inputs, few.Columns = kernel.FixedGamma(1), 30, 2, 120
	for name, c := range map[string]struct {
		spec pipeline.Pipeline
		data datasets.Set
	}{
		"encoded": {pipeline.Steps(encoder(), fourier(30)).Then(estimator.NewRidge()), amounts(people(5000, 1))},
		"single":  {single, amounts(people(5000, 1))},
		"many passes": {pipeline.Steps(transformer.NewRobust(), transformer.NewQuantile(),
			whitened).Then(estimator.NewRidge()), numbers(300, 2)},
		"union":          {pipeline.Steps(side, transformer.NewStandardize()).Then(estimator.NewRidge()), numbers(300, 2)},
		"nothing before": {pipeline.Steps().Then(estimator.NewRidge()), numbers(300, 2)},
		"origins":        {pipeline.Steps(encoder(), few).Then(estimator.NewRidge()), amounts(people(300, 4))},
		"classes":        {pipeline.Steps(encoder()).Then(estimator.NewRidgeClassifier()), people(3000, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			want, err := c.spec.FitSource(ctx, c.data.Source())
			if err != nil {
				t.Fatal(err)
			}
			got, err := estimator.Learn(ctx, c.spec, c.data.Source())
			if err != nil {
				t.Fatal(err)
			}
			a, err := estimator.Predict(ctx, got, c.data.X, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := estimator.Predict(ctx, want, c.data.X, estimator.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a.Values, b.Values) || a.Scores != nil && !mat.Equal(a.Scores, b.Scores) {
				t.Error("a fit by passes has other predictions")
			}
		})
	}
}

// TestPassesErrorNamesPart checks that a part that does not support passes is an error that names
// it, before any row is read.
func TestPassesErrorNamesPart(t *testing.T) {
	scaled := transformer.NewRFF()
	for _, c := range []struct {
		spec pipeline.Pipeline
		want string
	}{
		{pipeline.Steps(transformer.NewStandardize(), pipeline.NewUnion(scaled)).Then(estimator.NewRidge()), `part "rff"`},
		{pipeline.Steps(pipeline.NewColumns(pipeline.Group{Select: []string{"numeric"},
			Steps: pipeline.Steps(scaled)})).Then(estimator.NewRidge()), `group "numeric": step "rff"`},
		{pipeline.Steps(transformer.NewStandardize()).Then(mean{}), `step "mean"`},
	} {
		_, err := c.spec.Start(context.Background(), datasets.Schema{}, 3)
		if !errors.Is(err, datasets.ErrNoPasses) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one of %s", c.spec, err, c.want)
		}
	}
}

// TestPassesErrorNamesRow checks that errors of passes name the step and the row, like those of a
// fit.
func TestPassesErrorNamesRow(t *testing.T) {
	ctx, data := context.Background(), numbers(50, 2)
	data.X.(*mat.Dense).Set(33, 1, -1e9)
	steps := pipeline.Steps(transformer.NewStandardize(), picky{}).Then(estimator.NewRidge())
	p, err := steps.Start(ctx, data.Schema, data.Cols())
	if err != nil {
		t.Fatal(err)
	}
	for turn := 1; err == nil && turn < 5; turn++ {
		for lo := 0; lo < 50 && err == nil; lo += 20 {
			err = p.Add(ctx, data.Slice(lo, min(lo+20, 50)))
		}
		if err == nil {
			p, err = p.Next(ctx)
		}
	}
	var row *datasets.RowError
	if !errors.As(err, &row) || row.Row != 33 || !strings.Contains(err.Error(), `step "picky"`) {
		t.Errorf("error %v", err)
	}
}

// TestPassesMergeAfterEqualSteps checks that only parts with the same fitted steps can be
// merged, unlike a part that continued alone.
func TestPassesMergeAfterEqualSteps(t *testing.T) {
	ctx, data := context.Background(), numbers(100, 2)
	spec := pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewRidge())
	part := func(lo, hi int) datasets.Pass {
		p, err := spec.Start(ctx, data.Schema, data.Cols())
		if err == nil {
			err = p.Add(ctx, data.Slice(lo, hi))
		}
		if err == nil {
			p, err = p.Next(ctx)
		}
		if err == nil {
			err = p.Add(ctx, data.Slice(lo, hi))
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := part(0, 50).Merge(ctx, part(50, 100)); err == nil ||
		!strings.Contains(err.Error(), `step "standardize": the rows were not mapped by the same fitted steps`) {
		t.Errorf("error %v", err)
	}
	if err := part(0, 50).Merge(ctx, part(0, 50)); err != nil {
		t.Error(err)
	}
}

// picky is a data-independent step that rejects very negative values.
type picky struct{}

func (picky) Tags() datasets.Tags { return datasets.Tags{DataIndependent: true} }

func (picky) Fit(context.Context, datasets.Set) (transformer.Transformer, error) {
	return picky{}, nil
}

func (picky) Transform(_ context.Context, X mat.Matrix) (mat.Matrix, error) {
	n, _ := X.Dims()
	for i := range n {
		if X.At(i, 1) < -5 {
			return nil, &datasets.RowError{Row: i, Err: errors.New("too low")}
		}
	}
	return X, nil
}
