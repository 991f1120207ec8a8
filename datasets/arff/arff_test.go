package arff_test

import (
	"context"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/internal/golden"
)

// TestRealFiles reads files that others have written.
func TestRealFiles(t *testing.T) {
	for _, c := range []struct {
		path, target string
		rows, cols   int
		classes      int
	}{
		{"small/optdigits.arff.gz", "class", 5620, 64, 10},
		{"small/mushroom.arff.gz", "class", 8124, 22, 2},
		{"small/waveform5000.arff.gz", "class", 5000, 40, 3},
		{"cpu_act/cpu_act.arff.gz", "-1", 8192, 21, 0},
		{"torgo_regression/abalone.arff.gz", "Class_Rings", 4177, 8, 0},
		{"torgo_regression/housing.arff.gz", "-1", 506, 13, 0},
		{"torgo_regression/kin8nm.arff.gz", "-1", 8192, 8, 0},
	} {
		t.Run(c.path, func(t *testing.T) {
			path := golden.Path(t, "data", c.path)
			set, err := arff.Read(context.Background(), path, arff.Options{Roles: datasets.Roles{Target: []string{c.target}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := set.Check(); err != nil {
				t.Error(err)
			}
			if n, d, k := set.Rows(), set.Cols(), len(set.Schema.Classes()); n != c.rows || d != c.cols || k != c.classes {
				t.Errorf("%d rows, %d columns, %d classes; wanted %d, %d, %d", n, d, k, c.rows, c.cols, c.classes)
			}
		})
	}
}
