package diagnostics

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/metrics"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func itself(row int) int { return row }

var yesOrNo = datasets.Schema{Targets: []datasets.Column{{Name: "kind", Kind: datasets.Categorical,
	Categories: []string{"no", "yes"}}}}

// TestClassDiagnostics compares binary diagnostics with counts by hand.
func TestClassDiagnostics(t *testing.T) {
	got := metrics.Input{
		YTrue: []float64{0, 0, 0, 1, 1, 0}, YPred: []float64{0, 1, 0, 1, 0, 0},
		Probabilities: mat.NewDense(6, 2, []float64{.9, .1, .4, .6, .8, .2, .3, .7, .7, .3, .95, .05}),
	}
	var f result.Findings
	if err := Judged(&f, got, datasets.Classification, yesOrNo, 0, itself); err != nil {
		t.Fatal(err)
	}
	if want := [][]float64{{3, 1}, {1, 1}}; !reflect.DeepEqual(f.Confusion.Counts, want) {
		t.Errorf("counts %v, want %v", f.Confusion.Counts, want)
	}
	want := []result.Class{{Name: "no", Precision: 0.75, Recall: 0.75, F1: 0.75, Support: 4},
		{Name: "yes", Precision: 0.5, Recall: 0.5, F1: 0.5, Support: 2}}
	if !reflect.DeepEqual(f.PerClass, want) {
		t.Errorf("classes %+v", f.PerClass)
	}
	// Of the 8 pairs of a yes and a no, 7 are in the right order.
	if len(f.ROC) != 1 || f.ROC[0].Class != "yes" || !near(f.ROC[0].Area, 7.0/8) {
		t.Errorf("ROC %+v", f.ROC)
	}
	// Found at the first and the third threshold: precision 1 and 2/3.
	if !near(f.PrecisionRecall[0].Area, (1+2.0/3)/2) {
		t.Errorf("average precision %v", f.PrecisionRecall[0].Area)
	}
	c := f.Calibration[0]
	off := 0.0
	for k := range c.Rows {
		off += c.Rows[k] * math.Abs(c.Predicted[k]-c.Observed[k]) / 6
	}
	if !near(c.Error, off) || slices.Max(c.Rows) > 6 {
		t.Errorf("calibration %+v", c)
	}
}

