package auto_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/estimator/meta"
)

// Where one recipe sees one part of what there is to learn and another one the rest, both together are chosen, and
// fitting the pipeline again makes the same ensemble.
func TestEnsemble(t *testing.T) {
	data := waves(240, 2, 5)
	for i := range data.Y {
		x := data.X.(*mat.Dense).RawRowView(i)
		data.Y[i] += 1.5*x[0] + math.Copysign(1, math.Sin(3*x[1]))
	}
	o := auto.NewOptions()
	o.Candidates = 70
	o.Recipes = []string{"zscores gaussian ridge", "zscores exponential ridge", "zscores binning ridge",
		"unit gaussian ridge"}
	result := fit(t, data, o)
	if !strings.HasPrefix(result.Chosen.Recipe, "ensemble of ") {
		t.Fatalf("chosen: %s", result.Chosen.Recipe)
	}
	chosen, best, own := 0, math.Inf(-1), auto.Entry{}
	members := result.Pipeline.Estimator.(meta.Ensemble).Members
	for _, e := range result.Leaderboard {
		switch {
		case e.Recipe == result.Chosen.Recipe:
			own = e
		case e.Chosen:
			chosen++
			if !slices.ContainsFunc(members, func(m meta.Member) bool { return m.Name == e.Member }) {
				t.Errorf("%s is the member %q", e.Recipe, e.Member)
			}
			fallthrough
		default:
			best = max(best, e.Score)
		}
	}
	if chosen < 2 || chosen != len(members) {
		t.Errorf("%d members on the leaderboard", chosen)
	}
	if own.Estimate != result.Chosen.Estimate || own.Estimate == own.Score || math.Abs(own.Estimate-own.Score) > 0.1 {
		t.Errorf("estimate %g, %g of the result, of score %g", own.Estimate, result.Chosen.Estimate, own.Score)
	}
	if !own.Chosen || own.Score != result.Chosen.Score || own.Rank != 1 || !(own.StdError > 0) {
		t.Errorf("the ensemble is %+v on the leaderboard, and %+v is chosen", own, result.Chosen)
	}
	for _, e := range result.Leaderboard[1:] {
		if e.StdError == own.StdError {
			t.Errorf("the ensemble has the standard error of %s", e.Recipe)
		}
	}
	model, err := result.Pipeline.Fit(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := result.Model.Predict(context.Background(), data.X)
	q, _ := model.Predict(context.Background(), data.X)
	if !reflect.DeepEqual(p, q) {
		t.Error("fitted again it predicts otherwise")
	}
	if result.Chosen.Score <= best {
		t.Errorf("score %.4f of the ensemble, %.4f of the best separately", result.Chosen.Score, best)
	}
}
