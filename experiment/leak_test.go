package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/experiment/scaffold"
)

// TestInputsThatDetermineTheTarget checks that init, auto and a run name such inputs, and no others.
func TestInputsThatDetermineTheTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(2, 3))
	rows, classes := "a,leak,y\n", "a,code,y\n"
	for range 300 {
		a := rng.NormFloat64()
		y := a + 0.1*rng.NormFloat64()
		rows += fmt.Sprintf("%.4f,%.6f,%.6f\n", a, 3*y+1, y)
		word := map[bool]string{true: "yes", false: "no"}[y > 0]
		classes += fmt.Sprintf("%.4f,%s%d,%s\n", a, word[:1], rng.IntN(4), word)
	}
	for name, c := range map[string]struct{ rows, input string }{"rows": {rows, "leak"}, "classes": {classes, "code"}} {
		put(t, name+".csv", c.rows)
		var remarks []string
		draft, err := scaffold.Experiment(context.Background(), name+".csv", scaffold.Options{
			Remark: func(text string) { remarks = append(remarks, text) }})
		if err != nil {
			t.Fatal(err)
		}
		want := "Column " + c.input + ": it determines the target"
		if all := strings.Join(remarks, "\n"); !strings.Contains(all, want) || !strings.Contains(string(draft), want) ||
			strings.Count(all, "determines") != 1 {
			t.Errorf("%s: init says %q\n%s", name, remarks, draft)
		}
		var decided []string
		found, err := Auto(context.Background(), name+".csv", AutoOptions{Candidates: 2, Minutes: 5, Dir: name,
			OnDecision: func(text string) { decided = append(decided, text) }})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(decided, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: auto decides %q", name, decided)
		}
		want = "the target y is determined by " + c.input + " alone"
		if all := strings.Join(found.Warnings, "\n"); strings.Count(all, want) != 1 ||
			!strings.Contains(text(t, name+"/report.html"), want) {
			t.Errorf("%s: warnings %q", name, found.Warnings)
		}
	}
}
