package experiment_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/synthetic"
	"github.com/bochner-ml/bochner/experiment"
)

var update = flag.Bool("update", false, "write the files of examples/shapes")

// The rows of examples/shapes are drawn by package synthetic.
func TestShapes(t *testing.T) {
	for name, draw := range map[string]func() (datasets.Set, error){
		"moons":   func() (datasets.Set, error) { return synthetic.Moons(300, 0.07, 1) },
		"circles": func() (datasets.Set, error) { return synthetic.Circles(300, 0.4, 0.05, 1) },
	} {
		set, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		text.WriteString("x,y,shape\n")
		for i := range set.Rows() {
			fmt.Fprintf(&text, "%.4f,%.4f,%.0f\n", set.X.At(i, 0), set.X.At(i, 1), set.Y[i])
		}
		path := filepath.Join("../examples/shapes", name+".csv")
		if *update {
			if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text.String() {
			t.Errorf("%s is of other rows than synthetic draws now: %v", path, err)
		}
	}
}

// The examples find two moons and two circles, which k-means on the coordinates does not.
func TestShapesAreFound(t *testing.T) {
	for _, c := range []struct {
		file        string
		least, most float64
	}{
		{"moons", 0.95, 1},
		{"circles", 0.95, 1},
		{"round", -0.1, 0.6},
	} {
		ctx := context.Background()
		spec, err := experiment.Load(ctx, "../examples/shapes/"+c.file+".yaml",
			experiment.Override{Path: "output.dir", Value: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := experiment.Run(ctx, spec, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Train["adjusted_rand"]; got < c.least || got > c.most {
			t.Errorf("%s: adjusted_rand %v, want %v to %v", c.file, got, c.least, c.most)
		}
	}
}
