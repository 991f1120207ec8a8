package docs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// predict is the program that getting-started.md shows.
func predict(file string) {
	m, err := modelfile.Load(file)
	if err != nil {
		log.Fatal(err)
	}
	for j, c := range m.Schema.Columns {
		fmt.Println(j, c.Name, c.Kind)
	}
	rows := mat.NewDense(2, 4, []float64{
		8.34, 40.77, 1010.84, 90.01,
		23.64, 58.49, 1011.40, 74.20,
	})
	energy, err := m.Predictor.Predict(context.Background(), rows)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f MW\n", energy)
}

// A model file is loaded and used from Go.
func Example_serving() {
	dir, err := os.MkdirTemp("", "serving")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	spec, err := experiment.Load(ctx, "../examples/power/linear.yaml", experiment.Override{Path: "output.dir", Value: dir})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := experiment.Run(ctx, spec, experiment.Options{}); err != nil {
		log.Fatal(err)
	}
	predict(filepath.Join(dir, "model.bochner"))
	// Output:
	// 0 temperature numeric
	// 1 vacuum numeric
	// 2 pressure numeric
	// 3 humidity numeric
	// [477.2 445.2] MW
}