// TestAreasAreThoseOfMetrics checks that the areas equal the metrics of these names, on random
// rows.
func TestAreasAreThoseOfMetrics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 700
	output := metrics.Input{YTrue: make([]float64, n), YPred: make([]float64, n), Scores: mat.NewDense(n, 1, nil),
		Classes: 2}
	for i := range n {
		output.YTrue[i] = float64(rng.IntN(2))
		output.Scores.Set(i, 0, math.Round(4*(rng.NormFloat64()+output.YTrue[i]))/4)
	}
	var f result.Findings
	if err := Judged(&f, output, datasets.Classification, yesOrNo, 0, itself); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]float64{"roc_auc": f.ROC[0].Area, "average_precision": f.PrecisionRecall[0].Area} {
		m, _ := metrics.ByName(name)
		if want, _ := m.Score(output); !near(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if f.Calibration != nil || len(f.ROC[0].X) > curvePoints {
		t.Errorf("%d points, calibration %v", len(f.ROC[0].X), f.Calibration)
	}
}

// Errors have their quantiles, the worst rows by their number in the file, and a sample.
func TestNumberDiagnostics(t *testing.T) {
	n := 2000
	got := metrics.Input{YTrue: make([]float64, n), YPred: make([]float64, n)}
	for i := range n {
		got.YPred[i] = float64(i+1) / 1000 // off by 0.001 … 2
	}
	got.YPred[0] = -5
	var f result.Findings
	schema := datasets.Schema{Targets: []datasets.Column{{Name: "price"}}}
	if err := Judged(&f, got, datasets.Regression, schema, 0, func(row int) int { return 10 * row }); err != nil {
		t.Fatal(err)
	}
	e := f.Errors[0]
	if e.Target != "price" || e.Worst[0] != (result.Row{Number: 0, Predicted: -5}) ||
		e.Worst[1] != (result.Row{Number: 19990, Predicted: 2}) || len(e.Worst) != worstRows || len(e.Sample) != sampleRows {
		t.Errorf("%+v", e.Worst)
	}
	for _, q := range e.Quantiles {
		count := 0
		for i := range n {
			if math.Abs(got.YPred[i]) <= q.Error {
				count++
			}
		}
		if share := float64(count) / float64(n); share < q.Share || share > q.Share+1.0/float64(n) {
			t.Errorf("%v of the rows are off by at most %v, want %v", share, q.Error, q.Share)
		}
	}
	if want := (2001.0 - 0.001 + 5) / 2000; !near(e.Absolute, want) {
		t.Errorf("mean absolute error %v, want %v", e.Absolute, want)
	}
	if want := (2001.0*1000/1000 - 0.001 - 5) / 2000; !near(e.Mean, want) {
		t.Errorf("mean error %v, want %v", e.Mean, want)
	}
}

// Counts have their Poisson frequencies, with those above 20 together; a quantile has the share of
// targets below it in each bin of predictions.
func TestJudgedCountsAndQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	n := 20_000
	got := metrics.Input{YTrue: make([]float64, n), YPred: make([]float64, n)}
	for i := range n {
		got.YPred[i] = math.Exp(2 * rng.NormFloat64())
		for at := rng.ExpFloat64(); at < got.YPred[i]; at += rng.ExpFloat64() {
			got.YTrue[i]++
		}
	}
	var f result.Findings
	schema := datasets.Schema{Targets: []datasets.Column{{Name: "trips"}}}
	if err := Judged(&f, got, datasets.Regression, schema, 0, itself); err != nil || f.Quantile.Rows != nil {
		t.Fatal(err, f.Quantile)
	}
	observed, expected := 0.0, 0.0
	for k, o := range f.Counts.Observed {
		e := f.Counts.Expected[k]
		if observed, expected = observed+o, expected+e; math.Abs(o-e) > 4*math.Sqrt(e) {
			t.Errorf("count %d: %v observed, %v expected", k, o, e)
		}
	}
	if observed != float64(n) || math.Abs(expected-float64(n)) > 1e-6 || len(f.Counts.Observed) != 22 {
		t.Errorf("%v rows observed, %v expected, in %d groups", observed, expected, len(f.Counts.Observed))
	}
	for i := range n { // the 0.9-quantile, but of the rows with large predictions the median
		if got.YTrue[i] = got.YPred[i] - 9; i%10 == 0 || got.YPred[i] > 8 && i%2 == 0 {
			got.YTrue[i] += 10
		}
	}
	f = result.Findings{}
	if err := Judged(&f, got, datasets.Regression, schema, 0.9, itself); err != nil || f.Counts.Observed != nil {
		t.Fatal(err, f.Counts)
	}
	q := f.Quantile
	if q.Quantile != 0.9 || len(q.Below) != bins || q.Rows[9] != n/bins || !slices.IsSorted(q.Predicted) ||
		math.Abs(q.Below[0]-0.9) > 0.03 || math.Abs(q.Below[9]-0.5) > 0.1 {
		t.Errorf("%+v", q)
	}
	got.YTrue[3] = 0.5
	f = result.Findings{}
	if err := Judged(&f, got, datasets.Regression, schema, 0, itself); err != nil || f.Counts.Observed != nil {
		t.Errorf("%v are counts", f.Counts)
	}
}

