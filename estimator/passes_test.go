package estimator

import (
	"context"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/passtest"
	"github.com/bochner-ml/bochner/matrices"
)

// alike makes the columns of a set nearly equal; their relative difference is left.
func alike(data datasets.Set, left float64) datasets.Set {
	X := mat.DenseCopyOf(data.X)
	n, _ := X.Dims()
	for i := range n {
		X.Set(i, 1, X.At(i, 0)+left*X.At(i, 1))
	}
	data.X = X
	return data
}

func shortened(data datasets.Set) datasets.Set {
	X := data.X.(*mat.Dense)
	n, d := X.Dims()
	short := matrices.NewDense32(n, d, nil)
	for i := range n {
		for j := range d {
			short.Row(i)[j] = float32(X.At(i, j))
		}
	}
	data.X = short
	return data
}

// passesOf returns how many passes a spec takes, and the last one.
func passesOf(t *testing.T, spec PassEstimator, src datasets.Source) (int, datasets.Pass) {
	t.Helper()
	_, cols := src.Dims()
	p, err := spec.Start(context.Background(), src.Schema(), cols)
	for n := 1; ; n++ {
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Blocks(context.Background(), func(block datasets.Set) error {
			return p.Add(context.Background(), block)
		}); err != nil {
			t.Fatal(err)
		}
		var next datasets.Pass
		if next, err = p.Next(context.Background()); next == nil && err == nil {
			return n, p
		}
		p = next
	}
}

func solutionOf(t *testing.T, p Predictor) ([]float64, []float64, Report) {
	t.Helper()
	switch f := p.(type) {
	case *FittedLinear:
		return f.coef.RawMatrix().Data, f.intercept, f.report
	case *FittedLinearClassifier:
		return f.coef.RawMatrix().Data, f.intercept, f.report
	case *fittedGLM:
		return f.coef.RawMatrix().Data, f.intercept, f.report
	case *fittedLogistic:
		return f.coef.RawMatrix().Data, f.intercept, f.report
	}
	t.Fatalf("a %T", p)
	return nil, nil, Report{}
}

// TestRidgeRefinesByPasses checks that ill-conditioned rows take additional passes to refactor and
// refine, and float32 rows a pass in float64. The passes give the bits of Fit, and in parts, merged
// and through files, the result of Fit.
func TestRidgeRefinesByPasses(t *testing.T) {
	base := stopRows(150, 12, false)
	for name, c := range map[string]struct {
		data   datasets.Set
		alpha  float64
		passes int
	}{
		"well conditioned":        {base, 1, 1},
		"refined":                 {alike(base, 1e-5), 1e-9, 0},
		"sharpened":               {alike(base, 1e-8), 1e-12, 0},
		"singular":                {stopRows(150, 12, true), 0, 1},
		"single":                  {shortened(base), 1, 1},
		"single, again in double": {shortened(alike(base, 1e-3)), 1e-7, 0},
		"single, refined":         {shortened(alike(base, 1e-4)), 1e-9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec := NewRidge()
			spec.Alpha, spec.Solver = c.alpha, "cholesky"
			fitted, err := spec.Fit(context.Background(), c.data)
			if err != nil {
				t.Fatal(err)
			}
			n, last := passesOf(t, spec, c.data.Source())
			t.Logf("%d passes", n)
			if c.passes != 0 && n != c.passes || c.passes == 0 && n < 2 {
				t.Errorf("%d passes, want %d", n, c.passes)
			}
			got, err := spec.Finish(context.Background(), last)
			if err != nil {
				t.Fatal(err)
			}
			w, b, r := solutionOf(t, got)
			if ww, wb, wr := solutionOf(t, fitted); !reflect.DeepEqual(w, ww) || !reflect.DeepEqual(b, wb) ||
				!reflect.DeepEqual(r, wr) {
				t.Errorf("by hand %v %v %+v, Fit gives %v %v %+v", w[:3], b, r, ww[:3], wb, wr)
			}
			whole, err := fitted.Predict(context.Background(), c.data.X)
			if err != nil {
				t.Fatal(err)
			}
			l := passtest.Learner[Predictor]{Start: spec.Start, Finish: spec.Finish, Says: func(p Predictor) ([]float64, error) {
				return p.Predict(context.Background(), c.data.X)
			}}
			tolerance := 1e-6
			if _, ok := c.data.X.(*matrices.Dense32); ok {
				tolerance = 1e-3
			}
			if err := l.Parts(c.data, whole, tolerance); err != nil {
				t.Error(err)
			}
			if err := l.Damage(c.data); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRidgeAddsRows checks that adding later rows to a pass gives the model of all rows.
func TestRidgeAddsRows(t *testing.T) {
	all, spec, ctx := stopRows(400, 5, false), NewRidge(), context.Background()
	p, err := spec.Start(ctx, all.Schema, all.Cols())
	if err != nil {
		t.Fatal(err)
	}
	for lo := 0; lo < 400; lo += 100 {
		if err := p.Add(ctx, all.Slice(lo, lo+100)); err != nil {
			t.Fatal(err)
		}
		now, err := spec.Finish(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := spec.Fit(ctx, all.Slice(0, lo+100))
		if err != nil {
			t.Fatal(err)
		}
		w, b, _ := solutionOf(t, now)
		ww, wb, _ := solutionOf(t, whole)
		for i := range w {
			if d := w[i] - ww[i]; !(d < 1e-12 && d > -1e-12) || !(b[0]-wb[0] < 1e-12 && wb[0]-b[0] < 1e-12) {
				t.Fatalf("after %d rows %v %v, Fit of them gives %v %v", lo+100, w, b, ww, wb)
			}
		}
	}
}
