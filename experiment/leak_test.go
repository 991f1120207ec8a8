package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestInputsThatDetermineTheTarget checks that a run names such inputs, and no others.
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
		found, err := Auto(context.Background(), name+".csv", AutoOptions{Candidates: 2, Minutes: 5, Dir: name})
		if err != nil {
			t.Fatal(err)
		}
		want := "the target y is determined by " + c.input + " alone"
		if all := strings.Join(found.Warnings, "\n"); strings.Count(all, want) != 1 ||
			!strings.Contains(text(t, name+"/report.html"), want) {
			t.Errorf("%s: warnings %q", name, found.Warnings)
		}
	}
}
