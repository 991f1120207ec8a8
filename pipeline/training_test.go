package pipeline_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/batch"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// shops returns rows with a shop, one of many, that is independent of the target, and a number that
// is not.
func shops(n, levels int, seed uint64) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))
	data := datasets.Set{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range n {
		data.X.(*mat.Dense).SetRow(i, []float64{float64(rng.IntN(levels)), rng.NormFloat64()})
		data.Y[i] = data.X.At(i, 1) + rng.NormFloat64()
	}
	data.Schema = datasets.Schema{Columns: []datasets.Column{
		{Name: "shop", Kind: datasets.Categorical, Categories: make([]string, levels)}, {Name: "amount"}},
		Targets: []datasets.Column{{Name: "y"}}}
	return data
}

// targetEncoded encodes the shops and passes the numbers on.
func targetEncoded(more ...transformer.Fitter) pipeline.Sequence {
	step := pipeline.NewColumns(
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewTargetEncode())},
		pipeline.Group{Select: []string{"numeric"}})
	return pipeline.Steps(append([]transformer.Fitter{step}, more...)...)
}

// TestFitsReadCrossFittedRows checks that steps after a cross-fitted step are fitted to the
// cross-fitted features, in memory, from streams and in searches, and that new rows get encodings
// fitted to all rows.
func TestFitsReadCrossFittedRows(t *testing.T) {
	ctx, data, other := context.Background(), shops(3000, 300, 1), shops(500, 300, 2)
	category := data
	category.X, category.Schema.Columns = data.X.(*mat.Dense).Slice(0, 3000, 0, 1), data.Schema.Columns[:1]
	encoder, train, err := transformer.NewTargetEncode().FitTransform(ctx, category)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := encoder.Transform(ctx, mat.DenseCopyOf(other.X.(*mat.Dense).Slice(0, 500, 0, 1)))
	if err != nil {
		t.Fatal(err)
	}
	plain := pipeline.Steps(transformer.NewStandardize()).Then(estimator.NewRidge())
	fitted, err := plain.Fit(ctx, datasets.Set{X: withNumbers(train, data.X), Y: data.Y})
	if err != nil {
		t.Fatal(err)
	}
	want, err := fitted.Predict(ctx, withNumbers(encoded, other.X))
	if err != nil {
		t.Fatal(err)
	}
	p := targetEncoded(transformer.NewStandardize()).Then(estimator.NewRidge())
	nested := pipeline.Steps(pipeline.NewUnion(pipeline.NewChain(p.Steps[0].Fitter, p.Steps[1].Fitter))).Then(p.Estimator)
	uncached, single := p, p
	uncached.Memory, single.Precision = 1, pipeline.Float32
	frozen := p
	chain, err := pipeline.Chain{Steps: p.Steps}.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	frozen.Steps = []pipeline.Step{pipeline.Step{Fitter: pipeline.Chain{Steps: p.Steps}}.WithFitted(chain)}
	for name, fit := range map[string]func() (estimator.Predictor, error){
		"in memory":       func() (estimator.Predictor, error) { return p.Fit(ctx, data) },
		"nested":          func() (estimator.Predictor, error) { return nested.Fit(ctx, data) },
		"uncached":        func() (estimator.Predictor, error) { return uncached.Fit(ctx, data) },
		"float32":         func() (estimator.Predictor, error) { return single.Fit(ctx, data) },
		"frozen":          func() (estimator.Predictor, error) { return frozen.Fit(ctx, data) },
		"a stream":        func() (estimator.Predictor, error) { return p.FitSource(ctx, data.Source()) },
		"passes":          func() (estimator.Predictor, error) { return estimator.Learn(ctx, p, data.Source()) },
		"passes, nested":  func() (estimator.Predictor, error) { return estimator.Learn(ctx, nested, data.Source()) },
		"float32, passes": func() (estimator.Predictor, error) { return estimator.Learn(ctx, single, data.Source()) },
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fit()
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Predict(ctx, other.X)
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-9
			if name[:1] == "f" && name != "frozen" {
				tolerance = 1e-5
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > tolerance {
					t.Fatalf("prediction %d is %v, want %v", i, got[i], want[i])
				}
			}
			if f.(*pipeline.FittedPipeline).Chain().Training(0) != nil {
				t.Error("the model stores what only its fit needs")
			}
		})
	}
}

// withNumbers concatenates an encoded column and the amounts of X.
func withNumbers(encoded, X mat.Matrix) *mat.Dense {
	n, _ := X.Dims()
	out := mat.NewDense(n, 2, nil)
	for i := range n {
		out.SetRow(i, []float64{encoded.At(i, 0), X.At(i, 1)})
	}
	return out
}

