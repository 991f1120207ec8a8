package transformertest

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
)

// exportsWhatItComputes checks that the exported graph computes the same as the step for unseen
// rows, including missing, unknown and extreme values. Rows that the step rejects are skipped,
// because a graph cannot return errors.
func exportsWhatItComputes(s *suite) {
	f := s.fit(s.Data)
	step, ok := f.(graph.StepExporter)
	if !ok {
		s.Skip("not a graph.StepExporter")
	}
	inputs := make([]graph.Input, s.Data.Cols())
	g := graph.New(inputs)
	out, err := step.Export(g, g.Input())
	switch {
	case err != nil && s.Unexported:
		return
	case err != nil:
		s.Fatalf("Export: %v", err)
	case s.Unexported:
		s.Fatal("Options.Unexported is set, but the step can be exported")
	case g.Err() != nil:
		s.Fatalf("Export: %v", g.Err())
	}
	g.Output("features", out)
	rows := s.unseen(240)
	got, err := g.Run(rows)
	if err != nil {
		s.Fatalf("Run: %v", err)
	}
	taken := 0
	for i := range rows.RawMatrix().Rows {
		want, err := f.Transform(context.Background(), rowblock.Slice(rows, i, i+1))
		if err != nil {
			continue
		}
		taken++
		s.equal(rowblock.Slice(got["features"], i, i+1), want, s.ExportTolerance,
			"the graph makes of a row what Transform makes of it")
	}
	if taken < 20 {
		s.Errorf("the step accepts %d rows of %d: too few for the check", taken, rows.RawMatrix().Rows)
	}
}

// unseen returns new rows similar to the data: entries from different rows, numbers perturbed, some
// extreme, missing or unknown.
func (s *suite) unseen(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(11, 12))
	rows, d := s.Data.X.Dims()
	out := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			v := s.Data.X.At(rng.IntN(rows), j)
			strange := rng.IntN(20)
			switch c := s.Data.Schema.Column(j); {
			case strange == 0 && s.Missing:
				v = math.NaN()
			case strange == 1 && c.Kind == datasets.Categorical:
				v = datasets.Unknown
			case c.Kind == datasets.Categorical, strange < 5: // unchanged
			case strange == 6:
				v = -v
			case strange == 7:
				v *= 30
			default:
				v += 0.3 * rng.NormFloat64() * math.Abs(v)
			}
			out.Set(i, j, v)
		}
	}
	return out
}
