package estimator

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// codes replaces the targets by class codes obtained by thresholding; every seventh row gets an
// unrelated code.
func codes(data datasets.Set, classes int) datasets.Set {
	out := data
	out.Y = make([]float64, len(data.Y))
	for i, y := range data.Y {
		c := 0.0
		for k := 1; k < classes; k++ {
			if y > float64(k-1)-float64(classes)/3 {
				c = float64(k)
			}
		}
		if i%7 == 0 {
			c = float64(i/7) - float64(classes)*float64(i/7/classes)
		}
		out.Y[i] = c
	}
	return out
}

// TestNewtonByPassesGivesTheBitsOfAFit checks that passes over the same blocks give the bits of a
// fit by Newton's method.
func TestNewtonByPassesGivesTheBitsOfAFit(t *testing.T) {
	base := stopRows(5000, 12, false)
	thin := codes(stopRows(600, 12, false), 2)
	thin.X = matrices.CSRFromDense(thin.X)
	wide := codes(stopRows(300, 1200, false), 2)
	logistic, balanced, svm, svr, origin := NewLogistic(), NewLogistic(), NewSVM(), NewSVR(), NewLogistic()
	balanced.ClassWeight.Balanced, balanced.C = true, 20
	svr.Loss, svr.Epsilon = "squared_epsilon_insensitive", 0.3
	origin.Intercept = false
	tweedie, unpenalized := NewTweedie(), NewPoisson()
	unpenalized.Alpha, unpenalized.Intercept = 0, false
	amounts := base
	amounts.Y = make([]float64, len(base.Y))
	for i, y := range base.Y {
		amounts.Y[i] = math.Exp(y / 3)
	}
	for name, c := range map[string]struct {
		spec PassEstimator
		data datasets.Set
	}{
		"logistic":          {logistic, codes(base, 2)},
		"softmax":           {balanced, codes(base, 4)},
		"squared hinge":     {svm, codes(base, 3)},
		"squared tube":      {svr, base},
		"without origin":    {origin, codes(base, 2)},
		"sparse":            {logistic, thin},
		"single":            {logistic, shortened(codes(base, 3))},
		"by the diagonal":   {logistic, wide},
		"single, regressed": {svr, shortened(base)},
		"tweedie":           {tweedie, amounts},
		"tweedie, single":   {tweedie, shortened(amounts)},
		"unpenalized":       {unpenalized, amounts},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := c.spec.(BlockEstimator).FitSource(context.Background(), c.data.Source())
			if err != nil {
				t.Fatal(err)
			}
			got, err := Learn(context.Background(), c.spec, c.data.Source())
			if err != nil {
				t.Fatal(err)
			}
			w, b, r := solutionOf(t, got)
			ww, wb, wr := solutionOf(t, want)
			if _, ok := c.spec.(generalized); ok { // weights and the mean target are rounded in another order
				if !mat.EqualApprox(mat.NewVecDense(len(w), w), mat.NewVecDense(len(w), ww), 1e-9) ||
					!(math.Abs(b[0]-wb[0]) <= 1e-9) || r.Iterations != wr.Iterations {
					t.Errorf("by passes %v %v %+v, a fit gives %v %v %+v", w[:3], b, r, ww[:3], wb, wr)
				}
				return
			}
			if !reflect.DeepEqual(w, ww) || !reflect.DeepEqual(b, wb) ||
				!reflect.DeepEqual(r, wr) {
				t.Errorf("by passes %v %v %+v, a fit gives %v %v %+v", w[:3], b, r, ww[:3], wb, wr)
			}
		})
	}
}

// TestStartFromAModelSavesPasses checks that a warm start from a model of most rows saves passes
// and gives the same model.
func TestStartFromAModelSavesPasses(t *testing.T) {
	ctx := context.Background()
	all := codes(stopRows(3000, 12, false), 3)
	for _, spec := range []interface {
		PassEstimator
		StartFrom(ctx context.Context, from Predictor, schema datasets.Schema, cols int) (datasets.Pass, error)
	}{Logistic{C: 5, Intercept: true, Solver: "newton", Tol: 1e-9, MaxIter: 100},
		SVM{C: 5, Loss: "squared_hinge", Intercept: true, Solver: "auto", Tol: 1e-9, MaxIter: 100},
		Poisson{Alpha: 1e-3, Intercept: true, Tol: 1e-9, MaxIter: 100}} {
		before, err := spec.Fit(ctx, all.Slice(0, 2900))
		if err != nil {
			t.Fatal(err)
		}
		cold, last := passesOf(t, spec, all.Source())
		from, err := spec.Finish(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		warm, last := passesOf(t, startedFrom{spec, func() (datasets.Pass, error) {
			return spec.StartFrom(ctx, before, all.Schema, 12)
		}}, all.Source())
		got, err := spec.Finish(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		w, b, _ := solutionOf(t, got)
		ww, wb, _ := solutionOf(t, from)
		if !mat.EqualApprox(mat.NewVecDense(len(w), w), mat.NewVecDense(len(w), ww), 1e-6) ||
			!mat.EqualApprox(mat.NewVecDense(len(b), b), mat.NewVecDense(len(b), wb), 1e-6) {
			t.Errorf("%T: from a model %v %v, from zeros %v %v", spec, w[:3], b, ww[:3], wb)
		}
		if t.Logf("%T: %d passes, %d from a model", spec, cold, warm); warm >= cold {
			t.Errorf("%T: %d passes from a model, %d from zeros", spec, warm, cold)
		}
		p, err := spec.StartFrom(ctx, before, all.Schema, 12)
		if err != nil {
			t.Fatal(err)
		}
		q, err := spec.Start(ctx, all.Schema, 12)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Merge(ctx, q); err == nil || !strings.Contains(err.Error(), "must start from the same model") {
			t.Errorf("merging passes of other beginnings: %v", err)
		}
		if _, err := spec.StartFrom(ctx, before, all.Schema, 13); err == nil || !strings.Contains(err.Error(), "12 columns") {
			t.Errorf("a model of other columns: %v", err)
		}
	}
}

// startedFrom is a spec whose passes start from a fitted model.
type startedFrom struct {
	PassEstimator
	start func() (datasets.Pass, error)
}

func (s startedFrom) Start(context.Context, datasets.Schema, int) (datasets.Pass, error) {
	return s.start()
}

// TestDroppedPassesLeakNothing checks that a dropped pass leaks no goroutine.
func TestDroppedPassesLeakNothing(t *testing.T) {
	ctx, data := context.Background(), codes(stopRows(100, 5, false), 2)
	before := runtime.NumGoroutine()
	for range 50 {
		p, err := NewLogistic().Start(ctx, data.Schema, 5)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := p.Add(ctx, data); err != nil {
				t.Fatal(err)
			}
			if p, err = p.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if now := runtime.NumGoroutine(); now > before+5 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
}
