package docs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/experiment"
)

// predict is the program that getting-started.md shows.
func predict(file string) {
	m, err := bochner.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	energy, err := m.PredictRows(context.Background(), []map[string]any{
		{"temperature": 8.34, "vacuum": 40.77, "pressure": 1010.84, "humidity": 90.01},
		{"temperature": 23.64, "vacuum": 58.49, "pressure": 1011.40, "humidity": 74.20},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f and %.1f MW\n", energy[0].Value, energy[1].Value)
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
	// 477.2 and 445.2 MW
}