// Rows without labels, or of one class, give no findings and no error.
func TestNothingToJudge(t *testing.T) {
	for _, got := range []metrics.Input{{}, {YPred: []float64{1, 2}}} {
		for _, task := range []datasets.Task{datasets.Regression, datasets.Classification, datasets.Anomaly,
			datasets.Clustering} {
			var f result.Findings
			if err := Judged(&f, got, task, yesOrNo, 0, itself); err != nil || !reflect.DeepEqual(f, result.Findings{}) {
				t.Errorf("%s: %+v, %v", task, f, err)
			}
		}
	}
	var f result.Findings
	one := metrics.Input{YTrue: []float64{0, 0}, YPred: []float64{0, 0}, Scores: mat.NewDense(2, 1, nil)}
	if err := Judged(&f, one, datasets.Classification, yesOrNo, 0, itself); err != nil || f.ROC != nil ||
		f.PerClass[1].Support != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Simple models are the shares of the classes or the weighted mean, and a linear model that takes any columns.
func TestBaselines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 400
	X, y, words := mat.NewDense(n, 2, nil), make([]float64, n), []string{"a", "b", "c"}
	for i := range n {
		x, k := rng.NormFloat64(), rng.IntN(3)
		X.SetRow(i, []float64{x, float64(k)})
		y[i] = 3*x + 5*float64(k%2)
		if i%10 == 0 {
			X.Set(i, 0, math.NaN())
			y[i] = 5 * float64(k%2)
		}
	}
	schema := datasets.Schema{Columns: []datasets.Column{{Name: "x"},
		{Name: "k", Kind: datasets.Categorical, Categories: words}}, Targets: []datasets.Column{{Name: "y"}}}
	data := datasets.Set{Schema: schema, X: X, Y: y, Weights: slices.Repeat([]float64{0.5}, n)}
	list, err := Baselines(context.Background(), data, datasets.Regression, nil)
	if err != nil || len(list) != 2 || list[0].Name != "mean" || list[1].Name != "linear model" {
		t.Fatalf("%+v, %v", list, err)
	}
	mean := 0.0
	for _, v := range y {
		mean += v / float64(n)
	}
	got, err := list[0].Model.Predict(context.Background(), X.Slice(0, 3, 0, 2))
	if err != nil || len(got) != 3 || math.Abs(got[1]-mean) > 1e-9 {
		t.Errorf("the mean is %v, want %v (%v)", got, mean, err)
	}
	got, err = list[1].Model.Predict(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	r2, _ := metrics.ByName("r2")
	if v, _ := r2.Score(metrics.Input{YTrue: y, YPred: got}); !(v > 0.99) {
		t.Errorf("the linear model has R² %v of a linear function", v)
	}
	data.Schema.Targets, data.Weights = yesOrNo.Targets, nil
	for i := range y {
		y[i] = float64(i % 4 / 3)
	}
	list, err = Baselines(context.Background(), data, datasets.Classification, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := estimator.Predict(context.Background(), list[0].Model, X, estimator.Request{})
	if err != nil || list[0].Name != "most frequent class" || p.Values[0] != 0 || !near(p.Probabilities.At(9, 1), 0.25) {
		t.Errorf("%v, %v, %v", p.Values[0], p.Probabilities.RawRowView(9), err)
	}
}

// A learning curve has the parts of the rows, each within the next, and ends with the model itself.
func TestLearning(t *testing.T) {
	n := 640
	data := datasets.Set{X: mat.NewDense(n, 1, nil), Y: make([]float64, n)}
	for i := range n {
		data.X.(*mat.Dense).Set(i, 0, float64(i))
	}
	whole, _ := estimator.NewRidge().Fit(context.Background(), data)
	var seen []datasets.Set
	var f result.Findings
	err := Learning(context.Background(), &f, estimator.NewRidge(), whole, data, 6, 7,
		func(ctx context.Context, model estimator.Predictor, learned datasets.Set) (own, others float64, err error) {
			seen = append(seen, learned)
			if (model == whole) != (learned.Rows() == n) {
				t.Errorf("the model of %d rows", learned.Rows())
			}
			if learned.Rows() == 80 {
				return 0, 0, errors.New("no score")
			}
			return float64(learned.Rows()), -float64(learned.Rows()), nil
		})
	curve := f.LearningCurve
	if err != nil || !slices.Equal(curve.Rows, []int{20, 40, 160, 320, 640}) || curve.Scores[4] != -640 ||
		curve.Train[0] != 20 {
		t.Fatalf("%+v, %v", curve, err)
	}
	for k := 1; k < len(seen); k++ {
		larger := mat.Col(nil, 0, seen[k].X)
		for _, x := range mat.Col(nil, 0, seen[k-1].X) {
			if !slices.Contains(larger, x) {
				t.Fatalf("row %v is not in the larger part", x)
			}
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Learning(ended, new(result.Findings), estimator.NewRidge(), whole, data, 6, 7,
		func(ctx context.Context, _ estimator.Predictor, _ datasets.Set) (float64, float64, error) {
			return 0, 0, ctx.Err()
		}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	f = result.Findings{}
	if err := Learning(context.Background(), &f, estimator.NewRidge(), whole, data.Slice(0, 30), 6, 7,
		same); err != nil || f.LearningCurve.Rows != nil {
		t.Errorf("30 rows: %+v, %v", f.LearningCurve, err)
	}
}

func same(context.Context, estimator.Predictor, datasets.Set) (float64, float64, error) {
	return 1, 1, nil
}