// With several classes the encoder makes a column for each; passes and fits of all rows agree.
func TestCrossFittingOfClasses(t *testing.T) {
	ctx, data := context.Background(), shops(2000, 40, 9)
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical,
		Categories: []string{"low", "middle", "high"}}}
	for i, y := range data.Y {
		data.Y[i] = math.Max(0, math.Min(2, math.Floor(y+1+math.Mod(data.X.At(i, 0), 3)/2)))
	}
	p := targetEncoded(transformer.NewStandardize()).Then(estimator.NewRidgeClassifier())
	want, err := p.Fit(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if width := want.(*pipeline.FittedPipeline).Chain().OutputWidth(); width != 4 {
		t.Errorf("%d columns come to the model, want three and the amount", width)
	}
	got, err := estimator.Learn(ctx, p, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	samePredictions(t, got, want, data.X, 0)
}

// TestSearchesCrossFit checks that candidates that share the encoder in a search predict the same
// as separate fits.
func TestSearchesCrossFit(t *testing.T) {
	ctx, data := context.Background(), shops(1500, 200, 3)
	folds, err := datasets.KFold{Folds: 3, Shuffle: true}.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	p := targetEncoded(transformer.NewStandardize()).Then(estimator.NewRidge())
	var settings []estimator.Estimator
	for _, alpha := range []float64{1, 10} {
		s, err := p.With(param.Setting{Path: "ridge.alpha", Value: alpha})
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, s)
	}
	checked := 0
	_, err = p.FitBatch(ctx, batch.Job{Data: data, Folds: folds, Candidates: batch.Candidates(settings...),
		Yield: func(candidate, fold int, out batch.Outcome) error {
			if out.Err != nil {
				return out.Err
			}
			f, err := settings[candidate].Fit(ctx, data.Select(folds[fold].Train))
			if err != nil {
				return err
			}
			want, err := f.Predict(ctx, data.Select(folds[fold].Test).X)
			if err != nil {
				return err
			}
			for i := range want {
				if math.Abs(out.Values[i]-want[i]) > 1e-9 {
					t.Fatalf("candidate %d, fold %d, row %d: %v, want %v", candidate, fold, i, out.Values[i], want[i])
				}
			}
			checked++
			return nil
		}})
	if err != nil || checked != 6 {
		t.Fatalf("%d outcomes, error %v", checked, err)
	}
}

// An irrelevant column of 2,000 categories costs almost no accuracy: with features that contain a row's own target, the
// model would trust it.
func TestManyCategoriesDoNotLeak(t *testing.T) {
	ctx, data, other := context.Background(), shops(6000, 2000, 4), shops(4000, 2000, 5)
	r2 := func(p pipeline.Pipeline) float64 {
		f, err := p.Fit(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Predict(ctx, other.X)
		if err != nil {
			t.Fatal(err)
		}
		residual, total := 0.0, 0.0
		for i, y := range other.Y {
			residual += (y - got[i]) * (y - got[i])
			total += y * y
		}
		return 1 - residual/total
	}
	amount := pipeline.NewColumns(pipeline.Group{Select: []string{"amount"}})
	without := r2(pipeline.Steps(amount).Then(estimator.NewRidge()))
	if with := r2(targetEncoded().Then(estimator.NewRidge())); with < without-0.005 {
		t.Errorf("R² is %.4f, and %.4f without the shop", with, without)
	}
}

// TestPassesCarryCrossFitting checks that cross-fitted encodings are preserved when a partial fit
// is saved and restored between passes over the rows.
func TestPassesCarryCrossFitting(t *testing.T) {
	ctx, data := context.Background(), shops(800, 100, 6)
	p := targetEncoded(transformer.NewStandardize()).Then(estimator.NewRidge())
	want, err := estimator.Learn(ctx, p, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	current, err := p.Start(ctx, data.Schema, data.Cols())
	if err != nil {
		t.Fatal(err)
	}
	for {
		for lo := 0; lo < data.Rows(); lo += 300 {
			if err := current.Add(ctx, data.Slice(lo, min(lo+300, data.Rows()))); err != nil {
				t.Fatal(err)
			}
			archive, err := model.Record(current)
			if err != nil {
				t.Fatal(err)
			}
			if current, err = p.Start(ctx, data.Schema, data.Cols()); err != nil {
				t.Fatal(err)
			}
			if err := model.Restore(archive, current); err != nil {
				t.Fatal(err)
			}
		}
		next, err := current.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			break
		}
		current = next
	}
	got, err := p.Finish(ctx, current)
	if err != nil {
		t.Fatal(err)
	}
	samePredictions(t, got, want, data.X, 1e-12)
}

func samePredictions(t *testing.T, got, want estimator.Predictor, X mat.Matrix, tolerance float64) {
	t.Helper()
	a, err := got.Predict(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Predict(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if math.Abs(a[i]-b[i]) > tolerance {
			t.Fatalf("prediction %d is %v, want %v", i, a[i], b[i])
		}
	}
}

// Targets that are coin tosses are predicted at chance from 2,000 categories, in a search over rows in memory and over
// a stream.
func TestRandomTargetsScoreAtChance(t *testing.T) {
	ctx, data := context.Background(), shops(10_000, 2000, 7)
	rng := rand.New(rand.NewPCG(8, 1))
	for i := range data.Y {
		data.Y[i] = float64(rng.IntN(2))
	}
	data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	p := targetEncoded(transformer.NewStandardize()).Then(estimator.NewLogistic())
	search := gridsearch.NewSearch(p, gridsearch.Axis{Path: "columns.categorical.target_encode.smooth",
		Values: []any{"auto", 0.0, 20.0}}, gridsearch.Axis{Path: "logistic.C", Values: []any{0.1, 10.0}})
	search.Score = "roc_auc"
	for name, run := range map[string]func() (*gridsearch.Result, error){
		"in memory": func() (*gridsearch.Result, error) { return search.Run(ctx, data) },
		"a stream":  func() (*gridsearch.Result, error) { return search.RunSource(ctx, data.Source()) },
	} {
		result, err := run()
		if err != nil {
			t.Fatal(name, err)
		}
		for _, c := range result.Candidates {
			if math.Abs(c.Mean-0.5) > 0.025 {
				t.Errorf("%s: %v has an AUC of %v", name, c, c.Mean)
			}
		}
	}
}
