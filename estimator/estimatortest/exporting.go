package estimatortest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
)

// exports checks that the exported graph predicts the same as the model for held-out rows,
// including extreme ones.
func (s *suite) exports(t testing.TB) {
	p := s.fit(t, s.data)
	if !isExporter(p) {
		t.Skip("not a graph.ModelExporter")
	}
	rows := s.sample(3, 240).X.(*mat.Dense)
	rng := rand.New(rand.NewPCG(4, 30))
	for i := 0; i < 240; i += 8 {
		rows.RawRowView(i)[rng.IntN(5)] *= 25
	}
	g := graph.New(make([]graph.Input, 5))
	pred, err := estimator.Export(g, p, g.Input())
	if err != nil {
		var errs graph.StepErrors
		if s.Unexported != "" && errors.As(graph.Join(err), &errs) {
			for _, f := range errs {
				if f.Err.Error() == s.Unexported {
					return
				}
			}
		}
		t.Fatalf("it cannot be exported: %v", err)
	}
	if s.Unexported != "" {
		t.Fatal("Options.Unexported is set, but the model can be exported")
	}
	want, err := estimator.Predict(context.Background(), p, rows, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	s.sameExport(t, g, pred, want, rows)
}

// isExporter reports whether p is a graph.ModelExporter, rather than a wrapper of one.
func isExporter(p estimator.Predictor) bool {
	if _, ok := p.(graph.ModelExporter); ok {
		return true
	}
	w, wraps := p.(estimator.Wrapper)
	if _, keeps := p.(model.Stateful); !wraps || keeps {
		return false
	}
	within, sameRows := w.Unwrap()
	return sameRows && isExporter(within)
}

// exported is an output of a prediction, as a graph and as a matrix of rows × columns.
type exported struct {
	name string
	of   graph.Value
	want *mat.Dense
}

// sameExport compares all that a prediction has.
func (s *suite) sameExport(t testing.TB, g *graph.Graph, pred graph.Prediction, want estimator.Prediction,
	rows *mat.Dense) {
	n, _ := rows.Dims()
	column := func(list []float64) *mat.Dense {
		if list == nil {
			return nil
		}
		return mat.NewDense(n, 1, list)
	}
	several := func(targets *mat.Dense, first []float64) *mat.Dense {
		if targets != nil {
			return targets
		}
		return column(first)
	}
	all := []exported{
		{"values", pred.Values, column(want.Values)}, {"scores", pred.Scores, want.Scores},
		{"probabilities", pred.Probabilities, want.Probabilities},
		{"std", pred.Std, several(want.StdTargets, want.Std)}, {"lower", pred.Lower, several(want.LowerTargets, want.Lower)},
		{"upper", pred.Upper, several(want.UpperTargets, want.Upper)}, {"sets", pred.Sets, want.Sets},
		{"anomaly scores", pred.Anomaly, column(want.Anomaly)},
	}
	if want.Targets != nil && want.Targets.RawMatrix().Cols > 1 {
		all = append(all, exported{"targets", pred.Targets, want.Targets})
	}
	for _, one := range all {
		if one.of.None() != (one.want == nil) {
			t.Fatalf("the model has %s: %v, its export: %v", one.name, one.want != nil, !one.of.None())
		}
		if !one.of.None() {
			g.Output(one.name, one.of)
		}
	}
	got, err := g.Run(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.want == nil {
			continue
		}
		if a, b := got[one.name].Dims(); a != n || b != one.want.RawMatrix().Cols {
			t.Fatalf("%s are %d×%d, want %d×%d", one.name, a, b, n, one.want.RawMatrix().Cols)
		}
		for i := range n {
			for j, w := range one.want.RawRowView(i) {
				if v := got[one.name].At(i, j); !(math.Abs(v-w) <= s.ExportTolerance*max(1, math.Abs(w))) {
					t.Fatalf("%s of row %d: the graph computes %v, the model %v", one.name, i, v, w)
				}
			}
		}
	}
}
