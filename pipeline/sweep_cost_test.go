package pipeline_test

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// priced is a step whose fit takes 1000 flops for each row, and mapping one that is new 1.
type priced struct{ transformer.Standardize }

func (s *priced) Params(l *param.List) { s.Standardize.Params(l) }

func (priced) Cost(shape datasets.Shape) datasets.Cost {
	return datasets.Cost{Flops: 1000 * float64(shape.Rows), Each: 1, Width: shape.Cols}
}

// free is an estimator that costs nothing to fit, and 7 flops a prediction.
type free struct{ estimator.Ridge }

func (s *free) Params(l *param.List) { s.Ridge.Params(l) }

func (free) Cost(datasets.Shape) datasets.Cost { return datasets.Cost{Each: 7} }

// A step is fitted to the training rows of a fold and maps those of its test, be it shared or not, and a candidate by itself
// predicts for these.
func TestCostOfTestRows(t *testing.T) {
	const n = 30
	shape := datasets.Shape{Rows: n, Cols: 4, Outputs: 1}
	p := pipeline.Steps(priced{transformer.NewStandardize()}).Then(free{estimator.NewRidge()})
	for candidates, want := range map[int]float64{
		1: 3 * (20*1000 + 20*4*60 + 10 + 10*(2*4+7)), // of each fold; a pipeline keeps what it maps, at 60 flops a number
		2: 3 * (20*1000 + 10),
	} {
		list := grid(t, p, param.Setting{Path: "free.alpha", Value: []any{1.0, 2.0}})[:candidates]
		cost, _, err := p.BatchCost(estimator.Batch{Shape: shape, Folds: thirds(n), Candidates: estimator.Candidates(list...)})
		if err != nil || cost.Flops != want {
			t.Errorf("%d candidates cost %v, wanted %v; %v", candidates, cost.Flops, want, err)
		}
	}
}

// Leaving one out costs a map and a Gram matrix for each width of the kernel, and for each penalty a factor and a system of it
// for every row, whatever the penalties.
func TestCostOfLeavingOneOut(t *testing.T) {
	const n, d = 4000, 256
	shape := datasets.Shape{Rows: n, Cols: 5, Outputs: 1}
	p := pipeline.Steps(fourier(d)).Then(estimator.NewRidge())
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	cost := func(gammas, alphas int) float64 {
		list := grid(t, p, param.Setting{Path: "rff.gamma", Value: []any{0.1, 0.2, 0.4}[:gammas]}, param.Setting{Path: "ridge.alpha", Value: []any{1.0, 2.0, 3.0, 4.0}[:alphas]})
		out, shared, err := p.BatchCost(estimator.Batch{Shape: shape, Folds: []datasets.Fold{{Train: all, Test: all}}, Candidates: estimator.Candidates(list...), OneOut: true})
		if err != nil || slices.Contains(shared, "alpha") != (alphas > 1) || !slices.Contains(shared, "rows") || out.Bytes < 8*n*d {
			t.Fatalf("%+v, shared %v, %v", out, shared, err)
		}
		return out.Flops
	}
	one, each := cost(1, 1), cost(1, 2)-cost(1, 1)
	if got := cost(3, 4); math.Abs(got-3*(one+3*each)) > 1e-9*got {
		t.Errorf("three widths and four penalties cost %v, one %v, another penalty %v", got, one, each)
	}
	gram, solve := float64(n*d*d), float64(n*d*d+d*d*d/3)
	if mapped := one - each; each < solve || each > 1.6*solve || mapped < gram || mapped > 3*gram {
		t.Errorf("a penalty costs %v, of which its systems are %v; a width %v, of which its Gram matrix is %v", each, solve, mapped, gram)
	}
}
